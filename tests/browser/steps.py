"""Steps of an author in the browser, for the stories of this folder."""

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from entail.trees.installation.seed import seed_sample
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database

BUSY = ", ".join(f'[data-testid="st{name}"]' for name in ("Spinner", "Skeleton")) + ", [data-stale=true]"


def log_of(folder: Path, *, seed: bool = False) -> TreeLog:
    """Return the trees of a data folder, which may be seeded as the first start does."""
    database = open_database(f"sqlite:///{folder / 'entail.db'}")
    if seed:
        seed_sample(database)
    return TreeLog(database)


def rows(page: Page) -> Locator:
    """Return the rows of candidates."""
    return page.locator('[class*="st-key-row-"]')


def say_name(page: Page, name: str) -> None:
    """Come back with a name that this browser remembers from another day."""
    page.evaluate("name => localStorage.setItem('entail.author', name)", name)
    page.reload()
    expect(page.get_by_text("Not you?")).to_be_attached()


def settle(page: Page) -> None:
    """Wait until nothing on the page is old or on its way."""
    page.wait_for_timeout(250)  # a run may follow another, and the theme is told to the server
    expect(page.locator('.stApp[data-test-script-state="notRunning"]')).to_be_attached()
    expect(page.locator(BUSY)).to_have_count(0)


def hears(page: Page, stamp: str) -> None:
    """Wait until the keyboard listens and knows this stamp."""
    expect(page.locator("[data-listens]")).to_have_attribute("data-listens", stamp)


def runs(page: Page) -> int:
    """Return how often the script of the page of components has run."""
    match = re.search(r"runs=(\d+);", page.get_by_text("runs=").inner_text())
    assert match is not None
    return int(match[1])
