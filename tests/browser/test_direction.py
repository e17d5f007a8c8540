"""Directions in a real Chromium: the page, and the arrows that come to the candidates by themselves."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.browser


def fits(page: Page) -> bool:
    main = page.get_by_test_id("stMain")
    return bool(main.evaluate("main => main.scrollWidth <= main.clientWidth"))


def test_directions_on_a_phone_in_the_dark(browser: Browser, start_app: Any, gaussian: str) -> None:
    url = start_app(ROOT / "streamlit_app.py")
    context = browser.new_context(viewport={"width": 420, "height": 900}, color_scheme="dark")
    page = context.new_page()
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.goto(f"{url}/Direction")
    expect(page.get_by_test_id("stVegaLiteChart").locator("canvas, svg").first).to_be_visible()
    expect(page.get_by_text("of all variance in 16 dimensions")).to_be_visible()
    first, second = page.get_by_label("First sentence"), page.get_by_label("Second sentence")
    before = first.input_value()
    page.get_by_role("button", name="Swap").press("Enter")
    expect(second).to_have_value(before)
    assert fits(page)
    assert not broken
    context.close()
