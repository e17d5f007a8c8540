"""The newcomer's story, whole, in a real Chromium over the real app and its bundled sample."""

import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageColor
from playwright.sync_api import Browser, Page, expect

from entail.data.entailment_bank.trees import read_trees
from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.layout import appearance
from entail.trees.log.acts import Create, Write
from tests.browser.conftest import log_of, rows

CLAIM = "the moon reflects sunlight towards earth"

pytestmark = pytest.mark.browser


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def url(start_app: Any, folder: Path) -> str:
    return str(start_app(data_dir=folder))


def begin_tree(page: Page, url: str, claim: str = CLAIM) -> str:
    """Start a tree of one's own on Home; return its id."""
    page.goto(url)
    page.locator(".st-key-start_text input").fill(claim)
    page.get_by_role("textbox", name="Your name").fill("Ada")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page).to_have_url(re.compile(r"/Trees\?tree=[0-9a-f]{8}"))
    expect(rows(page)).to_have_count(10)
    return page.url.rsplit("=", 1)[1]


def press(page: Page, key: str) -> None:
    page.locator("body").press(key)


def version(page: Page, number: int) -> None:
    """Wait until the page says that it shows this version."""
    expect(page.get_by_text(re.compile(rf"version {number}, saved"))).to_be_visible()


def test_the_newcomers_story(
    page: Page,
    browser: Browser,
    url: str,
    folder: Path,
    graph: Any,
    tmp_path: Path,
) -> None:
    tree_id = begin_tree(page, url)
    log = log_of(folder)

    # Ranked premises; accept two by key, reject one by Shift and digit, undo and redo.
    press(page, "1")
    expect(rows(page).nth(0)).to_contain_text("accepted here")
    press(page, "2")
    expect(rows(page).nth(1)).to_contain_text("accepted here")
    press(page, "Shift+3")
    expect(rows(page).nth(2)).to_contain_text("rejected by Ada")
    press(page, "u")
    expect(rows(page).nth(2)).not_to_contain_text("rejected by Ada")
    press(page, "r")
    expect(rows(page).nth(2)).to_contain_text("rejected by Ada")
    version(page, 6)

    # The tree is a graph: a click on an accepted premise opens its own candidates.
    assert set(graph.see()) >= {"n1", "n2", "n3"}
    graph.click("n2")
    expect(page.get_by_text("Premises for this premise")).to_be_visible()
    expect(rows(page)).to_have_count(10)
    press(page, "1")
    expect(rows(page).nth(0)).to_contain_text("accepted here")

    # Up to the hypothesis, and an intermediate conclusion over both of its premises.
    press(page, "ArrowLeft")
    expect(page.get_by_text("Premises for this hypothesis")).to_be_visible()
    press(page, "c")
    dialog = page.get_by_role("dialog")
    boxes = dialog.get_by_test_id("stCheckbox").locator("label")
    expect(boxes).to_have_count(2)
    for box in boxes.all():
        box.click()
    dialog.get_by_role("textbox", name="it follows that").fill("moonlight is reflected sunlight")
    dialog.get_by_role("button", name="Conclude").click()
    expect(dialog).to_have_count(0)
    page.get_by_text("Outline", exact=True).click()
    expect(page.get_by_role("treeitem", name="moonlight is reflected sunlight")).to_be_visible()
    tree = log.history(tree_id).tree
    (conclusion,) = tree.root.children
    assert tree.nodes[conclusion].text == "moonlight is reflected sunlight"
    assert set(tree.nodes[conclusion].children) == {"n2", "n3"}

    # Tomorrow, in another browser, by the link alone: all of it is there, and a colleague goes on.
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    colleague = context.new_page()
    colleague.goto(f"{url}/Trees?tree={tree_id}")
    expect(rows(colleague)).to_have_count(10)
    colleague.evaluate("localStorage.setItem('entail.author', 'Bo')")  # from another day
    colleague.reload()
    expect(colleague.get_by_text("Not you?")).to_be_attached()
    colleague.get_by_text("Outline", exact=True).click()
    expect(colleague.get_by_role("treeitem", name="moonlight is reflected sunlight")).to_be_visible()
    before = log.history(tree_id).seq
    press(colleague, "4")
    expect(rows(colleague).nth(3)).to_contain_text("accepted here")
    version(page, before + 1)  # the first browser follows by itself
    expect(page.get_by_text(re.compile(r"Bo\s+at"))).to_be_visible()
    context.close()

    # Out as official EntailmentBank JSONL.
    page.get_by_role("button", name="Share").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="EntailmentBank JSONL").click()
    file = tmp_path / "tree.jsonl"
    download.value.save_as(file)
    (exported,) = read_trees(file)
    assert exported.hypothesis == CLAIM

    # And as a picture, which the browser makes.
    with page.expect_download() as download:
        page.get_by_role("button", name="Picture (PNG)").click()
    assert download.value.suggested_filename == "the-moon-reflects-sunlight-towards-earth.png"
    with Image.open(download.value.path()) as picture:
        assert picture.format == "PNG"
        colours = dict(map(reversed, picture.convert("RGB").getcolors(1 << 20)))
    for look in (appearance.LIGHT.looks["hypothesis"], appearance.LIGHT.looks["premise"]):
        assert colours[ImageColor.getrgb(look.fill)] > 5000


def test_the_panes_share_the_window_as_the_reader_likes(page: Page, url: str, graph: Any) -> None:
    begin_tree(page, url)
    handle = page.get_by_role("separator", name="Width of the candidates")
    candidates = page.locator(".st-key-candidates")

    def width() -> float:
        box = candidates.bounding_box()
        return box["width"] if box else 0

    before, box = width(), handle.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] == pytest.approx(1000, abs=40), "down to the bottom of the window"
    graph.drag((box["x"] + 8, box["y"] + 50), (box["x"] + 158, box["y"] + 50))
    wider = width()
    assert wider == pytest.approx(before + 150, abs=20)
    handle.press("ArrowLeft")
    assert wider - 60 < width() < wider
    wider = width()
    page.reload()
    expect(rows(page)).to_have_count(10)
    expect(handle).to_be_visible()
    assert width() == pytest.approx(wider, abs=2)

    # In full screen they are a drawer, closed at first.
    graph.tool("Full screen")
    expect(candidates).not_to_be_visible()
    page.get_by_role("button", name="Show the candidates").click()
    expect(rows(page).first).to_be_visible()
    press(page, "w")
    expect(page.get_by_role("dialog").get_by_role("textbox", name="Sentence")).to_be_focused()
    press(page, "Escape")
    page.evaluate("document.fullscreenElement && document.exitFullscreen()")
    expect(candidates).to_be_visible()


def test_the_browser_remembers_who_one_is_and_a_half_typed_claim_until_it_is_started(
    page: Page, url: str
) -> None:
    page.goto(url)
    name = page.get_by_role("textbox", name="Your name")
    name.fill("Ada Lovelace")
    name.press("Enter")
    page.wait_for_function("localStorage.getItem('entail.author') === 'Ada Lovelace'")
    page.reload()
    expect(page.get_by_text("Ada Lovelace")).to_be_visible()
    expect(name).to_have_count(0)
    page.get_by_role("button", name="Not you?").click()
    expect(name).to_be_visible()
    page.wait_for_function("localStorage.getItem('entail.author') === null")
    page.reload()
    expect(name).to_be_visible()
    field = page.locator(".st-key-start_text input")
    field.fill("half a")
    page.reload()
    expect(field).to_have_value("half a")
    begin_tree(page, url, "half a claim")
    page.go_back()
    expect(field).to_have_value("")


def test_back_leads_from_a_tree_that_was_only_looked_at_to_the_list(page: Page, url: str) -> None:
    begin_tree(page, url)
    page.goto(f"{url}/Trees")
    page.get_by_role("button", name=re.compile(rf"Open.*{CLAIM}")).first.click()
    expect(rows(page)).to_have_count(10)
    page.wait_for_timeout(2500)  # a visitor looks
    page.go_back()
    expect(page.get_by_role("heading", name="Trees", exact=True)).to_be_visible()
    expect(page).to_have_url(f"{url}/Trees")


@pytest.mark.parametrize(("path", "title"), [("", "Home"), ("Trees", "Trees")])
def test_a_deep_link_works_first_thing_and_so_does_the_first_click(
    page: Page, url: str, path: str, title: str
) -> None:
    page.goto(f"{url}/{path}")
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(page.get_by_text("Page not found")).to_have_count(0)
    page.get_by_role("link", name="Compare").click()
    expect(page.get_by_role("heading", name="Compare", exact=True)).to_be_visible()


def test_question_mark_lists_the_keys_and_fields_keep_theirs(page: Page, url: str, folder: Path) -> None:
    tree_id = begin_tree(page, url)
    press(page, "?")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("accept the candidate")).to_be_visible()
    press(page, "Escape")
    expect(dialog).to_have_count(0)
    press(page, "w")
    expect(page.get_by_role("dialog").get_by_role("textbox", name="Sentence")).to_be_focused()
    page.keyboard.type("1 u r 2")
    # Typed text outlives a dialog that was closed, and a page that was loaded again, until it is saved.
    press(page, "Escape")
    expect(dialog).to_have_count(0)
    page.reload()
    expect(rows(page)).to_have_count(10)
    expect(page.locator("[data-listens]")).to_have_count(1)
    press(page, "w")
    expect(dialog.get_by_role("textbox", name="Sentence")).to_have_value("1 u r 2")
    dialog.get_by_role("button", name="Write", exact=True).click()
    expect(dialog).to_have_count(0)
    version(page, 2)
    press(page, "w")
    expect(dialog.get_by_role("textbox", name="Sentence")).to_have_value("")
    (write,) = (event.act for event in log_of(folder).history(tree_id).events[1:])
    assert isinstance(write, Write)
    assert write.text == "1 u r 2"


def test_a_key_pressed_as_soon_as_the_name_is_taken_is_heard(page: Page, url: str, folder: Path) -> None:
    """The field for the name stays, and has the focus, until the run ends that goes without it."""
    page.goto(url)  # seeds the database
    expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    tree_id = log_of(folder).create(Create(hypothesis="the sun is hot"), author="Ada", corpus_id=SAMPLE_ID)
    page.goto(f"{url}/Trees?tree={tree_id}")
    expect(rows(page)).to_have_count(10)
    expect(page.locator("[data-listens]")).to_have_count(1)
    press(page, "1")
    name = page.get_by_role("dialog").get_by_role("textbox", name="Your name")
    name.fill("Ada")
    name.press("Enter")
    expect(rows(page).nth(0)).to_contain_text("accepted here")  # the act waited for the name
    press(page, "2")
    expect(rows(page).nth(1)).to_contain_text("accepted here")
