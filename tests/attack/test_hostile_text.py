"""Hostile text in trees, corpora and names on every page, in a real Chromium: text stays text."""

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from entail.data.records import Corpus, Premise
from entail.trees.log.acts import Accept, Create, Reject, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database
from entail.ui.frame.shell import PAGES
from tests.attack.conftest import Tally
from tests.browser.conftest import (  # noqa: F401 - fixtures
    browser_context_args,
    browser_type_launch_args,
    guarded,
    start_app,
)

pytestmark = pytest.mark.attack

STRIKE = "document.title='struck';window.struck=1"
PAYLOADS = [
    f"<script>{STRIKE}</script>",
    f"<img src=x onerror={STRIKE}>",
    f'"><script>{STRIKE}</script>',
    f"</script><script>{STRIKE}</script>",
    "<iframe srcdoc='<script>parent.struck=1</script>'></iframe>",
    f"<a href=javascript:{STRIKE}>a link</a>",
    f"[a link](javascript:{STRIKE})",
    "![a picture](http://stranger.invalid/x.png)",
    "<link rel=stylesheet href=http://stranger.invalid/x.css>",
    f"{{{{constructor.constructor('{STRIKE}')()}}}}",
    f"';{STRIKE};//",
    "<form action=http://stranger.invalid/><input autofocus onfocus=window.struck=1>",
    "snow\r=1+1",
    "\u202ereversed\u202c \u200b and more",
    "$$\\href{javascript:window.struck=1}{a}$$ :red[x] **b** `c`",
]


@pytest.fixture(scope="module")
def app(start_app: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:  # noqa: F811 - a fixture
    """Run an app whose every text is hostile; return its address and the id of a tree."""
    folder = tmp_path_factory.mktemp("hostile")
    with closing(open_database(f"sqlite:///{folder / 'entail.db'}")) as database:
        name = "<img src=x onerror=window.struck=1>"
        facts = Corpus.of(PAYLOADS[1], PAYLOADS)
        corpus = CorpusStore(database).add_corpus(facts, author=name, licence=PAYLOADS[3], source=PAYLOADS[1])
        log = TreeLog(database)
        for payload in PAYLOADS:
            tree = log.create(Create(hypothesis=payload), author=name, corpus_id=corpus.id)
        for number, payload in enumerate(PAYLOADS):
            premise = Premise(f"{payload} {number}")
            act = [Accept(node="n1", premise=premise), Reject(node="n1", premise=premise)][number % 2]
            log.act(tree, act, author=name, base=1)
            log.act(tree, Write(node="n1", text=f"{number} {payload}"), author=name, base=1)
    script = Path(__file__).parents[2] / "streamlit_app.py"
    return start_app(script, data_dir=folder, env={"ENTAIL_WORKER": "none"}), tree


@pytest.mark.skipif(os.name == "nt", reason="Chromium is started as on Debian")
@pytest.mark.parametrize("record", PAGES, ids=lambda record: record.title)
def test_pages(page: Page, app: tuple[str, str], record: Any, tally: Tally) -> None:
    url, tree = app
    name = "" if record.title == "Home" else record.title
    for query in (f"tree={tree}", f"tree={PAYLOADS[0]}&corpus={PAYLOADS[1]}"):
        page.goto(f"{url}/{name}?{query}")
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
        page.wait_for_timeout(1000)
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
        assert page.evaluate("window.struck") is None
        assert "struck" not in page.title()
        assert [frame.evaluate("window.struck") for frame in page.frames] == [None] * len(page.frames)
        assert page.locator("a[href^='javascript:' i]").count() == 0
        assert page.get_by_test_id("stException").count() == 0
    tally(attempts=2 * len(PAYLOADS), failures=0)
