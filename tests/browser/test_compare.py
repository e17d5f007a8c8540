"""The slopes of the Compare page in a real Chromium: hostile texts, colours of the theme."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from entail.data.records import Corpus
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database

WORDS = "left=tfidf&right=bm25"
QUERY = "the moon reflects sunlight towards earth"

pytestmark = pytest.mark.browser


def chart(page: Page) -> Locator:
    return page.get_by_test_id("stVegaLiteChart")


def test_a_text_that_looks_like_html_is_drawn_and_told_as_text(page: Page, url: str, folder: Path) -> None:
    page.goto(f"{url}/Compare?{WORDS}")  # seeds the database
    expect(chart(page).locator("svg")).to_be_visible()
    hostile = "ice <img src=x onerror='document.title=1'> **is** {cold}"
    store = CorpusStore(open_database(f"sqlite:///{folder / 'entail.db'}"))
    info = store.add_corpus(Corpus.of("hostile", [hostile, "ice floats"]), author="Ada")
    page.goto(f"{url}/Compare?{WORDS}&corpus={info.id}&query=ice")
    text = chart(page).locator("svg text").filter(has_text="<img").first
    expect(text).to_be_visible()
    text.hover()
    tip = page.locator("#vg-tooltip-element")
    expect(tip).to_contain_text(hostile)
    expect(tip.locator("img")).to_have_count(0)
    assert page.title() != "1"


@pytest.mark.parametrize(("scheme", "light"), [("light", False), ("dark", True)])
def test_words_among_the_marks_have_the_themes_colour(
    browser: Browser, url: str, scheme: Literal["light", "dark"], light: bool
) -> None:
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{url}/Compare?{WORDS}&query={QUERY}&depth=10")
    text = chart(page).locator("svg .mark-text text").filter(has_text="moon").first
    expect(text).to_be_visible()
    red, green, blue = (
        int(part) for part in text.evaluate("e => getComputedStyle(e).fill").strip("rgb()").split(",")[:3]
    )
    assert (red + green + blue > 384) is light
    context.close()
