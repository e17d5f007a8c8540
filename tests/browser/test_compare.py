"""The Compare page in a real Chromium: slopes, the split with its drill-down, a phone."""

from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from entail.data.records import Corpus
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database

ROOT = Path(__file__).parents[2]
WORDS = "left=tfidf&right=bm25"
QUERY = "the moon reflects sunlight towards earth"

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def url(start_app: Any, folder: Path) -> str:
    """Return one app for all tests here; none of them changes what another looks at."""
    return f"{start_app(ROOT / 'streamlit_app.py', data_dir=folder)}/Compare"


def chart(page: Page) -> Locator:
    return page.get_by_test_id("stVegaLiteChart")


def choose(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name, exact=True).click()


def test_ranks_are_slopes_and_a_premise_under_the_pointer_shows_its_whole_text(page: Page, url: str) -> None:
    page.goto(f"{url}?{WORDS}&query={QUERY}&depth=10")
    plot = chart(page)
    expect(plot.locator("svg")).to_be_visible()
    expect(plot.get_by_text("TF-IDF", exact=True)).to_be_visible()
    first = plot.locator("svg text").filter(has_text="moon").first
    first.hover()
    tip = page.locator("#vg-tooltip-element")
    expect(tip).to_contain_text("Premise")
    expect(tip).to_contain_text("moon")
    choose(page, "Side by side")
    expect(page.locator("table.ranked")).to_have_count(2)


def test_a_text_that_looks_like_html_is_drawn_and_told_as_text(page: Page, url: str, folder: Path) -> None:
    page.goto(f"{url}?{WORDS}")  # seeds the database
    expect(chart(page).locator("svg")).to_be_visible()
    hostile = "ice <img src=x onerror='document.title=1'> **is** {cold}"
    store = CorpusStore(open_database(f"sqlite:///{folder / 'entail.db'}"))
    info = store.add_corpus(Corpus.of("hostile", [hostile, "ice floats"]), author="Ada")
    page.goto(f"{url}?{WORDS}&corpus={info.id}&query=ice")
    text = chart(page).locator("svg text").filter(has_text="<img").first
    expect(text).to_be_visible()
    text.hover()
    tip = page.locator("#vg-tooltip-element")
    expect(tip).to_contain_text(hostile)
    expect(tip.locator("img")).to_have_count(0)
    assert page.title() != "1"


def test_a_row_of_a_split_leads_to_its_rankings(page: Page, url: str) -> None:
    page.goto(f"{url}?mode=split&{WORDS}")
    expect(page.get_by_test_id("stTable")).to_have_count(1)
    claims = page.get_by_test_id("stDataFrame")
    expect(claims).to_have_count(1)
    expect(chart(page)).to_have_count(0)
    claims.scroll_into_view_if_needed()
    claims.click(position={"x": 18, "y": 54})  # the box of the first row
    expect(chart(page).locator("svg")).to_be_visible()
    expect(page.get_by_text("reference premises found").first).to_be_visible()


@pytest.mark.parametrize("mode", ["query", "tree", "split", "bias"])
def test_every_mode_fits_a_phone_in_the_dark(browser: Browser, url: str, mode: str) -> None:
    context = browser.new_context(viewport={"width": 420, "height": 900}, color_scheme="dark")
    page = context.new_page()
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    right = "minilm" if mode == "bias" else "bm25"
    page.goto(f"{url}?mode={mode}&left=tfidf&right={right}")
    expect(page.get_by_test_id("stMetric").first).to_be_visible()
    if mode in ("query", "tree", "bias"):
        expect(chart(page).locator("canvas, svg").first).to_be_visible()
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth <= main.clientWidth")
    assert not broken
    context.close()


@pytest.mark.parametrize(("scheme", "light"), [("light", False), ("dark", True)])
def test_words_among_the_marks_have_the_themes_colour(
    browser: Browser, url: str, scheme: Literal["light", "dark"], light: bool
) -> None:
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{url}?{WORDS}&query={QUERY}&depth=10")
    text = chart(page).locator("svg .mark-text text").filter(has_text="moon").first
    expect(text).to_be_visible()
    red, green, blue = (
        int(part) for part in text.evaluate("e => getComputedStyle(e).fill").strip("rgb()").split(",")[:3]
    )
    assert (red + green + blue > 384) is light
    context.close()
