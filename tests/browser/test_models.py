"""An encoder of a team's own, from its decisions to what everybody's candidates are ranked by, and back."""

import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from entail.data.records import Corpus, Premise
from entail.jobs.jobs import Jobs
from entail.registry.models import active, promote
from entail.trees.log.acts import Accept, Create, Reject
from entail.trees.log.event_log import TreeLog
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database
from tests.browser.steps import pick, say_name

ROOT = Path(__file__).parents[2]
SLOW = 120_000
"""Milliseconds that a training is given on a busy machine; it takes a few seconds on one that is not."""

pytestmark = pytest.mark.browser


@pytest.fixture
def installation(
    tiny_models: Path, tmp_path: Path, grove: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    """An installation whose one base is tiny, with four trees that Ann judged; nobody trains at its end."""
    models = tmp_path / "models"
    shutil.copytree(tiny_models / "tiny", models / "tiny")
    env = {
        "ENTAIL_DATA_DIR": str(tmp_path / "data"),
        "ENTAIL_MODELS_DIR": str(models),
        "ENTAIL_DEVICE": "cpu",
        "OMP_NUM_THREADS": "1",
    }
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    database = open_database()
    corpus = CorpusStore(database).add_corpus(Corpus.of("ours", grove["facts"]), author="Ann")
    log = TreeLog(database)
    rows = grove["rows"][:4]
    for row, other in zip(rows, [*rows[1:], rows[0]], strict=True):
        tree = log.create(Create(hypothesis=row["hypothesis"]), author="Ann", corpus_id=corpus.id)
        for act in (
            Accept(node="n1", premise=Premise(row["meta"]["triples"]["sent1"])),
            Accept(node="n1", premise=Premise(row["meta"]["triples"]["sent2"])),
            Reject(node="n1", premise=Premise(other["meta"]["triples"]["sent3"])),
        ):
            log.act(tree, act, author="Ann", base=log.history(tree).seq)
    database.close()
    promote("tiny", by="Ann", anyway=True)
    yield env
    jobs = Jobs()
    for job in jobs.jobs():
        jobs.cancel(job.id, by="the test")
    for worker in jobs.workers():
        if worker.alive:
            os.kill(worker.pid, signal.SIGTERM)


def ranking(page: Page) -> Locator:
    """Return the control that names the retriever in use."""
    return page.locator(".st-key-ranking button").first


def candidates(page: Page) -> Locator:
    return page.locator('[class*="st-key-row-"]')


def fill(page: Page, field: str, value: str) -> None:
    number = page.get_by_role("spinbutton", name=field, exact=True)
    number.fill(value)
    number.press("Enter")


def test_from_decisions_to_what_ranks_and_back(
    page: Page, browser: Browser, start_app: Any, installation: dict[str, str]
) -> None:
    url = start_app(
        ROOT / "streamlit_app.py", data_dir=Path(installation["ENTAIL_DATA_DIR"]), env=installation
    )
    log = TreeLog(open_database())
    tree = next(tree.id for tree in log.trees() if not tree.example)

    # A colleague looks at a tree all the while.
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(SLOW)
    colleague = context.new_page()
    colleague.goto(f"{url}/Trees?tree={tree}")
    expect(candidates(colleague)).to_have_count(10)
    expect(ranking(colleague)).to_contain_text("tiny")
    before = candidates(colleague).all_inner_texts()

    # Ada sets a training up from what was decided, and starts it.
    page.goto(f"{url}/Models?models_view=Training")
    say_name(page, "Ada")
    expect(page.get_by_text("8 accepted and 4 rejected premises")).to_be_visible()
    pick(page, "Base", "tiny")
    fill(page, "Learning rate", "0.01")
    fill(page, "Epochs", "1500")  # about ten seconds: long enough to be seen
    page.get_by_role("button", name="Preview data").click()
    expect(page.get_by_test_id("stMetricValue").first).to_be_visible()
    page.get_by_role("button", name="Start training").click()
    expect(page).to_have_url(re.compile(r"job=\d{8}-\d{6}-[0-9a-f]{6}"))
    address = page.url

    # She watches it, closes the tab, and comes back by its address.
    expect(page.get_by_text(re.compile(r"training: [\d,]+ of 1,500 steps"))).to_be_visible(timeout=SLOW)
    expect(page.get_by_test_id("stVegaLiteChart").first).to_be_visible()
    page.close()
    page = page.context.new_page()
    page.goto(address)
    expect(page.get_by_role("heading", name="team-ours-1")).to_be_visible()
    expect(page.get_by_text("is trained")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("Active triplets (share)").first).to_be_visible()
    (job,) = Jobs().jobs()
    assert (job.state, job.spec.by, job.spec.about) == ("done", "Ada", "the decisions on ours")

    # From there to its promotion, for this corpus.
    page.get_by_role("button", name="Compare and promote").click()
    expect(page).not_to_have_url(re.compile("job="))
    pick(page, "Promote for", re.compile("^ours"))
    anyway = page.get_by_text("Promote anyway")
    expect(anyway).to_be_visible()
    anyway.click()
    page.get_by_role("button", name="Promote team-ours-1 for ours").click()
    expect(page.get_by_role("button", name="Restore tiny")).to_be_visible()
    assert active("ours").encoder == "team-ours-1"

    # The colleague's page follows by itself, and says who ranked what is accepted.
    expect(ranking(colleague)).to_contain_text("team-ours-1")
    expect(candidates(colleague)).to_have_count(10)
    assert candidates(colleague).all_inner_texts() != before
    say_name(colleague, "Bo")
    seq = log.history(tree).seq
    colleague.locator('[class*="st-key-accept-"] button:not([disabled])').first.click()
    expect(colleague.get_by_text(re.compile(rf"version {seq + 1}, saved"))).to_be_visible()
    assert log.evidence(tree)[seq + 1].revision.startswith(active("ours").revision)

    # One click back, for everybody.
    page.get_by_role("button", name="Restore tiny").click()
    expect(page.get_by_role("button", name="Restore tiny")).to_have_count(0)
    assert active("ours").encoder == "tiny"
    expect(ranking(colleague)).to_contain_text("tiny")
    context.close()
