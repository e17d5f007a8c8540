"""The outline in a real Chromium: clicks and keys reach Python, and it stays a tree to walk meanwhile."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

ORDER = ["n1", "n1.1", "n1.3", "n1.4", "n1.5", "n1.2", "n1.6"]


class Outline:
    """Hands and eyes on the outline of a page; `said` waits until Python says so."""

    def __init__(self, page: Page, said: Callable[..., None]) -> None:
        self.page, self.said = page, said
        self.tree = page.get_by_role("tree", name="Outline of the explanation tree")
        self.rows = self.tree.get_by_role("treeitem")

    def row(self, node: str) -> Locator:
        return self.tree.locator(f'[data-node="{node}"]')

    def shows(self, *nodes: str) -> None:
        """Wait until just these rows are to be seen, in this order."""
        expect(self.tree.locator("[role=treeitem]:visible")).to_have_count(len(nodes))
        row_ids = self.rows.evaluate_all("rows => rows.map(row => row.dataset.node)")
        assert row_ids == list(nodes)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def focus_is_at(self, node: str) -> None:
        expect(self.row(node)).to_be_focused()


@pytest.fixture
def story(page: Page, app: str, said: Any) -> Outline:
    """The outline of a tree of five nodes below the hypothesis and a loose one, drawn."""
    page.goto(f"{app}/?view=outline")
    outline = Outline(page, said)
    outline.shows(*ORDER)
    said(selected="n1")
    return outline


def test_the_tree_says_what_it_is_and_a_click_selects(story: Outline) -> None:
    deep = story.tree.get_by_role("treeitem", name="turned away from the sun (Premise)", level=4)
    expect(deep).to_have_attribute("aria-posinset", "1")
    expect(deep).to_have_attribute("aria-setsize", "2")
    assert deep.get_attribute("aria-expanded") is None
    finished = re.compile(r"at night \(Intermediate conclusion\).*finished")
    inner = story.tree.get_by_role("treeitem", name=finished, expanded=True)
    expect(inner).to_have_attribute("data-node", "n1.3")
    apart = story.tree.get_by_role("group", name=re.compile("Not connected"))
    expect(apart.get_by_role("treeitem")).to_have_text(re.compile("never used so far"))
    expect(story.tree.locator("[tabindex='0']")).to_have_count(1)
    # Words of others are text and never run.
    expect(story.row("n1.1")).to_contain_text('<b>bold</b> fact <img src=x onerror="window.harmed=1">')
    expect(story.tree.locator("img, b, script")).to_have_count(0)
    assert story.page.evaluate("window.harmed") is None
    inner.click()
    story.said(selected="n1.3", events="select:n1.3")
    expect(story.tree.get_by_role("treeitem", selected=True)).to_have_attribute("data-node", "n1.3")
    story.focus_is_at("n1.3")


def test_arrows_walk_what_is_to_be_seen_and_python_follows(story: Outline) -> None:
    story.row("n1").click()
    for keys, node in (
        (["ArrowDown"], "n1.1"),
        (["ArrowRight"], "n1.3"),
        (["ArrowRight", "ArrowRight"], "n1.4"),  # a premise leads no further
        (["ArrowDown"], "n1.5"),
        (["ArrowDown"], "n1.2"),
        (["ArrowUp"], "n1.5"),
        (["ArrowLeft"], "n1.3"),
        (["End"], "n1.6"),
        (["ArrowDown"], "n1.6"),
        (["Home"], "n1"),
        (["ArrowUp"], "n1"),
    ):
        story.press(*keys)
        story.focus_is_at(node)
        story.said(selected=node)
        story.focus_is_at(node)  # also when Python has answered


def test_left_collapses_and_right_enter_and_double_click_expand(story: Outline) -> None:
    story.row("n1.3").click()
    story.said(selected="n1.3")
    story.press("ArrowLeft")
    story.said(collapsed="n1.3", selected="n1.3")
    story.shows("n1", "n1.1", "n1.3", "n1.2", "n1.6")
    expect(story.row("n1.3")).to_have_attribute("aria-expanded", "false")
    story.press("ArrowDown")
    story.said(selected="n1.2")
    story.press("ArrowUp", "ArrowRight")
    story.said(collapsed="", selected="n1.3")
    story.shows(*ORDER)
    story.press("ArrowLeft", "Enter", "Enter")  # what is open stays open
    story.said(collapsed="", selected="n1.3")
    story.press("ArrowLeft", "ArrowUp")
    story.said(collapsed="n1.3", selected="n1.1")
    story.row("n1.3").dblclick()
    story.said(collapsed="", selected="n1.3")
    story.shows(*ORDER)


def test_the_page_has_its_keys_while_the_focus_is_elsewhere_and_all_others_always(story: Outline) -> None:
    story.press("ArrowDown", "Home", "Enter")
    story.said(pressed="down home enter", events="")
    story.row("n1.1").click()
    story.said(selected="n1.1")
    story.press("ArrowDown", "Home", "Enter", "u", "1", "Shift+ArrowDown", "Control+End")
    story.said(pressed="down home enter u 1", selected="n1")
    story.press("Tab")
    expect(story.tree.locator(":focus")).to_have_count(0)


def test_quick_fingers_lose_nothing_while_python_is_busy(story: Outline) -> None:
    story.page.get_by_text("slow", exact=True).click()
    story.row("n1").click()
    story.tree.evaluate("""tree => {
      window.walked = [];
      const note = (changes) => changes.filter(({ target }) => target.ariaSelected === "true")
        .forEach(({ target }) => window.walked.push(target.dataset.node));
      new MutationObserver(note).observe(tree, { subtree: true, attributeFilter: ["aria-selected"] });
    }""")
    story.press(*["ArrowDown"] * 5, "ArrowUp", "ArrowLeft", "ArrowLeft")
    story.page.emulate_media(color_scheme="dark")  # draws once more what Python said before
    story.focus_is_at("n1.3")
    walked = [*ORDER[1:6], "n1.5", "n1.3"]
    events = " ".join([*(f"select:{node}" for node in walked), "collapse:n1.3"])
    story.said(events=events, selected="n1.3", collapsed="n1.3")
    story.focus_is_at("n1.3")
    steps = story.page.evaluate("window.walked.filter((node, at, all) => node !== all[at - 1])")
    assert steps == walked  # and never back


def test_the_focus_stays_while_the_tree_grows_and_goes_on_where_a_row_goes(story: Outline) -> None:
    story.row("n1.2").click()
    story.said(selected="n1.2")
    for name in ("grown", "pruned"):
        # By script, as when a colleague does it: the focus is in the tree.
        story.page.get_by_role("checkbox", name=name).evaluate("box => box.click()")
        if name == "grown":
            expect(story.row("n4")).to_be_visible()
            story.shows(*ORDER[:5], "n4", "n1.2", "n1.6")
            story.focus_is_at("n1.2")
    expect(story.row("n1.2")).to_have_count(0)
    story.said(selected="n1")
    story.focus_is_at("n1")


def test_rejected_premises_lead_to_their_node(story: Outline) -> None:
    story.page.get_by_text("rejected", exact=True).click()
    name = re.compile(r"kind of solid \(Rejected premise\).*by Ada")
    rejected = story.tree.get_by_role("treeitem", name=name, level=3)
    rejected.click()
    story.said(selected="n1.1")
    expect(rejected).to_be_focused()
    expect(story.row("n1.1")).to_have_attribute("aria-selected", "true")
    story.press("ArrowDown")
    story.said(selected="n1.3")


def test_two_hundred_nodes_in_a_narrow_window(page: Page, app: str, said: Any) -> None:
    page.set_viewport_size({"width": 420, "height": 800})
    page.goto(f"{app}/?view=outline&nodes=200")
    outline = Outline(page, said)
    expect(outline.rows).to_have_count(201)
    assert outline.tree.evaluate("tree => tree.scrollWidth <= tree.clientWidth")
    outline.row("n1").click()
    outline.press("End")
    last = outline.rows.last.get_attribute("data-node") or ""
    outline.focus_is_at(last)
    said(selected=last)
    hidden = """row => { const [a, b] = [row, row.closest("[role=tree]")].map(x => x.getBoundingClientRect());
      return a.top < b.top - 1 || a.bottom > b.bottom + 1; }"""
    expect(outline.row(last)).to_be_in_viewport()
    assert not outline.row(last).evaluate(hidden)
    assert outline.row("n1").evaluate(hidden)
    page.locator("body").press("g")  # another way to select: the outline follows, the page stays where it is
    said(selected="n1.5")
    expect(outline.row("n1.5")).to_have_attribute("aria-selected", "true")
    assert not outline.row("n1.5").evaluate(hidden)
