"""The app on a narrow screen, as a phone has it."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import log_of, rows

WIDE = """() => [document.documentElement, document.querySelector('[data-testid="stMain"]')]
    .map((element) => element.scrollWidth - element.clientWidth)"""

pytestmark = pytest.mark.browser


def test_both_halves_of_a_tree_are_in_reach_on_a_narrow_screen(
    page: Page, start_app: Any, graph: Any, tmp_path: Path
) -> None:
    tree = max(log_of(tmp_path / "data", seed=True).trees(), key=lambda tree: tree.premises)
    url = start_app(data_dir=tmp_path / "data")
    page.set_viewport_size({"width": 420, "height": 900})
    page.goto(f"{url}/Trees?tree={tree.id}")
    switch = page.locator(".st-key-panes-switch")
    write = page.get_by_role("button", name="Write", exact=True)

    # The candidates first: at least four; undo and the tree are one tap away, in a bar at the bottom.
    expect(rows(page)).to_have_count(10)
    expect(rows(page).nth(3)).to_be_in_viewport(ratio=1)
    expect(page.locator(".st-key-tool-undo")).to_be_in_viewport()
    expect(write).not_to_be_visible()
    expect(graph.root).not_to_be_visible()
    assert page.evaluate(WIDE) == [0, 0]

    switch.get_by_text("Tree", exact=True).click()
    expect(graph.root).to_be_in_viewport()
    expect(rows(page).first).not_to_be_visible()
    expect(write).to_be_in_viewport()
    assert page.evaluate(WIDE) == [0, 0]
    graph.tool("Fit the whole tree")
    centers = graph.see()
    width, height = graph.size
    assert all(0 <= x <= width and 0 <= y <= height for x, y in centers.values())

    # What is chosen in the tree is what the candidates are for.
    other = next(id for id in centers if id != "n1")
    graph.click(other)
    switch.get_by_text("Candidates", exact=True).click()
    expect(page.get_by_text("Premises for this hypothesis")).to_have_count(0)
    expect(rows(page).first).to_be_in_viewport()

    # On a wide screen both are there, and nothing to switch.
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(graph.root).to_be_visible()
    expect(rows(page).first).to_be_visible()
    expect(switch).not_to_be_visible()


def test_no_page_is_wider_than_a_narrow_screen(page: Page, start_app: Any, tmp_path: Path) -> None:
    url = start_app(data_dir=tmp_path / "data")
    page.set_viewport_size({"width": 420, "height": 900})
    modes = [f"Compare?mode={mode}&left=tfidf&right=bm25" for mode in ("query", "tree", "split", "tour")]
    for path in ("", "Trees", *modes, "Chains", "Claims", "Corpora", "Direction", "Results"):
        page.goto(f"{url}/{path}")
        main = page.get_by_test_id("stMain")
        expect(main.get_by_role("heading").first).to_be_visible()
        expect(main.locator("button, input").first).to_be_visible()
        assert page.evaluate(WIDE) == [0, 0], path
