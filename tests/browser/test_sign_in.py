"""People who sign in at a stand-in of a provider, alone and in a project of three, in a real Chromium."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from entail.teams.projects import Projects
from entail.teams.work import Work
from entail.trees.installation.seed import SAMPLE_ID, seed_sample
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.trees.store.authors import SignedIn
from entail.trees.store.database import open_database
from tests.browser.conftest import log_of, rows
from tests.browser.oidc import SECRET, Provider

CSV = b"hypothesis,id\nthe moon reflects sunlight,1\nthe moon reflects  sunlight,2\n,3\n"

pytestmark = pytest.mark.browser


@pytest.fixture
def url(start_app: Any, provider: Provider, tmp_path: Path) -> str:
    """Return the address of an app at which people sign in at the provider."""
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(provider.secrets())
    return str(start_app(data_dir=tmp_path / "data", env={"STREAMLIT_SECRETS_FILES": str(secrets)}))


def test_authors_are_who_they_signed_in_as(page: Page, url: str, tmp_path: Path) -> None:
    log = log_of(tmp_path / "data", seed=True)
    tree = log.create(Create(hypothesis="the sun is hot"), author="Bob", corpus_id=SAMPLE_ID)
    # Who came by a link can read; nothing is written before they signed in, and then they are back there.
    page.goto(f"{url}/Trees?tree={tree}")
    expect(rows(page).first).to_be_visible()
    expect(page.get_by_role("textbox", name="Your name")).to_have_count(0)
    page.locator("body").press("1")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Sign in")).to_be_visible()
    assert log.history(tree).seq == 1
    dialog.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page).to_have_url(f"{url}/Trees?tree={tree}")
    expect(page.get_by_test_id("stSidebar").get_by_text("Ada Lovelace")).to_be_visible()
    expect(rows(page).first).to_be_visible()
    page.locator('[class*="st-key-accept-"] button').first.click()
    expect(rows(page).first).to_contain_text("accepted here")
    assert [(e.author, e.verified) for e in log.history(tree).events] == [
        ("Bob", False),
        ("Ada Lovelace", True),
    ]
    assert SECRET not in page.content()


class Member:
    """Person in a browser of their own."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        page.set_default_timeout(60_000)

    def sign_in(self, provider: Provider, name: str) -> None:
        provider.claims = {"sub": name, "name": name, "email": f"{name.lower()}@lab.example"}
        self.open("Work")
        self.page.get_by_role("button", name="Sign in").first.click()
        expect(self.page.get_by_role("button", name="Sign out")).to_be_visible()

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.url}/{path}")
        return self.page

    def click(self, key: str) -> None:
        self.page.locator(f'[class*="st-key-{key}"] button').first.click()

    def press_button(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).first.click()


def annotate(member: Member, digits: str) -> str:
    """Take the next piece, accept candidates by their keys, submit; return the tree."""
    member.open("Work")
    member.click("next_piece")
    page = member.page
    expect(page).to_have_url(re.compile(r"/Trees\?tree=[0-9a-f]{8}"))
    expect(rows(page)).to_have_count(10)
    for digit in digits:
        page.locator("body").press(digit)
        expect(rows(page).nth(int(digit) - 1)).to_contain_text("accepted here")
    tree = page.url.rpartition("=")[2]
    member.click("piece_move")
    expect(page.locator(".st-key-piece")).to_contain_text("submitted")
    return tree


def test_a_hypothesis_is_annotated_twice_compared_and_agreed(
    browser: Browser, browser_context_args: dict[str, Any], url: str, provider: Provider, tmp_path: Path
) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'data' / 'entail.db'}")
    seed_sample(database)
    pages = [browser.new_context(**browser_context_args).new_page() for _ in range(3)]
    olga, ann, ben = members = [Member(page, url) for page in pages]
    for member, name in zip(members, ("Olga", "Ann", "Ben"), strict=True):
        member.sign_in(provider, name)

    # The owner makes a project of two copies from a file; repeated and empty rows are counted.
    olga.press_button("New project")
    page = olga.page
    page.get_by_role("textbox", name="Name", exact=True).fill("Sky")
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        {"name": "sky.csv", "mimeType": "text/csv", "buffer": CSV}
    )
    expect(page.get_by_text(re.compile("1 of 3 can be added"))).to_be_visible()
    copies = page.get_by_role("spinbutton", name="Copies of a hypothesis")
    copies.fill("2")
    copies.press("Enter")
    page.locator(".st-key-create_project button").click()
    page.get_by_role("radio", name="Members", exact=True).click()
    for name in ("ann", "ben"):
        page.get_by_role("textbox", name="E-mail or name").fill(f"{name}@lab.example")
        olga.press_button("Add, or change the role")
        expect(page.get_by_test_id("stTable").get_by_text(f"{name}@lab.example")).to_be_visible()

    # Two annotators build a tree each; none sees that of the other before both are submitted.
    first = annotate(ann, "12")
    page = ben.open(f"Trees?tree={first}")
    expect(page.get_by_text(re.compile(f"no tree '{first}'"))).to_be_visible()
    second = annotate(ben, "13")
    ben.open(f"Trees?tree={first}")
    expect(ben.page.locator(".st-key-piece")).to_be_visible()

    # The reviewer sees how far they agree, and curates.
    page = olga.open("Agreement")
    expect(page.get_by_test_id("stMetric").first).to_contain_text("Structure")
    page = olga.open("Review")
    sidebar = page.get_by_test_id("stSidebar")
    expect(sidebar.get_by_role("link", name=re.compile("Review 1$"))).to_be_visible()
    olga.click("begin_agreed")
    takes = page.locator('[class*="st-key-take-"] button')
    expect(takes).to_have_count(2)
    page.locator("body").press("1")
    expect(takes).to_have_count(1)
    olga.click("leave-")
    expect(takes).to_have_count(0)
    olga.click("agree")
    expect(page.locator(".st-key-reopen button")).to_be_visible()

    owner = SignedIn("Olga")
    (project,) = Projects(database).projects(owner)
    pieces = {piece.id.copy: piece for piece in Work(database).pieces(project.id, actor=owner)}
    assert [pieces[copy].state for copy in range(3)] == ["accepted", "submitted", "submitted"]
    assert [pieces[copy].tree_id for copy in (1, 2)] == [first, second]
    log = TreeLog(database).viewed_by(owner)
    trees = [str(piece.tree_id) for piece in pieces.values()]
    leaves = {tree: {node.text for node in log.history(tree).tree.nodes.values()} for tree in trees}
    assert leaves[first] & leaves[second] < leaves[trees[0]]
    database.close()
