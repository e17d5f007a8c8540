"""Read-only links: made by clicks, opened in another browser without a name, revoked."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from entail.ui.app import ASGI
from tests.browser.steps import log_of, say_name

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share") / "data"
    log_of(folder, seed=True)
    return folder


@pytest.fixture(scope="module")
def url(start_app: Any, folder: Path) -> str:
    return str(start_app(ASGI, data_dir=folder))


def make_link(page: Page, url: str) -> str:
    """Open the control of links, make one, and return it."""
    page.get_by_role("button", name="Share").click()
    page.locator(".st-key-share button").click()
    link = page.get_by_test_id("stCode").locator("code")
    expect(link).to_have_text(re.compile(rf"^{re.escape(url)}/shared/[\w-]{{43}}$"))
    return link.inner_text()


def revoke(page: Page) -> None:
    page.locator('[class*="st-key-revoke-"] button').click()
    expect(page.get_by_test_id("stCode")).to_have_count(0)


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


def test_a_tree_by_its_link(page: Page, browser: Browser, url: str, folder: Path) -> None:
    tree = max(log_of(folder).trees(), key=lambda tree: tree.steps)
    page.goto(f"{url}/Trees?tree={tree.id}")
    say_name(page, "Ada")
    link = make_link(page, url)

    context = browser.new_context(viewport={"width": 420, "height": 900}, color_scheme="dark")
    visitor = context.new_page()
    broken: list[str] = []
    visitor.on("pageerror", lambda error: broken.append(str(error)))
    visitor.on("websocket", lambda socket: broken.append(socket.url))
    visitor.goto(link)
    expect(visitor.get_by_role("heading", level=1)).to_have_text(tree.hypothesis)
    expect(visitor.locator("#graph canvas")).to_be_visible()
    expect(visitor.get_by_role("textbox")).to_have_count(0)
    assert fits(visitor)
    assert context.cookies() == []
    assert not broken

    revoke(page)
    visitor.reload()
    expect(visitor.get_by_role("heading")).to_have_count(0)
    expect(visitor.locator("#graph")).to_have_count(0)
    context.close()
