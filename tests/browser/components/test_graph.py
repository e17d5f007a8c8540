"""The graph in a real Chromium: clicks and drags reach Python, and the view stays meanwhile."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from entail.data.text import premise_key
from entail.trees.layout import appearance

pytestmark = pytest.mark.browser

ALL = ("n1", "n1.1", "n1.2", "n1.3", "n1.4", "n1.5")


def test_hover_shows_text_as_text_and_a_click_selects_in_python(story: Any, said: Any) -> None:
    story.page.mouse.move(*story.place("n1.1"))
    tip = story.root.locator(".vis-tooltip")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("Supported by its premises")
    expect(tip).to_contain_text('a <b>bold</b> fact <img src=x onerror="window.harmed=1"><script>')
    expect(story.root.locator("img, b, script")).to_have_count(0)
    assert story.page.evaluate("window.harmed") is None
    before = story.see()
    tree = story.root.get_by_role("tree", name=re.compile("the moon is cold at night"))
    expect(tree.get_by_role("treeitem", selected=True)).to_have_attribute("data-node", "n1")
    story.click("n1.4")
    said(selected="n1.4", opened="")
    item = tree.get_by_role("treeitem", selected=True, level=4)
    expect(item).to_have_attribute("data-node", "n1.4")
    expect(item).to_contain_text("at night a side of the moon is turned away from the sun")
    expect(tree).to_have_attribute("aria-activedescendant", "n1.4")
    assert story.see() == before
    story.open("n1.3")
    said(selected="n1.3", opened="n1.3")
    story.page.get_by_text("rejected", exact=True).click()
    expect(story.root.get_by_label("Legend").get_by_text("Rejected premise")).to_be_visible()
    rejected = f"n1!{premise_key('ice is a kind of solid')}"
    story.see(*ALL, rejected)
    story.click(rejected)
    said(selected="n1")


def test_a_click_on_an_outer_box_of_a_whole_tree_hides_none_of_the_others(story: Any) -> None:
    story.page.set_viewport_size({"width": 620, "height": 800})
    story.see(*ALL)
    story.tool("Fit the whole tree")
    before = story.see(*ALL)
    for node in ALL[1:]:
        story.click(node)
        expect(story.root).to_have_attribute("data-selected", node)
        assert story.see() == {id: pytest.approx(at, abs=1) for id, at in before.items()}, node


def test_a_box_dragged_onto_another_moves_there_and_goes_back_without_an_answer(
    story: Any, said: Any
) -> None:
    before = story.see()
    colour = story.colour("n1.4", below=-12)
    story.drag(story.place("n1.4"), story.place("n1.2"))
    said(done="move n1.4 n1.2", selected="n1")
    assert story.see() == before  # Python left the tree as it was
    assert story.colour("n1.4", below=-12) == colour
    x, y = story.place("n1.4")
    story.drag((x, y), (x + 300, y + 40))
    story.page.wait_for_timeout(300)
    assert story.colour("n1.4", below=-12) == colour
    said(done="move n1.4 n1.2")


def test_a_line_from_a_premise_to_a_conclusion_proposes_a_step(story: Any, said: Any) -> None:
    button = story.root.get_by_role("button", name="Draw a step from a premise to its conclusion")
    for _ in range(2):  # the mode ends with its step, and by the button
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        button.click()
        expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    story.drag(story.place("n1.2"), story.place("n1.3"))
    said(done="connect n1.2 n1.3", selected="n1")
    expect(button).to_have_attribute("aria-pressed", "false")


def test_a_subtree_is_shown_alone_and_collapsed_by_the_tool_and_by_the_sign_at_the_node(
    story: Any, said: Any
) -> None:
    story.click("n1.3")
    said(selected="n1.3")
    story.tool("Show the selected subtree only")
    story.see("n1.3", "n1.4", "n1.5")
    path = story.page.locator(".st-key-graph-path")
    path.get_by_role("button").nth(1).click()
    story.see("n1.1", "n1.3", "n1.4", "n1.5")
    path.get_by_role("button", name="Whole tree").click()
    story.see(*ALL)
    expect(path.get_by_role("button")).to_have_count(0)
    story.tool("Collapse the selected node")
    said(collapsed="n1.3")
    story.see("n1", "n1.1", "n1.2", "n1.3")
    story.tool("Expand the selected node")
    said(collapsed="")
    story.see(*ALL)
    (x, y), (_, low) = story.place("n1.1"), story.place("n1.3")
    for down in range(int(y), int(low), 3):  # the sign is on the line between them
        story.page.mouse.click(x, down)
        story.page.wait_for_timeout(150)
        if len(story.see()) < len(ALL):
            break
    said(collapsed="n1.1")
    story.see("n1", "n1.1", "n1.2")


def test_find_goes_from_match_to_match(story: Any) -> None:
    field = story.root.get_by_label("Find in tree")
    field.fill("SUNLIGHT")
    expect(story.root.get_by_role("status")).to_have_text("1 / 3")
    matches = [story.root.get_attribute("data-match")]
    for at in ("2 / 3", "3 / 3", "1 / 3"):
        field.press("Enter")
        expect(story.root.get_by_role("status")).to_have_text(at)
        matches.append(story.root.get_attribute("data-match"))
    assert matches == ["n1.3", "n1.5", "n1.2", "n1.3"]
    field.press("Shift+Enter")
    expect(story.root.get_by_role("status")).to_have_text("3 / 3")
    field.fill("nothing says this")
    expect(story.root.get_by_role("status")).to_have_text("none")
    field.press("Escape")
    expect(field).to_have_value("")


def test_zoom_by_wheel_and_tools_and_the_view_comes_back_with_the_graph(story: Any) -> None:
    first = story.scale
    story.tool("Zoom in")
    story.see()
    assert story.scale == pytest.approx(1.25 * first, rel=0.01)
    story.page.mouse.move(*story.place("n1.2"))
    story.page.mouse.wheel(0, -200)
    before = story.see()
    assert story.scale > 1.26 * first
    story.page.get_by_text("away", exact=True).click()
    expect(story.root).to_have_count(0)
    story.page.get_by_text("away", exact=True).click()
    assert story.see() == before
    story.tool("Fit the whole tree")
    assert story.shown() == set(ALL)


def test_the_view_stays_while_the_tree_changes_but_for_own_nodes(page: Page, app: str, graph: Any) -> None:
    page.goto(f"{app}/?nodes=200")
    graph.see()
    graph.root.get_by_label("Find in tree").fill("fact 20 ")
    graph.click("n1.21")
    expect(graph.root).to_have_attribute("data-selected", "n1.21")
    before, scale = graph.see(), graph.scale
    graph.page.get_by_role("button", name="grow").click()
    expect(graph.root.locator('[data-node="n1.201"]')).to_be_attached()
    assert graph.see()["n1.21"] == pytest.approx(before["n1.21"], abs=2)
    assert graph.scale == scale
    page.goto(f"{app}/?nodes=200")  # a new node comes into view for its author alone
    graph.see()
    page.get_by_role("button", name="Bo writes").click()
    expect(graph.root.locator('[data-node="n3"]')).to_be_attached()
    assert "n3" not in graph.shown()
    page.get_by_role("button", name="Ada writes").click()
    expect(graph.root.locator('[data-node="n4"]')).to_be_attached()
    assert "n4" in graph.shown()


def test_theme_of_the_page_is_the_graphs(story: Any, said: Any) -> None:
    for scheme, theme in (("dark", appearance.DARK), ("light", appearance.LIGHT)):
        story.page.emulate_media(color_scheme=scheme)
        fill = theme.looks["premise"].fill
        for _ in range(100):
            if story.colour("n1.4", below=16) == fill:
                break
            story.page.wait_for_timeout(100)
        assert story.colour("n1.4", below=16) == fill


def test_the_selected_box_has_buttons_to_edit_move_and_remove_it(story: Any, said: Any) -> None:
    acts = story.root.get_by_role("toolbar", name="Selected node")
    remove = acts.get_by_role("button", name="Remove the node")
    expect(remove).to_be_disabled()  # at the hypothesis
    story.click("n1.4")
    said(selected="n1.4")
    expect(remove).to_be_enabled()
    box, (x, y) = acts.bounding_box(), story.place("n1.4")
    assert box is not None
    assert abs(box["x"] - x) < 300
    assert box["y"] < y
    for name, dialog in (("Edit the sentence", "edit"), ("Move under another node", "move")):
        acts.get_by_role("button", name=name).click()
        said(done=f"dialog n1.4 {dialog}")
    remove.click()
    said(done="dialog n1.4 remove")


def test_a_map_shows_what_is_in_view_and_moves_it(story: Any) -> None:
    chart = story.root.locator(".map")
    expect(chart).to_be_hidden()
    for _ in range(8):
        story.tool("Zoom in")
    expect(chart).to_be_visible()
    scale = story.scale
    for spot, side in (((3, 3), "n1"), (None, None)):
        chart.click(position={"x": spot[0], "y": spot[1]} if spot else None)
        middle = story.see()
        if side:
            before = middle[side]
    assert before[0] > middle["n1"][0], "the view moved right, so the box went left"
    assert story.scale == scale


def test_a_turned_tree_is_shown_as_a_whole(page: Page, app: str, graph: Any) -> None:
    page.goto(f"{app}/?nodes=60")
    graph.see()
    assert len(graph.shown()) < 61
    graph.root.locator("[data-tool=turn]").click()
    expect(graph.root.locator(".map")).to_be_hidden()
    assert len(graph.shown()) == 61


REDRAW = """() => {
  const times = [], draw = vis.Network.prototype.moveTo;
  vis.Network.prototype.moveTo = function (options) {
    for (let i = 0; i < 9; i++) {
      const start = performance.now();
      this.redraw();
      times.push(performance.now() - start);
    }
    vis.Network.prototype.moveTo = draw;
    window.times = times.sort((a, b) => a - b);
    return draw.call(this, options);
  };
}"""


def test_five_hundred_nodes_are_drawn_in_a_tenth_of_a_second(
    page: Page, app: str, graph: Any, said: Any
) -> None:
    page.goto(f"{app}/?nodes=500")
    assert len(graph.see()) == 501
    graph.root.get_by_label("Find in tree").fill("fact 150 ")
    expect(graph.root).to_have_attribute("data-match", "n1.151")
    assert "n1.151" in graph.shown()
    graph.click("n1.151")
    said(selected="n1.151")
    graph.tool("Fit the whole tree")
    assert graph.shown() == set(graph.see())
    page.evaluate(REDRAW)
    graph.tool("Fit the whole tree")
    assert page.evaluate("times[4]") < 100  # the median, of all boxes at once
    graph.tool("Collapse all")
    graph.see("n1", "n1.1", "n1.2")
