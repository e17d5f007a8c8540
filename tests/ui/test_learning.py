"""Training from decisions: what is missing, the job in the queue, each end of it, and a real training."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.aeenc.config import decisions_config
from entail.data.records import Corpus
from entail.errors import TrainingError
from entail.index.factory import retriever
from entail.jobs.child import Attempt, finish
from entail.jobs.folder import JobFolder
from entail.jobs.record import Job, Outcome
from entail.jobs.worker import run_job
from entail.registry.models import promote
from entail.trees.log.acts import Accept, Create, Evidence, Reject, ShownCandidate
from entail.ui.shared.resources import Workspace, jobs, retrievers
from entail.ui.trees import learning
from entail.ui.trees.page import open_tree
from tests.ui.conftest import ROOT, buttons, by, named, on_tree, said

SYLLABLES = [a + b for a in "bdfglmnprst" for b in "aeiou"]
FACTS = Corpus.of(
    "sky", [" ".join(row) for row in np.random.default_rng(5).choice(SYLLABLES, size=(40, 5)).tolist()]
)
ROOTS = [f"ba be {word}" for word in ("do du", "fo fu", "go gu")]


def decide(shared: Workspace, corpus_id: str, *, accepted: int = 4, rejected: int = 4) -> list[str]:
    """Let Ada judge for three hypotheses the ranking of an encoder that was removed since."""
    ids = []
    for number, root in enumerate(ROOTS):
        tree = shared.log.create(Create(hypothesis=root), author="Ada", corpus_id=corpus_id)
        ids.append(tree)
        premises = FACTS.premises[number * 10 : number * 10 + accepted + rejected]
        ranking = Evidence(
            retriever="team-old-1",
            revision="team-old-1@aaa",
            corpus_version=1,
            query=root,
            shown=tuple(ShownCandidate(p.key, rank, 0.5) for rank, p in enumerate(premises, start=1)),
        )
        for at, premise in enumerate(premises):
            act = (Accept if at < accepted else Reject)(node="n1", premise=premise)
            shared.log.act(tree, act, author="Ada", base=at + 1, evidence=ranking)
    return ids


@pytest.fixture
def corpus_id(shared: Workspace, models: Path) -> str:
    return shared.corpora.add_corpus(FACTS, author="Ada").id


@pytest.fixture
def on_trees(app: AppTest, shared: Workspace, corpus_id: str) -> AppTest:
    """Return the Trees page at a tree after enough decisions, Ada at work."""
    return on_tree(app, decide(shared, corpus_id)[0])


def open_dialog(app: AppTest) -> AppTest:
    return buttons(app, "learn-")[0].click().run()


def start(app: AppTest) -> AppTest:
    return named(app.button, "Start training").click().run()


def newest() -> Job:
    return jobs().jobs()[0]


@dataclass
class Ended:
    """A training process that has ended."""

    code: int = 0
    pid: int = 0

    def poll(self) -> int:
        return self.code


def end(how: Callable[[JobFolder, int], Outcome]) -> None:
    """Let a worker take the job and end it."""

    def spawn(job: JobFolder, attempt: int, lock: int, pipe: int) -> Ended:
        job.write_outcome(how(job, attempt))
        return Ended()

    run_job(jobs().folder_of(newest().id), stopping=lambda: False, spawn=spawn)


def test_the_page_says_how_many_decisions_are_missing(
    app: AppTest, shared: Workspace, corpus_id: str
) -> None:
    app = on_tree(app, decide(shared, corpus_id, accepted=1, rejected=4)[0])
    assert "needs 7 more accepted premises." in said(app)
    assert not buttons(app, "learn-")


def test_the_dialog_shows_the_data_and_refuses_a_taken_name(on_trees: AppTest) -> None:
    app = open_dialog(on_trees)
    assert "3 sentences with 12 accepted premises and 12 rejected" in said(app)
    assert len(app.dataframe[0].value) == 24
    field = named(app.text_input, "Name")
    assert field.value == "team-sky-1"
    field.set_value("minilm")
    assert "an encoder 'minilm' exists" in said(start(app))
    assert jobs().jobs() == []


def test_others_see_a_queued_training(on_trees: AppTest, corpus_id: str) -> None:
    start(open_dialog(on_trees))
    job = newest()
    assert (job.state, job.name, job.spec.by) == ("queued", "team-sky-1", "Ada")
    assert (job.spec.method, job.spec.source["from_log"]) == ("aeenc", corpus_id)
    assert job.spec.config["complete"]
    other = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60).run()
    by(other, "Bob")
    other.session_state["tree"], other.session_state["retriever"] = on_trees.session_state["tree"], "tfidf"
    other = other.switch_page("pages/Trees.py").run()
    assert "No worker is running" in said(other)
    (bar,) = other.get("progress")
    assert "queued, number 1" in bar.proto.text
    assert not buttons(other, "learn-")
    jobs().cancel(job.id, by="Bob")
    on_trees.run()
    assert "**team-sky-1**: cancelled" in said(on_trees)
    assert buttons(on_trees, "learn-")


def test_a_second_training_is_refused(on_trees: AppTest, corpus_id: str) -> None:
    app = open_dialog(on_trees)
    jobs().submit("aeenc", {}, {"from_log": corpus_id}, name="b", by="Bob")  # meanwhile
    assert "**b** is already training" in said(start(app))
    assert len(jobs().jobs()) == 1


def test_a_trained_encoder_is_offered_and_used(on_trees: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("learning", "models", "candidates"):
        monkeypatch.setattr(f"entail.ui.trees.{module}.retrievers", lambda: ["tfidf", "team-sky-1"])
    start(open_dialog(on_trees))
    end(lambda job, attempt: Outcome(attempt, "done", result={"counts": {}}))
    on_trees.run()
    on_trees.button(key="use_learnt").click().run()
    assert on_trees.session_state["retriever"] == "team-sky-1"
    assert not buttons(on_trees, "use_learnt")


@pytest.mark.parametrize("towers", ["single", "dual"])
def test_training_goes_on_from_the_adapter_that_ranks_the_corpus(
    trained: Callable[..., Path], tiny_home: Path, monkeypatch: pytest.MonkeyPatch, towers: str
) -> None:
    monkeypatch.setattr(learning, "decisions_config", partial(decisions_config, base="tiny"))
    trained("mine", towers=towers)
    assert learning.learning_config("sky").initial == "", "a whole model ranks it"
    promote("mine", by="Ann", corpus="sky", anyway=True)
    config = learning.learning_config("sky")
    assert (config.initial, config.base, config.towers) == ("mine", "tiny", "single")
    assert learning.learning_config("sea").initial == ""


def test_a_real_training_ranks(shared: Workspace, tiny_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = partial(decisions_config, base="tiny", rank=4, epochs=1, precision="fp32")
    monkeypatch.setattr(learning, "decisions_config", small)
    monkeypatch.setenv("ENTAIL_WORKER", "none")
    info = shared.corpora.add_corpus(FACTS, author="Ada")
    tree = decide(shared, info.id)[0]
    context = open_tree(shared, tree, "tfidf")
    job = learning.start_learning(context, "team-sky-1", author="Ada")
    run_job(
        jobs().folder_of(job.id),
        stopping=lambda: False,
        spawn=lambda job, attempt, lock, pipe: Ended(finish(job, Attempt(job.path, attempt).run())),
    )
    (done,) = learning.learning_jobs(info.id)
    assert (done.state, done.status.what) == ("done", None)
    assert done.result is not None
    assert done.result["counts"]["positives"] == 12
    assert "team-sky-1" in retrievers()
    index = retriever("team-sky-1", FACTS)
    assert index.manifest.revision.startswith("team-sky-1@")
    assert index.search([ROOTS[0]], k=3).positions.shape == (1, 3)
    with pytest.raises(TrainingError, match="already"):
        learning.start_learning(context, "team-sky-1", author="Bob")
