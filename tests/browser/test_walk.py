"""The five-minute walk by clicks, and the page of figures at its end, on screen and on paper."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database
from tests.browser.steps import settle

ROOT = Path(__file__).parents[2]
PAGES = ("/", "/Trees", "/Compare", "/Direction", "/Results")

pytestmark = pytest.mark.browser


def bar(page: Page) -> Locator:
    return page.locator(".st-key-walk")


def arrive(page: Page, url: str, number: int) -> None:
    """Wait for a step: its page, and its number in the bar."""
    expect(page).to_have_url(re.compile(rf"^{re.escape(url + PAGES[number])}(\?|$)"))
    expect(bar(page)).to_contain_text(f"{number + 1} of {len(PAGES)}")


def go_on(page: Page) -> None:
    page.locator(".st-key-walk_next button").click()


def test_the_walk_by_clicks(page: Page, url: str, folder: Path) -> None:
    page.goto(url)
    page.locator(".st-key-walk_start button").click()
    arrive(page, url, 0)
    go_on(page)
    arrive(page, url, 1)
    rows = page.locator('[class*="st-key-row-"]')
    expect(rows).to_have_count(10)

    # A tree of one's own: the claim is filled in, only the name is asked; the example stays as it is.
    page.locator(".st-key-walk_try button").click()
    expect(page.locator(".st-key-start_text input")).not_to_have_value("")
    page.get_by_role("textbox", name="Your name").fill("Ada")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page).to_have_url(re.compile(r"/Trees\?tree=[0-9a-f]{8}"))
    expect(rows).to_have_count(10)
    settle(page)  # the rows of the example stay until those of the new tree are drawn
    accept = rows.first.get_by_role("button", name="1", exact=True)
    accept.click()
    expect(rows.first).to_contain_text("accepted here")
    (own,) = (
        tree
        for tree in TreeLog(open_database(f"sqlite:///{folder / 'entail.db'}")).trees()
        if not tree.example
    )
    assert own.judgements == 1

    for number in (2, 3, 4):
        go_on(page)
        arrive(page, url, number)
    page.locator(".st-key-walk_leave button").click()
    expect(bar(page)).to_have_count(0)


def test_the_bar_covers_nothing_on_a_phone(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 420, "height": 900})
    page.goto(url)
    page.locator(".st-key-walk_start button").click()
    arrive(page, url, 0)
    go_on(page)
    arrive(page, url, 1)
    first = page.locator('[class*="st-key-row-"]').first
    expect(first).to_be_visible()
    assert bar(page).evaluate("bar => getComputedStyle(bar).position") in ("static", "relative")
    box, row = bar(page).bounding_box(), first.bounding_box()
    assert box is not None
    assert row is not None
    assert box["height"] < 140
    assert box["y"] + box["height"] <= row["y"]
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0


@pytest.mark.parametrize("width", [1400, 420])
def test_the_figures_fit_the_width(page: Page, url: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{url}/Results")
    expect(page.locator('[class*="st-key-figure-"]')).to_have_count(5)
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0
