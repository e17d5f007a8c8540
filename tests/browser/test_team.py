"""A project of three people who sign in, from a file of hypotheses to an agreed tree, in a real Chromium."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from entail.teams.exchange.export import export_project
from entail.teams.projects import Projects
from entail.teams.work import Work
from entail.trees.installation.seed import seed_sample
from entail.trees.log.event_log import TreeLog
from entail.trees.store.authors import SignedIn
from entail.trees.store.database import open_database
from tests.browser.conftest import rows
from tests.browser.oidc import Provider

ROOT = Path(__file__).parents[2]
CSV = b"hypothesis,id\nthe moon reflects sunlight,1\nthe moon reflects  sunlight,2\n,3\n"

pytestmark = pytest.mark.browser


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

    def view(self, name: str) -> None:
        self.page.get_by_role("radio", name=name, exact=True).click()

    def waits(self, page: str, number: int) -> None:
        """Check the number of what waits for them, next to a page in the sidebar."""
        link = self.page.get_by_test_id("stSidebar").get_by_role(
            "link", name=re.compile(rf"{page} {number}$")
        )
        expect(link).to_be_visible()


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
    browser: Browser, browser_context_args: dict[str, Any], start_app: Any, provider: Provider, tmp_path: Path
) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'data' / 'entail.db'}")
    seed_sample(database)
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(provider.secrets())
    url = start_app(
        ROOT / "streamlit_app.py", data_dir=tmp_path / "data", env={"STREAMLIT_SECRETS_FILES": str(secrets)}
    )
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
    olga.view("Members")
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

    # The reviewer sees how far they agree, curates, comments, sends one back and accepts.
    page = olga.open("Agreement")
    expect(page.get_by_test_id("stMetric").first).to_contain_text("Structure")
    page = olga.open("Review")
    olga.waits("Review", 2)
    olga.click("begin_agreed")
    takes = page.locator('[class*="st-key-take-"] button')
    expect(takes).to_have_count(2)
    page.locator("body").press("1")
    expect(takes).to_have_count(1)
    olga.click("leave-")
    expect(takes).to_have_count(0)
    olga.click("agree")
    expect(page.locator(".st-key-reopen button")).to_be_visible()
    olga.press_button("Comments")
    page.get_by_role("textbox", name="New comment").fill("What reflects it, @Ann?")
    olga.press_button("Comment")
    expect(page.get_by_text("Comments (1)")).to_be_visible()
    page.keyboard.press("Escape")
    olga.press_button("Send back")
    page.get_by_role("textbox", name="Reason").fill("One premise is missing.")
    page.get_by_test_id("stFormSubmitButton").get_by_role("button", name="Send back").click()
    expect(page.get_by_text("sent back").first).to_be_visible()
    olga.click("accept_copy-1-2")
    expect(page.get_by_text("Nothing is waiting.")).to_be_visible()

    # The annotator finds comment and reason, submits again, and is accepted.
    page = ann.open("Work")
    ann.waits("Work", 2)
    expect(page.get_by_text("One premise is missing.")).to_be_visible()
    page.locator(".st-key-mentions").get_by_role("link").click()
    expect(page).to_have_url(re.compile(f"tree={first}"))
    expect(rows(page)).to_have_count(10)
    page.locator("body").press("4")
    expect(rows(page).nth(3)).to_contain_text("accepted here")
    ann.click("piece_move")
    expect(page.locator(".st-key-piece")).to_contain_text("submitted")
    olga.open("Review")
    olga.click("accept_copy-1-1")

    # The project's trees are exported, the agreed one among them.
    owner = SignedIn("Olga")
    (project,) = Projects(database).projects(owner)
    expect(olga.page.get_by_text("Nothing is waiting.")).to_be_visible()
    pieces = {piece.id.copy: piece for piece in Work(database).pieces(project.id, actor=owner)}
    assert {copy: piece.state for copy, piece in pieces.items()} == dict.fromkeys((0, 1, 2), "accepted")
    assert [pieces[copy].tree_id for copy in (1, 2)] == [first, second]
    log = TreeLog(database).viewed_by(owner)
    trees = [str(piece.tree_id) for piece in pieces.values()]
    leaves = {tree: {node.text for node in log.history(tree).tree.nodes.values()} for tree in trees}
    assert leaves[first] & leaves[second] < leaves[trees[0]]
    export = export_project(database, log, project.id, actor=owner, names=True)
    assert export.files["copies.jsonl"].count(b"reflects sunlight") >= 2
    assert export.files["trees.jsonl"].count(b"reflects sunlight") >= 1
    assert b"What reflects it" in export.files["comments.csv"]
    database.close()
