"""Try an installed `entail` as its users do: search, app, API, a Space, an app below a path.

    python scripts/smoke_wheel.py build/wheel/bin/python

The argument is the Python of an environment that holds the wheel and nothing else (`make wheel`). Every
server starts in an empty folder, where no file of a checkout can stand in for one that the wheel lacks.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from app_browser import APP, FLAGS, HEALTH, PATIENCE, find_chromium, new_session, start, stop
from playwright.sync_api import Browser, Page, expect, sync_playwright

PAGES = (
    "",
    "Trees",
    "Corpora",
    "Compare",
    "Direction",
    "Chains",
    "Claims",
    "Results",
    "Models",
    "Serving",
    "Operator",
)
SIDEBAR = "rgb(243, 245, 248)"
"""Colour of the sidebar in the light theme of the product; Streamlit's own differs."""

SEARCH = """
from pathlib import Path
import entail
package = Path(entail.__file__).parent
assert "site-packages" in package.parts, f"expected the installed package, found {package}"
corpus = entail.read_corpus(package / "data" / "sample" / "premises.jsonl.gz").corpus
hits = entail.retriever("aeenc-minilm", corpus).search(["melting is a change of state"], k=5)
print("search:", [corpus.texts[position] for position in hits.positions[0][:2]])
"""


def main() -> None:
    """Run every check; a failed one raises."""
    python = str(Path(sys.argv[1]).absolute())
    os.environ |= {"HF_HUB_OFFLINE": "1", "ENTAIL_WORKER": "none"}
    app = (python, *APP[1:])
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder, empty = Path(name), Path(name, "empty")
        empty.mkdir()
        os.environ["ENTAIL_DATA_DIR"] = str(folder / "doctor")
        for command in (["-m", "entail", "doctor"], ["-c", SEARCH]):
            subprocess.run([python, *command], check=True, cwd=empty)
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        try_app(browser, folder / "app", app, empty, PAGES)
        below = {"STREAMLIT_SERVER_BASE_URL_PATH": "tools/entail"}
        try_app(browser, folder / "below", (*app, "--api"), empty, PAGES[:2], prefix="/tools/entail", **below)
        space = (python, "-m", "entail.hub.space_start")
        try_app(browser, folder / "space", space, empty, PAGES[:2], HOME=str(folder), SPACE_HOST="x.hf.space")
        serve = (python, "-m", "entail", "serve", "--port", "{port}", "--host", "127.0.0.1")
        stop(start(folder / "serve", command=serve, cwd=empty, health="/health")[0])
        assert_clean(folder / "serve")


def try_app(
    browser: Browser,
    folder: Path,
    command: tuple[str, ...],
    cwd: Path,
    pages: tuple[str, ...],
    *,
    prefix: str = "",
    **variables: str,
) -> None:
    """Open pages of an app until they are drawn; then its log must be free of errors."""
    server, url = start(folder, command=command, cwd=cwd, health=prefix + HEALTH, **variables)
    try:
        page = new_session(browser)
        for name in pages:
            page.goto(f"{url}{prefix}/{name}")
            check_page(page)
            print("page:", folder.name, name or "Home")
        if prefix:
            check_paths(page, f"{url}{prefix}")
        page.context.close()
    finally:
        stop(server)
    assert_clean(folder)


def check_page(page: Page) -> None:
    """Wait for the end of a run, which must have drawn one page in the product's theme."""
    # A first start fills a new database and loads models, which takes seconds on a busy machine.
    expect(page.locator("h1, h2").first).to_be_visible(timeout=PATIENCE)
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-script-state", "notRunning", timeout=PATIENCE)
    expect(page.get_by_test_id("stSidebar")).to_have_css("background-color", SIDEBAR)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.locator("[data-stale=true]")).to_have_count(0, timeout=PATIENCE)


def check_paths(page: Page, url: str) -> None:
    """Make a link to a tree; it and the API must answer below the path of the app."""
    page.add_init_script("localStorage.setItem('entail.author', 'Ada')")
    page.goto(url)
    page.locator(".st-key-open_example button").click()
    page.locator('[class*="st-key-row-"]').first.wait_for()
    # A menu that is open when the page learns the author's name is closed by the next drawing.
    expect(page.get_by_test_id("stSidebar")).to_contain_text("Ada", timeout=PATIENCE)
    check_page(page)
    page.get_by_role("button", name="Share").click()
    page.locator(".st-key-share button").click()
    link = page.get_by_test_id("stCode").locator("code").inner_text()
    assert link.startswith(f"{url}/shared/"), link
    for address in (link, f"{url}/api/health"):
        urllib.request.urlopen(address, timeout=60).close()


def assert_clean(folder: Path) -> None:
    """Raise if a server has logged an error."""
    log = (folder / "server.log").read_text(encoding="utf-8")
    assert not re.search(r"Traceback|Error\b|ERROR", log), log


if __name__ == "__main__":
    main()
