"""Take screenshots of every page of a fresh installation, light and dark, wide and narrow.

::

    python scripts/take_screenshots.py [--out docs/images] [--pages trees compare]

README and docs show `<page>.png`; the other forms are `<page>-dark.png`, `-phone.png` and `-phone-dark.png`.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import tempfile
from pathlib import Path

from app_browser import APP, FLAGS, PATIENCE, find_chromium, start, stop
from PIL import Image
from playwright.sync_api import Browser, Page, TimeoutError, sync_playwright

import entail

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
PAGES = {
    "home": "",
    "trees": "Trees",
    "corpora": "Corpora",
    "compare": "Compare",
    "direction": "Direction",
    "chains": "Chains",
    "claims": "Claims",
    "work": "Work",
    "review": "Review",
    "agreement": "Agreement",
    "results": "Results",
    "models": "Models",
    "serving": "Serving",
    "operator": "Operator",
}
OF_TEAMS = ("work", "review", "agreement")
SIZES = {"": (1400, 900), "-phone": (420, 860)}
THEMES = {"": "light", "-dark": "dark"}
COLOURS = 256
"""Colours of a picture: pages are flat, and a picture of all colours takes three times the room."""

QUIET = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  const busy = '[data-testid="stSkeleton"], [data-testid="stProgress"], [data-testid="stSpinner"]';
  const still = app?.dataset.testScriptState === "notRunning" && !document.querySelector(busy);
  window.quietSince = still ? window.quietSince ?? Date.now() : undefined;
  return still && Date.now() - window.quietSince > 800;
}"""


def main() -> None:
    """Take all screenshots, or those of some pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=IMAGES)
    parser.add_argument("--pages", nargs="+", choices=PAGES, default=list(PAGES), metavar="PAGE")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        server, url = start(Path(folder), command=(*APP, "--api"))
        try:
            # The example project of the last three fills Home, too.
            for last in (False, True):
                pages = [page for page in arguments.pages if (page in OF_TEAMS) == last]
                for size, theme in itertools.product(SIZES, THEMES):
                    take(browser, url, pages, arguments.out, size, theme)
        finally:
            stop(server)
            browser.close()


def take(browser: Browser, url: str, pages: list[str], out: Path, size: str, theme: str) -> None:
    """Take the screenshots of one size and theme."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if THEMES[theme] == "dark" else "light",
    )
    context.add_init_script("localStorage.setItem('entail.author', 'Ada Lovelace')")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    for name in pages:
        page.goto(f"{url}/{PAGES[name]}")
        settle(page)
        prepare(page, name)
        file = out / f"{name}{size}{theme}.png"
        page.screenshot(path=file)
        Image.open(file).convert("RGB").quantize(COLOURS).save(file, optimize=True)
    context.close()


def settle(page: Page) -> None:
    """Wait until a page is drawn; one that renews itself is never still for long."""
    with contextlib.suppress(TimeoutError):
        page.wait_for_function(QUIET, polling=200, timeout=20_000)


def search(url: str) -> None:
    """Send what clients would, so that there is traffic."""
    with entail.Client(f"{url}/api") as client:
        for text in (
            "the sun causes seasons",
            "ice is cold",
            "a plant needs light",
            "a magnet attracts iron",
        ):
            for _ in range(5):
                client.search([text], corpus="EntailmentBank sample", k=5)
                client.direction([text], ["something is"])


def prepare(page: Page, name: str) -> None:
    """Bring a page where its work is to be seen."""
    if name == "trees":
        page.goto(page.url.partition("/Trees")[0])
        page.get_by_role("button", name="Open this example").click()
        page.locator('[class*="st-key-row-"]').first.wait_for()
        page.get_by_text("explain it").first.wait_for()  # the check of the step, which is loaded last
        settle(page)
    if name == "serving":
        for _ in range(3):  # a point of the charts is 20 seconds
            search(page.url.partition("/Serving")[0])
            page.wait_for_timeout(21_000)
    if name == "work" and (example := page.get_by_role("button", name="Try an example")).count():
        example.click()
        page.get_by_role("button", name="Next").wait_for()
        settle(page)
    if name == "review" and (begin := page.get_by_role("button", name="Begin the agreed tree")).count():
        begin.click()
        page.locator(".graph .node").first.wait_for(state="attached")
        settle(page)


if __name__ == "__main__":
    main()
