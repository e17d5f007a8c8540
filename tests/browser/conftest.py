"""A running app and a real Chromium for the tests of this folder, which talk to this machine only."""

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Request, expect

from entail.trees.installation.seed import seed_sample
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database
from tests.browser.oidc import Provider
from tests.support.machine import free_port

ROOT = Path(__file__).parents[2]
collect_ignore_glob = ["apps/*"]
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
PATIENCE = 60.0
"""Seconds that a slow machine is given; nothing is measured here."""

expect.set_options(timeout=PATIENCE * 1000)

PLACES = """root => {
  const [[left, top], scale] = [root.dataset.view.split(" ").map(Number), Number(root.dataset.scale)];
  const { clientWidth, clientHeight } = root.querySelector(".canvas");
  return Object.fromEntries([...root.querySelectorAll(".node")].map(({ dataset: { node, at } }) => {
    const [x, y] = at.split(" ").map(Number);
    const spot = [clientWidth / 2 + (x - left) * scale, clientHeight / 2 + (y - top) * scale];
    return [node, spot.map(Math.round)];
  }));
}"""
"""Middles of the boxes of a graph, seen from its corner."""

PIXEL = """(root, [x, y]) => {
  const canvas = root.querySelector("canvas");
  const density = canvas.width / canvas.clientWidth;
  const [red, green, blue] = canvas.getContext("2d").getImageData(x * density, y * density, 1, 1).data;
  return "#" + [red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("");
}"""
"""Colour of a graph at a place."""

CALM = """addEventListener("DOMContentLoaded", () => {
  const style = document.createElement("style");
  const tip = ':has(> * > [data-testid="stTooltipContent"])';
  style.textContent = `${tip}, ${tip} * { pointer-events: none !important }`;
  document.head.append(style);
});"""
"""A tooltip that a moving page shows under the resting mouse does not lie in the way of the next click."""

StartApp = Callable[..., str]


@pytest.fixture
def provider() -> Iterator[Provider]:
    """Return a local OpenID Connect provider."""
    stand_in = Provider()
    yield stand_in
    stand_in.close()


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, object]:
    """Launch the Chromium of the system."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        pytest.fail("no Chromium on the PATH: `apt-get install chromium fonts-dejavu-core`", pytrace=False)
    return {"executable_path": chromium, "args": list(FLAGS), "headless": True}


@pytest.fixture(scope="session")
def browser_context_args() -> dict[str, object]:
    return {"viewport": {"width": 1280, "height": 1000}, "color_scheme": "light", "reduced_motion": "reduce"}


@pytest.fixture(scope="module")
def one_context(browser: Browser, browser_context_args: dict[str, Any]) -> Iterator[BrowserContext]:
    """Return a context for a whole module, which may name it `context`: scripts are fetched once."""
    context = browser.new_context(**browser_context_args)
    yield context
    context.close()


@pytest.fixture(autouse=True)
def guarded(context: BrowserContext) -> Iterator[None]:
    """Fail a test in which the page asks another machine for anything, or in which its script breaks."""
    context.set_default_timeout(PATIENCE * 1000)
    context.add_init_script(CALM)
    strangers: list[str] = []
    broken: list[str] = []

    def look(url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.hostname not in ("localhost", "127.0.0.1"):
            strangers.append(url)

    def watch(page: Page) -> None:
        page.on("websocket", lambda socket: look(socket.url))
        page.on("pageerror", lambda error: broken.append(str(error)))

    def ask(request: Request) -> None:
        look(request.url)

    context.on("request", ask)
    context.on("page", watch)
    yield
    context.remove_listener("request", ask)
    context.remove_listener("page", watch)
    assert not strangers
    assert not broken


@pytest.fixture(scope="module")
def start_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartApp]:
    """Return `start_app(data_dir=..., env=...)`, which runs the app, or a script, and returns its address.

    Each runs until its module ends: a machine would bear the models of a dozen apps at once with difficulty.
    """
    running: list[tuple[subprocess.Popen[bytes], Path]] = []

    def start(
        script: Path = ROOT / "streamlit_app.py",
        *,
        data_dir: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> str:
        folder = tmp_path_factory.mktemp("app")
        port = free_port()
        log = folder / "log.txt"
        options = {
            "server.port": port,
            "server.address": "127.0.0.1",
            "server.headless": "true",
            "server.fileWatcherType": "none",
            "browser.gatherUsageStats": "false",
        }
        with log.open("wb") as out:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "streamlit", "run", str(script)),
                    *(f"--{name}={value}" for name, value in options.items()),
                ],
                cwd=ROOT,
                env={
                    **os.environ,
                    "OMP_WAIT_POLICY": "PASSIVE",
                    "ENTAIL_DATA_DIR": str(data_dir or folder / "data"),
                    **(env or {}),
                },
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        running.append((process, log))
        url = f"http://127.0.0.1:{port}"
        _wait_for(url, process, log)
        return url

    yield start
    for process, _ in running:
        process.kill()  # told to end, Streamlit takes seconds to say goodbye to its sessions
    for process, _ in running:
        process.wait()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data folder of the app of a module."""
    return tmp_path_factory.mktemp("folder") / "data"


@pytest.fixture(scope="module")
def url(start_app: StartApp, folder: Path) -> str:
    """Return the address of one app for all tests of a module."""
    return start_app(data_dir=folder)


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"the app did not start; its log:\n{log.read_text(errors='replace')}", pytrace=False)


def log_of(folder: Path, *, seed: bool = False) -> TreeLog:
    """Return the trees of a data folder, which may be seeded as the first start does."""
    database = open_database(f"sqlite:///{folder / 'entail.db'}")
    if seed:
        seed_sample(database)
    return TreeLog(database)


def rows(page: Page) -> Locator:
    """Return the rows of candidates."""
    return page.locator('[class*="st-key-row-"]')


class Graph:
    """Hands and eyes on the graph of a page, which says in `data-at` and `data-view` where its boxes are."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.root = page.locator(".graph")

    def see(self, *nodes: str) -> dict[str, tuple[int, int]]:
        """Return where the middles of the nodes are in the graph, by id, once just those named are drawn."""
        deadline = time.monotonic() + PATIENCE
        expect(self.root.locator(".node").first).to_be_attached()
        expect(self.root).to_have_attribute("data-view", re.compile("."))
        while True:
            centers = self.root.evaluate(PLACES)
            self.page.wait_for_timeout(120)
            if (not nodes or set(centers) == set(nodes)) and centers == self.root.evaluate(PLACES):
                return {id: (x, y) for id, (x, y) in centers.items()}
            if time.monotonic() > deadline:
                pytest.fail(f"expected the nodes {sorted(nodes)} in the graph, found {sorted(centers)}")

    @property
    def scale(self) -> float:
        return float(self.root.get_attribute("data-scale") or "nan")

    @property
    def size(self) -> tuple[float, float]:
        box = self.root.locator(".canvas").bounding_box()
        assert box is not None
        return box["width"], box["height"]

    def place(self, node: str) -> tuple[float, float]:
        """Return where the middle of a node is on the page."""
        (x, y), box = self.see()[node], self.root.locator(".canvas").bounding_box()
        assert box is not None
        return box["x"] + x, box["y"] + y

    def shown(self) -> set[str]:
        """Return the nodes whose middles are in view."""
        width, height = self.size
        return {id for id, (x, y) in self.see().items() if 0 < x < width and 0 < y < height}

    def click(self, node: str) -> None:
        self.page.mouse.click(*self.place(node))

    def open(self, node: str) -> None:
        self.page.mouse.dblclick(*self.place(node))

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Move the mouse with its button held down."""
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(start[0] + 12, start[1] + 12, steps=3)
        self.page.mouse.move(*end, steps=6)
        self.page.mouse.up()

    def tool(self, name: str) -> None:
        self.root.get_by_role("button", name=name, exact=True).click()

    def colour(self, node: str, *, below: int = 0) -> str:
        """Return the colour (`#rrggbb`) so many pixels below the middle of a box."""
        x, y = self.see()[node]
        return str(self.root.evaluate(PIXEL, [x, y + below]))


@pytest.fixture
def graph(page: Page) -> Graph:
    return Graph(page)
