"""Signing in, in a real Chromium, at a stand-in of a provider that runs here."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from entail.trees.installation.seed import SAMPLE_ID, seed_sample
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database
from tests.browser.oidc import SECRET, Provider

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.browser


def test_authors_are_who_they_signed_in_as(
    page: Page, start_app: Any, provider: Provider, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    database = open_database(f"sqlite:///{folder / 'entail.db'}")
    seed_sample(database)
    log = TreeLog(database)
    tree = log.create(Create(hypothesis="the sun is hot"), author="Bob", corpus_id=SAMPLE_ID)
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(provider.secrets())
    app = start_app(ROOT / "streamlit_app.py", data_dir=folder, env={"STREAMLIT_SECRETS_FILES": str(secrets)})
    # Who came by a link can read; nothing is written before they signed in, and then they are back there.
    page.goto(f"{app}/Trees?tree={tree}")
    rows = page.locator('[class*="st-key-row-"]')
    expect(rows.first).to_be_visible()
    expect(page.get_by_role("textbox", name="Your name")).to_have_count(0)
    page.locator("body").press("1")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Sign in")).to_be_visible()
    assert log.history(tree).seq == 1
    dialog.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page).to_have_url(f"{app}/Trees?tree={tree}")
    expect(page.get_by_test_id("stSidebar").get_by_text("Ada Lovelace")).to_be_visible()
    expect(rows.first).to_be_visible()
    page.locator('[class*="st-key-accept-"] button').first.click()
    expect(rows.first).to_contain_text("accepted here")
    assert [(e.author, e.verified) for e in log.history(tree).events] == [
        ("Bob", False),
        ("Ada Lovelace", True),
    ]
    assert SECRET not in page.content()
    database.close()
