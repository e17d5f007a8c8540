"""Learning from decisions: what is missing, the job in the queue, every end, and the real one."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.aeenc.config import FEW_DECISIONS
from entail.data.records import Corpus
from entail.errors import TrainingError
from entail.index.factory import retriever
from entail.index.lexical import TfidfIndex
from entail.jobs.child import Attempt, finish
from entail.jobs.endings import make_outcome
from entail.jobs.folder import JobFolder
from entail.jobs.jobs import Jobs
from entail.jobs.record import Job, Outcome
from entail.jobs.supervision import run_job
from entail.progress import Progress
from entail.trees.log.acts import Accept, Create, Evidence, Reject, Shown
from entail.trees.review.decisions import DecisionCounts
from entail.ui.frame.author import Visitor
from entail.ui.shared.job_list import progress_of
from entail.ui.shared.resources import Workspace, jobs, retrievers
from entail.ui.shared.tasks import Task
from entail.ui.trees import learning as learning_dialog
from entail.ui.trees.authoring import TreeContext
from entail.ui.trees.learning import count_decisions, describe_missing, learning_jobs
from entail.ui.trees.screen import Screen
from tests.ui.conftest import said

ROOT = Path(__file__).parents[2]
SYLLABLES = [a + b for a in "bdfglmnprst" for b in "aeiou"]
FACTS = Corpus.of(
    "sky", [" ".join(row) for row in np.random.default_rng(5).choice(SYLLABLES, size=(40, 5)).tolist()]
)
ROOTS = [f"ba be {word}" for word in ("do du", "fo fu", "go gu")]


def decide(shared: Workspace, corpus_id: str, *, accepted: int = 4, rejected: int = 4) -> list[str]:
    """Let Ada judge for three hypotheses what one encoder, since gone, had ranked."""
    ids = []
    for number, root in enumerate(ROOTS):
        tree = shared.log.create(Create(hypothesis=root), author="Ada", corpus_id=corpus_id)
        ids.append(tree)
        premises = FACTS.premises[number * 10 : number * 10 + accepted + rejected]
        then = Evidence(
            retriever="team-old-1",
            revision="team-old-1@aaa",
            corpus_version=1,
            query=root,
            shown=tuple(Shown(p.key, rank, 0.5) for rank, p in enumerate(premises, start=1)),
        )
        for context, premise in enumerate(premises):
            act = (Accept if context < accepted else Reject)(node="n1", premise=premise)
            base = shared.log.history(tree).seq
            shared.log.act(tree, act, author="Ada", base=base, evidence=then)
    return ids


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models"
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(folder))
    # Nothing trains but where a test says so.
    monkeypatch.setenv("ENTAIL_WORKER", "none")
    return folder


@pytest.fixture
def corpus_id(shared: Workspace, models: Path) -> str:
    return shared.corpora.add_corpus(FACTS, author="Ada").id


@pytest.fixture
def on_trees(app: AppTest, shared: Workspace, corpus_id: str) -> AppTest:
    """Return the Trees page at a tree after enough decisions, Ada at work."""
    tree = decide(shared, corpus_id)[0]
    app.text_input(key="sidebar_name").set_value("Ada").run()
    return show_tree(app, tree)


def show_tree(app: AppTest, tree: str) -> AppTest:
    app.session_state["tree"] = tree
    app.session_state["retriever"] = "tfidf"
    app = app.switch_page("pages/Trees.py").run()
    for _ in range(50):
        if not any("Preparing" in str(bar.proto) for bar in app.get("progress")):
            break
        time.sleep(0.2)
        app = app.run()
    assert not app.exception
    return app


def begin(on_trees: AppTest) -> AppTest:
    tree = on_trees.session_state["tree"]
    on_trees.button(key=f"learn-{tree}").click().run()
    return next(b for b in on_trees.button if b.label == "Start training").click().run()


def newest() -> Job:
    return jobs().jobs()[0]


def end(how: Callable[[JobFolder, int], Outcome], *, progress: Progress | None = None) -> None:
    """Let a worker take the job up, tell how far it is, and end it so."""

    def at_it(job: JobFolder, attempt: int, lock: int, pipe: int) -> Gone:
        if progress:
            job.write_progress(progress)
        job.write_outcome(how(job, attempt))
        return Gone()

    run_job(jobs().folder_of(newest().id), stopping=lambda: False, spawn=at_it)


@dataclass
class Gone:
    """What trains, in this process: it has ended."""

    code: int = 0
    pid: int = 0

    def poll(self) -> int:
        return self.code


def train_here(job: JobFolder, attempt: int, lock: int, pipe: int) -> Gone:
    return Gone(finish(job, Attempt(job.path, attempt).run()))


def bars(app: AppTest) -> list[str]:
    return [str(bar.proto.text).replace("\\", "") for bar in app.get("progress")]


def button(app: AppTest, key: str) -> bool:
    return any(b.key == key for b in app.button)


@pytest.mark.parametrize(
    ("lacking", "words"),
    [
        (
            DecisionCounts(7, 3, 1),
            "needs 7 more accepted and 3 more rejected premises, below 1 more sentence.",
        ),
        (DecisionCounts(0, 1, 0), "needs 1 more rejected premise."),
        (DecisionCounts(0, 0, 2), "needs an accepted premise below 2 more sentences."),
    ],
)
def test_what_is_missing_in_words(lacking: DecisionCounts, words: str) -> None:
    assert describe_missing(lacking).endswith(words)


def test_below_enough_the_page_says_how_many_are_missing(
    app: AppTest, shared: Workspace, corpus_id: str
) -> None:
    tree = decide(shared, corpus_id, accepted=1, rejected=4)[0]
    on_trees = show_tree(app, tree)
    assert "needs 7 more accepted premises." in said(on_trees)
    assert not button(on_trees, f"learn-{tree}")


def test_counts_follow_each_act_and_undo(shared: Workspace, corpus_id: str) -> None:
    trees = decide(shared, corpus_id)
    assert count_decisions(shared, corpus_id) == DecisionCounts(12, 12, 3)
    shared.log.undo(trees[0], author="Ada")
    assert count_decisions(shared, corpus_id) == DecisionCounts(12, 11, 3)
    shared.log.archive(trees[1], author="Ada")
    assert count_decisions(shared, corpus_id) == DecisionCounts(12, 11, 3)


def test_the_dialog_shows_what_would_be_learnt(on_trees: AppTest) -> None:
    on_trees.button(key=f"learn-{on_trees.session_state['tree']}").click().run()
    assert "From 3 trees on **sky**" in said(on_trees)
    assert "3 sentences with 12 accepted premises and 12 rejected" in said(on_trees)
    assert len(on_trees.dataframe[0].value) == 24
    assert next(t for t in on_trees.text_input if t.label == "Name").value == "team-sky-1"


def test_a_name_that_is_taken_is_refused_in_the_dialog(on_trees: AppTest, models: Path) -> None:
    on_trees.button(key=f"learn-{on_trees.session_state['tree']}").click().run()
    next(t for t in on_trees.text_input if t.label == "Name").set_value("minilm")
    next(b for b in on_trees.button if b.label == "Start training").click().run()
    assert "an encoder 'minilm' exists" in said(on_trees)
    assert jobs().jobs() == []


def test_any_browser_sees_what_waits_and_may_cancel_it(on_trees: AppTest, corpus_id: str) -> None:
    begin(on_trees)
    job = newest()
    assert (job.state, job.name, job.spec.by) == ("queued", "team-sky-1", "Ada")
    assert (job.spec.method, job.spec.source["from_log"]) == ("aeenc", corpus_id)
    assert job.spec.config["alpha"] == FEW_DECISIONS.alpha
    other = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60).run()
    other.text_input(key="sidebar_name").set_value("Bob").run()
    other = show_tree(other, on_trees.session_state["tree"])
    assert "Started by Ada" in said(other)
    assert "from the decisions on sky" in said(other)
    assert "No worker is running" in said(other)
    assert bars(other) == ["**team-sky-1** is queued, number 1"]
    assert not button(other, f"learn-{on_trees.session_state['tree']}")
    other.button(key="cancel_learning").click().run()
    assert newest().state == "cancelled"
    on_trees.run()
    assert "**team-sky-1** was cancelled by Bob" in said(on_trees)
    on_trees.button(key="resume_learning").click().run()
    assert newest().state == "queued"
    assert "Started by Ada" in said(on_trees)


def test_progress_is_shown_while_it_learns(on_trees: AppTest) -> None:
    begin(on_trees)
    seen: list[str] = []

    def look(job: JobFolder, attempt: int) -> Outcome:
        seen.extend(bars(on_trees.run()))
        return make_outcome(attempt, "error")

    end(look, progress=Progress(5, 10, 1.0, "training", "steps"))
    assert seen == ["**team-sky-1** is training · training: 5 of 10 steps, 5 steps/s, 0:01 left"]


def test_a_second_start_is_told(on_trees: AppTest, corpus_id: str) -> None:
    tree = on_trees.session_state["tree"]
    on_trees.button(key=f"learn-{tree}").click().run()
    # Meanwhile a colleague starts one.
    jobs().submit("aeenc", {}, {"from_log": corpus_id}, name="b", by="Bob")
    next(b for b in on_trees.button if b.label == "Start training").click().run()
    assert "**b** is already training" in said(on_trees)
    assert len(jobs().jobs()) == 1


def test_trainings_of_others_are_waited_for(on_trees: AppTest) -> None:
    jobs().submit("aeenc", {}, {"from_log": "another"}, name="b", by="Bob")
    on_trees.button(key=f"learn-{on_trees.session_state['tree']}").click().run()
    assert "Queued behind 1 other training." in said(on_trees)
    next(b for b in on_trees.button if b.label == "Start training").click().run()
    assert bars(on_trees) == ["**team-sky-1** is queued, number 2"]


def test_an_end_gives_its_reason_and_what_to_do_until_it_is_dismissed(on_trees: AppTest) -> None:
    begin(on_trees)
    end(lambda job, attempt: make_outcome(attempt, "disk_full", "the disk is full: no <space> left"))
    on_trees.run()
    assert "The training of **team-sky-1** failed" in said(on_trees)
    assert "the disk is full: no <space> left" in said(on_trees)
    assert "**What to do:** free space" in said(on_trees)
    on_trees.button(key="dismiss_learning").click().run()
    assert "failed" not in said(on_trees)
    assert button(on_trees, f"learn-{on_trees.session_state['tree']}")
    # For everybody: a job that was noted is noted.
    assert Jobs().jobs()[0].noted


def test_kill_9_is_said(on_trees: AppTest) -> None:
    begin(on_trees)
    run_job(
        jobs().folder_of(newest().id),
        stopping=lambda: False,
        spawn=lambda job, attempt, lock, pipe: Gone(code=-9),
    )
    on_trees.run()
    assert "**team-sky-1** was interrupted" in said(on_trees)
    assert "killed from outside (signal 9, SIGKILL)" in said(on_trees)
    assert button(on_trees, "resume_learning")


def test_what_was_learnt_is_offered_and_used(
    on_trees: AppTest, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entail.ui.trees.learning.retrievers", lambda: ["tfidf", "team-sky-1"])
    monkeypatch.setattr("entail.ui.trees.ranked_by.retrievers", lambda: ["tfidf", "team-sky-1"])
    begin(on_trees)
    counts = {"counts": {"queries": 3, "positives": 12, "negatives": 12}, "warnings": ["it is *odd*"]}
    end(lambda job, attempt: Outcome(attempt, "done", result=counts))
    on_trees.run()
    assert "12 accepted premises and 12 rejected, for 3 sentences" in said(on_trees)
    assert "it is *odd*" in said(on_trees)
    on_trees.button(key="decline_learnt").click().run()
    assert not button(on_trees, "use_learnt")
    on_trees.session_state["declined_encoders"] = set()
    on_trees.run()
    on_trees.button(key="use_learnt").click().run()
    assert on_trees.session_state["retriever"] == "team-sky-1"
    assert not button(on_trees, "use_learnt")


def test_who_ranked_what_is_judged_is_said_though_it_is_gone(on_trees: AppTest) -> None:
    on_trees.session_state["view"] = "History"
    on_trees.run()
    assert "ranked 1st by team-old-1 (team-old-1@aaa, removed since), 8 shown" in said(on_trees)
    notes = [c.value.replace("\\", "") for c in on_trees.caption if "team" in c.value]
    assert any("accepted here" in note and "Was #1" in note for note in notes)
    assert any("rejected by Ada" in note for note in notes)


@pytest.fixture
def context(shared: Workspace, tiny_home: Path, monkeypatch: pytest.MonkeyPatch) -> TreeContext:
    """Return a context at decided trees in an installation whose base is tiny.

    Where nobody starts a worker.
    """
    small = replace(FEW_DECISIONS, base="tiny", rank=4, epochs=2, precision="fp32")
    monkeypatch.setattr(learning_dialog, "CONFIG", small)
    monkeypatch.setenv("ENTAIL_WORKER", "none")
    info = shared.corpora.add_corpus(FACTS, author="Ada")
    tree = decide(shared, info.id)[0]
    building = Task(value=TfidfIndex(FACTS))
    return TreeContext(shared, shared.log.summary(tree), FACTS, 1, building, Screen(tree), Visitor("Ada"))


def test_a_real_training_stands_under_ranked_by_and_ranks(context: TreeContext, tiny_home: Path) -> None:
    job = learning_dialog.start_learning(context, "team-sky-1", author="Ada")
    assert job.spec.about == "the decisions on sky"
    assert progress_of(job) == (0.0, "preparing, 1 s")
    run_job(jobs().folder_of(job.id), stopping=lambda: False, spawn=train_here)
    (done,) = learning_jobs(context.summary.corpus_id)
    assert (done.state, done.status.what) == ("done", None)
    assert done.result is not None
    assert done.result["counts"]["positives"] == 12
    assert "team-sky-1" in retrievers()
    index = retriever("team-sky-1", FACTS)
    assert index.manifest.revision.startswith("team-sky-1@")
    assert index.search([ROOTS[0]], k=3).positions.shape == (1, 3)
    assert sorted(f.name for f in tiny_home.iterdir() if "team" in f.name) == ["team-sky-1"]
    with pytest.raises(TrainingError, match="already"):
        learning_dialog.start_learning(context, "team-sky-1", author="Bob")
