"""Hostile text in trees, projects, corpora and names on every page, in a real Chromium: text stays text."""

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from entail.data.records import Corpus, Premise
from entail.teams.comments import Anchor, Comments
from entail.teams.curation import Curation
from entail.teams.projects import Plan, Projects
from entail.teams.versions import Versions
from entail.teams.work import Work
from entail.trees.log.acts import Accept, Create, Reject, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database
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


NAME = "<img src=x onerror=window.struck=1>"
ANNOTATORS = ("![a picture](http://stranger.invalid/a.png)", "<b onmouseover=window.struck=1>b</b>")


def found_team(database: Database, log: TreeLog, tree: str) -> str:
    """Make a project with an agreed tree, comments and named versions; return its id."""
    projects, work, comments = Projects(database), Work(database), Comments(database)
    project = projects.create(PAYLOADS[5], author=NAME, plan=Plan(overlap=2)).id
    projects.add_hypotheses(project, PAYLOADS, actor=NAME)
    for _ in range(2):
        projects.write_guidelines(project, "\n\n".join(PAYLOADS), actor=NAME)
    for member in ANNOTATORS:
        projects.set_member(project, member, "annotator", actor=NAME)
        piece = work.next_piece(project, actor=member)
        assert piece is not None
        for payload in PAYLOADS:
            act = Write(node="n1", text=f"{payload} of {member}")
            log.viewed_by(member).act(str(piece.tree_id), act, author=member, base=1)
        work.move(piece.id, "submit", actor=member)
    Curation(database, log).begin(piece.id, actor=NAME)
    second = work.next_piece(project, actor=ANNOTATORS[0])
    assert second is not None
    work.move(second.id, "submit", actor=ANNOTATORS[0])
    work.move(second.id, "send back", actor=NAME, reason=PAYLOADS[1])
    for tree_id in (tree, str(piece.tree_id)):
        for payload in PAYLOADS:
            comments.add(tree_id, f"@{NAME} {payload}", actor=NAME, anchor=Anchor("node", "n2"))
    for payload in PAYLOADS:
        Versions(database, log).name(tree, payload[:100], seq=2, actor=NAME)
    return project


@pytest.fixture(scope="module")
def app(start_app: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:  # noqa: F811 - a fixture
    """Run an app whose every text is hostile; return its address and the ids of a tree and a project."""
    folder = tmp_path_factory.mktemp("hostile")
    with closing(open_database(f"sqlite:///{folder / 'entail.db'}")) as database:
        facts = Corpus.of(PAYLOADS[1], PAYLOADS)
        corpus = CorpusStore(database).add_corpus(facts, author=NAME, licence=PAYLOADS[3], source=PAYLOADS[1])
        log = TreeLog(database)
        for payload in PAYLOADS:
            tree = log.create(Create(hypothesis=payload), author=NAME, corpus_id=corpus.id)
        for number, payload in enumerate(PAYLOADS):
            premise = Premise(f"{payload} {number}")
            act = [Accept(node="n1", premise=premise), Reject(node="n1", premise=premise)][number % 2]
            log.act(tree, act, author=NAME, base=1)
            log.act(tree, Write(node="n1", text=f"{number} {payload}"), author=NAME, base=1)
        project = found_team(database, log, tree)
    script = Path(__file__).parents[2] / "streamlit_app.py"
    return start_app(script, data_dir=folder, env={"ENTAIL_WORKER": "none"}), tree, project


@pytest.mark.skipif(os.name == "nt", reason="Chromium is started as on Debian")
@pytest.mark.parametrize("record", PAGES, ids=lambda record: record.title)
def test_pages(page: Page, app: tuple[str, str, str], record: Any, tally: Tally) -> None:
    url, tree, project = app
    name = "" if record.title == "Home" else record.title
    page.add_init_script(f"localStorage.setItem('entail.author', {json.dumps(NAME)})")
    queries = (f"tree={tree}&project={project}", f"tree={PAYLOADS[0]}&corpus={PAYLOADS[1]}")
    for query in queries:
        page.goto(f"{url}/{name}?{query}")
        look(page)
    page.goto(f"{url}/{name}?{queries[0]}")
    look(page)
    views = page.get_by_test_id("stMain").get_by_role("radio")
    clicked = 0
    while clicked < views.count():  # a view may bring others
        views.nth(clicked).click()
        look(page)
        clicked += 1
    tally(attempts=(3 + clicked) * len(PAYLOADS), failures=0)


def look(page: Page) -> None:
    """Wait until the page is drawn, and check that nothing of it has struck."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.wait_for_timeout(1000)
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    assert page.evaluate("window.struck") is None
    assert "struck" not in page.title()
    assert [frame.evaluate("window.struck") for frame in page.frames] == [None] * len(page.frames)
    assert page.locator("a[href^='javascript:' i]").count() == 0
    assert page.get_by_test_id("stException").count() == 0
