"""The app as Streamlit's own test harness runs it, each test over a data folder of its own."""

import functools
import shutil
import sqlite3
import time
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.index.lexical import TfidfIndex
from entail.memory import CACHE
from entail.runtime.models import INDEXES, ModelCache, model_cache
from entail.runtime.tasks import COMPARISONS, Task
from entail.training import method
from entail.trees.installation.seed import seed_sample
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeSummary
from entail.trees.store.database import open_database
from entail.ui.components.inbox import KeyPress
from entail.ui.frame import sign_in
from entail.ui.frame.author import Visitor
from entail.ui.shared.resources import Workspace, workspace
from entail.ui.trees.page import TreePage
from entail.ui.trees.screen import Screen

ROOT = Path(__file__).parents[2]

_installed_components = functools.cache(manifest_scanner.scan_component_manifests)

_SHARED_TASKS: dict[tuple[str, Hashable], Task[Any]] = {}
"""Indexes and comparisons of earlier tests: their keys hold everything that they depend on."""


def said(app: AppTest) -> str:
    """Return all words on the page, as a person reads them."""
    kinds = (app.markdown, app.caption, app.info, app.error, app.success, app.warning)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


def named(elements: Any, label: str) -> Any:
    """Return the element of a label."""
    return next(element for element in elements if element.label == label)


def settled(app: AppTest) -> AppTest:
    """Run the page again until nothing is in the making, as the page itself does in a browser."""
    for _ in range(300):
        if not app.get("progress") and "hourglass" not in said(app):
            return app
        time.sleep(0.1)
        app = app.run()
    raise AssertionError("still in the making")


def opened(app: AppTest, page: str, **address: str) -> AppTest:
    """Open a page at an address."""
    app.query_params.update(address)
    return settled(app.switch_page(f"pages/{page}.py").run())


def by(app: AppTest, author: str = "Ada") -> AppTest:
    """Enter an author, as a field for the name does."""
    app.session_state["author"], app.session_state["visitor"] = author, Visitor(author)
    return app


def on_tree(app: AppTest, tree: str, *, author: str = "Ada", retriever: str = "tfidf") -> AppTest:
    """Open a tree on the authoring screen, ranked by a retriever that needs no weights."""
    if author:
        by(app, author)
    app.session_state["tree"] = tree
    app.session_state["retriever"] = retriever
    return opened(app, "Trees")


def buttons(app: AppTest, prefix: str) -> list[Any]:
    """Return the buttons whose keys begin so."""
    return [button for button in app.button if str(button.key).startswith(prefix)]


def accepts(app: AppTest) -> list[Any]:
    """Return the buttons that accept a candidate."""
    return buttons(app, "accept-")


def opens(app: AppTest) -> int:
    """Return the number of trees that can be opened."""
    return len(buttons(app, "open-"))


def own_trees(shared: Workspace) -> list[TreeSummary]:
    """Return the trees that are no examples, the last changed first."""
    return [tree for tree in shared.log.trees() if not tree.example]


def keys(app: AppTest) -> set[str]:
    """Return the keys of all buttons."""
    return {str(button.key) for button in app.button}


def metrics(app: AppTest) -> dict[str, str]:
    """Return the values of the metrics by label."""
    return {metric.label: metric.value for metric in app.metric}


def html(app: AppTest, part: str) -> list[str]:
    """Return the HTML blocks that contain a text."""
    return [str(block.body) for block in app.get("html") if part in str(block.body)]


def page_of(shared: Workspace, corpus: Corpus, hypothesis: str, **more: Any) -> TreePage:
    """Return Ada's page of a new tree over a new corpus, ranked by TF-IDF."""
    info = shared.corpora.add_corpus(corpus, author="Ada")
    tree = shared.log.create(Create(hypothesis=hypothesis), author="Ada", corpus_id=info.id)
    screen, history, index = Screen(tree), shared.log.history(tree), TfidfIndex(corpus)
    screen.update(history)
    building: Task[Any] = Task(value=index)
    summary, ada = shared.log.summary(tree), Visitor("Ada")
    return TreePage(shared, screen, ada, summary, history, corpus, 1, building, index, **more)


def redrawn(page: TreePage) -> TreePage:
    """Return the page as the next run draws it, with what others did meanwhile."""
    page.screen.update(page.shared.log.history(page.summary.id))
    return page.with_candidates()


def press(page: TreePage, key: str, drawn: str | None = None) -> TreePage:
    """Press a key at the list that `drawn` stamps, the current one by default; return the page after."""
    page.handle_key(KeyPress(key, page.with_candidates().stamp if drawn is None else drawn))
    return redrawn(page)


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder as the first start leaves it."""
    folder = tmp_path_factory.mktemp("seeded")
    database = open_database(f"sqlite:///{folder / 'entail.db'}")
    seed_sample(database)
    database.engine.dispose()
    return folder


@pytest.fixture(autouse=True)
def packages_scanned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for Streamlit components among the installed packages once, which takes as long as a page."""
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", _installed_components)


@pytest.fixture(autouse=True)
def no_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test at the first run of a page that ends with an exception."""
    run = AppTest._run

    def checked(app: AppTest, *arguments: Any, **options: Any) -> AppTest:
        run(app, *arguments, **options)
        assert not app.exception
        return app

    monkeypatch.setattr(AppTest, "_run", checked)


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget that an earlier test had sign-in, which its own process would not."""
    monkeypatch.setattr(sign_in, "_seen", Event())


@pytest.fixture
def shared(seeded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """Return the stores of an installation with the bundled sample, on which nobody has worked yet."""
    shutil.copytree(seeded, tmp_path / "data")
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("ENTAIL_DATABASE_URL", raising=False)
    monkeypatch.chdir(ROOT)
    # No test here types a query that needs the weights; loading them behind every page would only cost time.
    monkeypatch.setattr(ModelCache, "warm", lambda self, name="minilm": None)
    monkeypatch.setattr("entail.ui.trees.models.list_verifiers", list)
    # Whatever is packaged, Trees begins without a scorer that proposes.
    monkeypatch.setattr("entail.ui.trees.models.list_scorers", list)
    st.cache_resource.clear()
    model_cache.cache_clear()
    st.cache_data.clear()
    with CACHE.lock:  # a page of an earlier test may still load something behind it
        CACHE.entries.clear()
        CACHE.entries.update(_SHARED_TASKS)
    stores = workspace()
    yield stores
    with CACHE.lock:
        _SHARED_TASKS.update(
            (key, task)
            for key, task in CACHE.entries.items()
            if key[0] in (INDEXES.name, COMPARISONS.name) and task.value is not None
        )
    stores.database.engine.dispose()
    st.cache_resource.clear()
    model_cache.cache_clear()
    st.cache_data.clear()


@pytest.fixture
def writer(shared: Workspace) -> Iterator[sqlite3.Connection]:
    """Give another process's connection, which locks by BEGIN IMMEDIATE; acts then give up at once."""
    assert shared.database.file is not None
    wait_seconds = shared.database.wait_seconds
    object.__setattr__(shared.database, "wait_seconds", 0.02)
    other = sqlite3.connect(shared.database.file, isolation_level=None)
    yield other
    other.close()
    object.__setattr__(shared.database, "wait_seconds", wait_seconds)


def new_app() -> AppTest:
    """Return the app before its first run, which would draw Home."""
    return AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60)


@pytest.fixture
def app(shared: Workspace) -> AppTest:
    """Return the app before its first run, over an installation of its own."""
    return new_app()


@pytest.fixture
def home(app: AppTest) -> AppTest:
    """Return the app on Home."""
    return app.run()


@pytest.fixture
def fifth(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A method of somebody else's, which joined by its record alone."""
    from tests.jobs.fifth import FIFTH

    loaded = {**method.methods(), "fifth": FIFTH}, {"sixth": "RuntimeError: no such library"}
    monkeypatch.setattr(method, "_load_methods", lambda: loaded)
    method.methods.cache_clear()
    yield FIFTH
    method.methods.cache_clear()


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for encoders, empty, and nobody who starts a worker."""
    folder = tmp_path / "models"
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(folder))
    monkeypatch.setenv("ENTAIL_WORKER", "none")
    return folder


@pytest.fixture
def view(shared: Workspace, models: Path, fifth: Any) -> Callable[..., AppTest]:
    """Return what opens the Training view of the Models page at an address, Ada at work."""

    def opened(author: str | None = "Ada", **address: str) -> AppTest:
        app = new_app().switch_page("pages/Models.py")
        app.query_params.update({"models_view": "Training", **address})
        if author:
            app.session_state["author"] = author
        return app.run()

    return opened
