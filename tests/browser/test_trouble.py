"""Trouble around the app while a person is at work in it, in a real Chromium."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Create
from tests.browser.steps import log_of, rows, say_name

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.browser


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a data folder as the first start leaves it."""
    log_of(tmp_path / "data", seed=True)
    return tmp_path / "data"


def test_a_key_pressed_as_soon_as_the_name_is_taken_is_heard(
    page: Page, start_app: Any, folder: Path
) -> None:
    """The field for the name stays, and has the focus, until the run ends that goes without it."""
    tree_id = log_of(folder).create(Create(hypothesis="the sun is hot"), author="Ada", corpus_id=SAMPLE_ID)
    page.goto(f"{start_app(ROOT / 'streamlit_app.py', data_dir=folder)}/Trees?tree={tree_id}")
    expect(rows(page)).to_have_count(10)
    expect(page.locator("[data-listens]")).to_have_count(1)
    page.locator("body").press("1")
    name = page.get_by_role("dialog").get_by_role("textbox", name="Your name")
    name.fill("Ada")
    name.press("Enter")
    expect(rows(page).nth(0)).to_contain_text("accepted here")  # the act waited for the name
    page.locator("body").press("2")
    expect(rows(page).nth(1)).to_contain_text("accepted here")


def test_an_upload_over_the_limit_is_refused_in_words_and_the_page_goes_on(
    page: Page, start_app: Any, folder: Path, tmp_path: Path
) -> None:
    big = tmp_path / "big.txt"
    with big.open("wb") as file:
        file.truncate(200_000_001)  # takes no room on the disk; the browser looks at its length only
    small = tmp_path / "small.txt"
    small.write_text("glass is a brittle solid\nbrittle things break when hit\n")
    page.goto(f"{start_app(ROOT / 'streamlit_app.py', data_dir=folder)}/Corpora")
    say_name(page, "Ada")
    field, read = page.locator('input[type="file"]'), page.get_by_role("button", name="Import", exact=True)
    expect(page.get_by_text("200MB per file")).to_be_visible()
    field.set_input_files(big)
    alert = page.get_by_role("alert").filter(has_text="must be 200.0MB or smaller")
    expect(alert).to_be_visible()
    box = alert.bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) > 10, "it can be seen, not only heard"
    expect(read).to_be_disabled()
    field.set_input_files(small)
    read.click()
    expect(page.get_by_text(re.compile("^2 of 2 premises"))).to_be_visible()
