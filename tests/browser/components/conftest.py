"""A page with nothing but the graph and the keyboard, in one browser context."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

APP = Path(__file__).parents[1] / "apps" / "components_app.py"


@pytest.fixture(scope="module")
def app(start_app: Callable[..., str]) -> str:
    return start_app(APP)


@pytest.fixture
def context(one_context: BrowserContext) -> BrowserContext:
    """One for all tests here, so that Streamlit's own scripts are fetched once."""
    return one_context


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    yield page
    page.close()


@pytest.fixture
def said(page: Page) -> Callable[..., None]:
    """Return `said(name=value ...)`: waits until the page says so."""

    def wait(**values: str) -> None:
        for name, value in values.items():
            expect(page.get_by_text(re.compile(rf"\b{name}={re.escape(value)};"))).to_be_visible()

    return wait


def hears(page: Page, stamp: str) -> None:
    """Wait until the keyboard listens and knows this stamp."""
    expect(page.locator("[data-listens]")).to_have_attribute("data-listens", stamp)


@pytest.fixture
def story(page: Page, app: str, graph: Any, said: Callable[..., None]) -> Any:
    """The page with the tree of five nodes below the hypothesis, drawn."""
    page.goto(app)
    graph.see()
    said(selected="n1")
    hears(page, "n1")
    return graph
