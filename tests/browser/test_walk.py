"""The five-minute walk by clicks, and the page of figures at its end, on screen and on paper."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

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
