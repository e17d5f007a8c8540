"""The graph in a real Chromium: clicks reach Python, and the view stays meanwhile."""

import re
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from entail.data.text import premise_key
from entail.trees.layout import appearance
from tests.browser.steps import runs

pytestmark = pytest.mark.browser

ALL = ("n1", "n1.1", "n1.2", "n1.3", "n1.4", "n1.5")


def test_click_selects_in_python_and_the_view_stays(story: Any, said: Any) -> None:
    before = story.see()
    story.click("n1.3")
    said(selected="n1.3", opened="")
    expect(story.root).to_have_attribute("data-selected", "n1.3")
    assert story.see() == before


def test_selected_node_is_marked_and_named_for_screen_readers(story: Any, said: Any) -> None:
    border = "box => getComputedStyle(box).stroke"
    before = story.box("n1.4").evaluate(border)
    tree = story.root.get_by_role("tree", name=re.compile("the moon is cold at night"))
    expect(tree.get_by_role("treeitem", selected=True)).to_have_attribute("data-node", "n1")
    story.click("n1.4")
    said(selected="n1.4")
    expect(tree.get_by_role("treeitem", selected=True)).to_have_attribute("data-node", "n1.4")
    expect(tree).to_have_attribute("aria-activedescendant", "n1.4")
    assert story.box("n1.4").evaluate(border) != before


def test_double_click_opens(story: Any, said: Any) -> None:
    story.open("n1.3")
    said(selected="n1.3", opened="n1.3")


def test_click_on_nothing_does_nothing(story: Any, said: Any) -> None:
    before = runs(story.page)
    box = story.root.locator(".canvas").bounding_box()
    for _ in range(2):
        story.page.mouse.click(box["x"] + 6, box["y"] + 6)
    story.click("n1.1")
    said(selected="n1.1", runs=str(before + 1))


def test_collapse_and_expand_by_the_tool(story: Any, said: Any) -> None:
    story.click("n1.3")
    said(selected="n1.3")
    story.tool("Collapse the selected node")
    said(collapsed="n1.3")
    story.see("n1", "n1.1", "n1.2", "n1.3")
    story.tool("Expand the selected node")
    said(collapsed="")
    story.see(*ALL)


def test_collapse_by_the_sign_at_the_node(story: Any, said: Any) -> None:
    story.fold("n1.3")
    said(collapsed="n1.3", selected="n1")
    story.see("n1", "n1.1", "n1.2", "n1.3")
    story.fold("n1.3")
    said(collapsed="", selected="n1")


def test_collapse_all_and_expand_all(story: Any, said: Any) -> None:
    story.tool("Collapse all")
    said(collapsed="n1.1 n1.3")
    story.see("n1", "n1.1", "n1.2")
    story.tool("Expand all")
    said(collapsed="")
    story.see(*ALL)


def test_collapsed_node_stands_for_the_selected_one_below(story: Any, said: Any) -> None:
    story.click("n1.5")
    said(selected="n1.5")
    story.tool("Collapse all")
    expect(story.root).to_have_attribute("data-selected", "n1.1")
    said(selected="n1.5")


def test_a_leaf_cannot_be_collapsed(story: Any, said: Any) -> None:
    story.click("n1.2")
    said(selected="n1.2")
    expect(story.root.get_by_role("button", name="Collapse the selected node")).to_be_disabled()


def test_find_goes_from_match_to_match(story: Any) -> None:
    field = story.root.get_by_label("Find in tree")
    field.fill("SUNLIGHT")
    expect(story.root.get_by_role("status")).to_have_text("1 / 3")
    story.see()
    matches = [story.root.get_attribute("data-match")]
    for at in ("2 / 3", "3 / 3", "1 / 3"):
        field.press("Enter")
        expect(story.root.get_by_role("status")).to_have_text(at)
        story.see()
        matches.append(story.root.get_attribute("data-match"))
    assert matches == ["n1.3", "n1.5", "n1.2", "n1.3"]
    field.press("Shift+Enter")
    expect(story.root.get_by_role("status")).to_have_text("3 / 3")
    field.fill("nothing says this")
    expect(story.root.get_by_role("status")).to_have_text("none")
    field.press("Escape")
    expect(field).to_have_value("")


def test_find_looks_into_collapsed_nodes(story: Any, said: Any) -> None:
    story.tool("Collapse all")
    story.see("n1", "n1.1", "n1.2")
    story.root.get_by_label("Find in tree").fill("source of light")
    expect(story.root).to_have_attribute("data-matches", '["n1.1"]')


def test_rejected_premises_behind_their_switch(story: Any, said: Any) -> None:
    legend = story.root.get_by_label("Legend")
    story.see(*ALL)
    expect(legend).not_to_contain_text("Rejected")
    story.page.get_by_text("rejected", exact=True).click()
    expect(legend).to_contain_text("Rejected premise")
    rejected = f"n1!{premise_key('ice is a kind of solid')}"
    story.see(*ALL, rejected)
    assert story.colour(rejected) == appearance.LIGHT.looks["rejected"].fill
    story.click(rejected)
    said(selected="n1")


def test_zoom_and_fit(story: Any) -> None:
    first = story.scale
    story.tool("Zoom in")
    story.see()
    assert story.scale == pytest.approx(1.25 * first, rel=0.01)
    story.tool("Fit the whole tree")
    assert all(0 < x < story.size[0] and 0 < y < story.size[1] for x, y in story.see().values())


def test_selected_node_stays_where_it_is_while_the_tree_changes(page: Page, app: str, graph: Any) -> None:
    page.goto(f"{app}/?nodes=200")
    graph.see()
    graph.root.get_by_label("Find in tree").fill("fact 20 ")
    graph.click("n1.21")
    expect(graph.root).to_have_attribute("data-selected", "n1.21")
    before = graph.see()
    # Another node is collapsed, which is out of view: a click would bring it there.
    graph.root.locator('[data-node="n1.4"] > .fold').dispatch_event("click")
    expect(graph.root.locator('[data-node="n1.4"]')).to_have_attribute("aria-expanded", "false")
    after = graph.see()
    assert len(after) < len(before)
    assert after["n1.21"] == pytest.approx(before["n1.21"], abs=2)


def test_wheel_scrolls_and_zooms_with_ctrl(story: Any) -> None:
    first = story.scale
    story.box("n1.2").hover(force=True)
    story.page.mouse.wheel(0, -200)
    story.see()
    assert story.scale == first
    story.page.keyboard.down("Control")
    story.page.mouse.wheel(0, -200)
    story.page.keyboard.up("Control")
    expect(story.root).not_to_have_attribute("data-scale", f"{first:.3f}")
    assert story.scale > first


BACKGROUND = """root => {
  const {x, y, width, height} = root.querySelector(".canvas").getBoundingClientRect();
  for (let down = 5; down < height - 60; down += 10)
    for (let right = 5; right < width - 60; right += 10)
      if (root.getRootNode().elementFromPoint(x + right, y + down).localName === "svg")
        return [x + right, y + down];
}"""


def test_mouse_moves_the_picture_between_the_boxes(story: Any) -> None:
    for _ in range(5):
        story.tool("Zoom in")
    before = story.see()
    x, y = story.root.evaluate(BACKGROUND)
    story.page.mouse.move(x, y)
    story.page.mouse.down()
    story.page.mouse.move(x + 30, y + 40, steps=4)
    story.page.mouse.up()
    (x, y), (x_before, y_before) = story.see()["n1"], before["n1"]
    assert (x - x_before, y - y_before) == pytest.approx((30, 40), abs=2)


def test_view_comes_back_with_the_graph(story: Any, said: Any) -> None:
    story.tool("Zoom in")
    before = story.see()
    story.page.get_by_text("away", exact=True).click()
    expect(story.root).to_have_count(0)
    story.page.get_by_text("away", exact=True).click()
    assert story.see() == before


def test_words_of_others_are_text_and_never_run(story: Any) -> None:
    box = story.root.locator('[data-node="n1.1"]')
    evil = 'a <b>bold</b> fact <img src=x onerror="window.harmed=1"><script>'
    expect(box.locator("title")).to_contain_text(evil)
    expect(box.locator("img, b, script")).to_have_count(0)
    assert story.page.evaluate("window.harmed") is None


def test_text_can_be_selected_without_a_click_on_the_node(story: Any, said: Any) -> None:
    before = runs(story.page)
    word = story.root.locator('[data-node="n1.2"] tspan').first.bounding_box()
    middle = word["y"] + word["height"] / 2
    story.page.mouse.move(word["x"] + 20, middle)
    story.page.mouse.down()
    story.page.mouse.move(word["x"] + word["width"] - 20, middle, steps=4)
    story.page.mouse.up()
    story.page.wait_for_timeout(500)
    said(selected="n1", runs=str(before))


def test_theme_of_the_page_is_the_graphs(story: Any, said: Any) -> None:
    for scheme, theme in (("dark", appearance.DARK), ("light", appearance.LIGHT)):
        story.page.emulate_media(color_scheme=scheme)
        fill = theme.looks["premise"].fill
        for _ in range(100):
            if story.colour("n1.4") == fill:
                break
            story.page.wait_for_timeout(100)
        assert story.colour("n1.4") == fill


def test_a_subtree_is_shown_alone_and_its_path_leads_back(story: Any, said: Any) -> None:
    path = story.root.get_by_label("Shown part of the tree")
    expect(path).to_be_hidden()
    story.click("n1.3")
    said(selected="n1.3")
    story.tool("Show the selected subtree only")
    story.see("n1.3", "n1.4", "n1.5")
    expect(path.locator("[aria-current]")).to_contain_text("a place on the moon gets no sunlight at night")
    path.get_by_role("button").nth(1).click()
    story.see("n1.1", "n1.3", "n1.4", "n1.5")
    path.get_by_role("button", name="Whole tree").click()
    story.see(*ALL)
    expect(path).to_be_hidden()


def test_the_layout_is_turned_and_turned_back(story: Any) -> None:
    before = story.see()
    assert before["n1"][1] < before["n1.1"][1]
    story.tool("Left-to-right layout")
    expect(story.root.get_by_role("button", name="Top-down layout")).to_be_visible()
    turned = story.see()
    assert turned["n1"][0] < turned["n1.1"][0] < turned["n1.3"][0]
    story.tool("Top-down layout")
    expect(story.root.get_by_role("button", name="Left-to-right layout")).to_be_visible()
    assert story.see() == before


def test_the_picture_is_saved_as_png(story: Any) -> None:
    with story.page.expect_download() as download:
        story.tool("Save as PNG")
    assert download.value.suggested_filename == "graph.png"
    with Image.open(download.value.path()) as picture:
        assert picture.format == "PNG"
        colours = picture.convert("RGB").getcolors(1 << 20)
    pixels = {f"#{r:02x}{g:02x}{b:02x}": count for count, (r, g, b) in colours}
    looks = appearance.LIGHT.looks
    for kind in ("hypothesis", "intermediate", "premise"):
        assert pixels[looks[kind].fill] > 5000, kind  # more than its sample in the legend


def test_letters_of_forty_nodes_on_a_full_screen_can_be_read(page: Page, app: str, graph: Any) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto(f"{app}/?nodes=40")
    assert len(graph.see()) == 41
    graph.tool("Full screen")
    expect(graph.root.locator(".map")).to_be_hidden()
    size = "text => parseFloat(getComputedStyle(text).fontSize)"
    assert graph.scale * graph.root.locator(".node > text").first.evaluate(size) >= 11
    assert all(0 < x < 1400 and 0 < y < 900 for x, y in graph.see().values())


def test_a_node_comes_into_view_for_its_author_alone(page: Page, app: str, graph: Any) -> None:
    page.goto(f"{app}/?nodes=200")
    graph.see()
    page.get_by_role("button", name="Bo writes").click()
    expect(graph.box("n3")).to_be_attached()
    expect(graph.box("n3")).not_to_be_in_viewport()
    page.get_by_role("button", name="Ada writes").click()
    expect(graph.box("n4")).to_be_in_viewport()


def test_two_hundred_nodes(page: Page, app: str, graph: Any, said: Any) -> None:
    page.goto(f"{app}/?nodes=200")
    assert len(graph.see()) == 201
    assert graph.scale * 15 >= 11
    expect(graph.root.get_by_role("button", name="Top-down layout")).to_be_visible()  # it lies
    small = graph.root.locator(".map")
    expect(small).to_be_visible()
    expect(graph.box("n1.200")).not_to_be_in_viewport()
    size = small.bounding_box()
    small.click(position={"x": size["width"] / 2, "y": size["height"] - 3})
    expect(graph.box("n1.200")).to_be_in_viewport()
    graph.root.get_by_label("Find in tree").fill("fact 150 ")
    expect(graph.root).to_have_attribute("data-match", "n1.151")
    expect(graph.box("n1.151")).to_be_in_viewport()
    graph.click("n1.151")
    said(selected="n1.151")
    graph.tool("Fit the whole tree")
    assert all(0 < x < graph.size[0] and 0 < y < graph.size[1] for x, y in graph.see().values())
    graph.tool("Collapse all")
    graph.see("n1", "n1.1", "n1.2")
