"""Trouble around the app while a person is at work in it, in a real Chromium."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from entail.trees.installation.seed import SAMPLE_ID, seed_sample
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database
from tests.browser.steps import say_name

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.browser


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a data folder as the first start leaves it."""
    database = open_database(f"sqlite:///{tmp_path / 'data' / 'entail.db'}")
    seed_sample(database)
    database.close()
    return tmp_path / "data"


def log_of(folder: Path) -> TreeLog:
    return TreeLog(open_database(f"sqlite:///{folder / 'entail.db'}"))


def rows(page: Page) -> Locator:
    return page.locator('[class*="st-key-row-"]')


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the database's lock, as another process does that writes for long."""
    other = sqlite3.connect(folder / "entail.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


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


def test_a_locked_database_says_so_and_what_was_done_is_kept(
    page: Page, start_app: Any, folder: Path
) -> None:
    log = log_of(folder)
    tree_id = log.create(Create(hypothesis="the sun is hot"), author="Ada", corpus_id=SAMPLE_ID)
    page.goto(f"{start_app(ROOT / 'streamlit_app.py', data_dir=folder)}/Trees?tree={tree_id}")
    expect(rows(page)).to_have_count(10)
    say_name(page, "Ada")
    # The script that hears keys is fetched on its own: a slow machine draws the rows before it is there.
    expect(page.locator("[data-listens]")).to_have_count(1)
    with locked(folder):
        page.locator("body").press("1")
        expect(page.get_by_text("Not saved yet")).to_be_visible()
        # Reading goes on.
        expect(rows(page)).to_have_count(10)
        page.get_by_text("History", exact=True).click()
        expect(page.get_by_text("started the tree")).to_be_visible()
        # What is typed into a dialog stays there.
        page.locator("body").press("w")
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("textbox", name="Statement").fill("hot things give off light")
        dialog.get_by_role("button", name="Write", exact=True).click()
        expect(dialog.get_by_text("Your input is kept")).to_be_visible()
        expect(dialog.get_by_role("textbox", name="Statement")).to_have_value("hot things give off light")
        assert log.history(tree_id).seq == 1
    dialog.get_by_role("button", name="Write", exact=True).click()
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Try again").click()
    expect(rows(page).nth(0)).to_contain_text("accepted here")
    expect(page.get_by_text("Not saved yet")).to_have_count(0)
    assert [event.act.kind for event in log.history(tree_id).events] == ["create", "write", "accept"]


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
