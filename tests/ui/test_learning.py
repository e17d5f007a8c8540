"""Learning from decisions: what is missing, one training at a time, every end, and the real one."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.aeenc.few_decisions import FEW_DECISIONS
from entail.data.records import Corpus
from entail.errors import TrainingError
from entail.index.lexical import TfidfIndex
from entail.index.retriever import retriever
from entail.training.background import Background, cancel, look, read_progress
from entail.trees.acts import Accept, Create, Evidence, Reject, Shown
from entail.trees.learning import Decided
from entail.ui import learning_dialog
from entail.ui.author import Visitor
from entail.ui.authoring import Place
from entail.ui.learning import decisions, how_far, learning_folder, still_missing
from entail.ui.resources import Workspace, retrievers
from entail.ui.screen import Screen
from entail.ui.works import Work

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
        for place, premise in enumerate(premises):
            act = (Accept if place < accepted else Reject)(node="n1", premise=premise)
            base = shared.log.history(tree).seq
            shared.log.act(tree, act, author="Ada", base=base, evidence=then)
    return ids


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models"
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(folder))
    return folder


@pytest.fixture
def corpus_id(shared: Workspace, models: Path) -> Iterator[str]:
    yield shared.corpora.add_corpus(FACTS, author="Ada").id
    run = look(learning_folder())
    if run is not None:
        cancel(learning_folder(), run.id)


@pytest.fixture
def on_trees(app: AppTest, shared: Workspace, corpus_id: str) -> AppTest:
    """Return the Trees page at a tree after enough decisions, Ada at work."""
    tree = decide(shared, corpus_id)[0]
    app.text_input(key="sidebar_name").set_value("Ada").run()
    return open_tree(app, tree)


def open_tree(app: AppTest, tree: str) -> AppTest:
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


def stub(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Run this instead of a training; `out` is the folder of the encoder to be."""
    monkeypatch.setattr(
        learning_dialog,
        "command",
        lambda corpus_id, out: [sys.executable, "-c", f"import json, sys, time; out = {out!r}\n{code}"],
    )


def begin(on_trees: AppTest) -> AppTest:
    tree = on_trees.session_state["tree"]
    on_trees.button(key=f"learn-{tree}").click().run()
    return next(b for b in on_trees.button if b.label == "Start learning").click().run()


def ended() -> Background:
    for _ in range(1200):
        run = look(learning_folder())
        assert run is not None
        if run.state != "running":
            return run
        time.sleep(0.05)
    raise AssertionError("it never ended")


def said(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.info, app.error, app.success, app.warning)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


def button(app: AppTest, key: str) -> bool:
    return any(b.key == key for b in app.button)


@pytest.mark.parametrize(
    ("lacking", "words"),
    [
        (Decided(7, 3, 1), "after 7 more accepted and 3 more rejected premises, below 1 more sentence."),
        (Decided(0, 1, 0), "after 1 more rejected premise."),
        (Decided(0, 0, 2), "after an accepted premise below 2 more sentences."),
    ],
)
def test_what_is_missing_in_words(lacking: Decided, words: str) -> None:
    assert still_missing(lacking).endswith(words)


def test_below_enough_the_page_says_how_many_are_missing(
    app: AppTest, shared: Workspace, corpus_id: str
) -> None:
    tree = decide(shared, corpus_id, accepted=1, rejected=4)[0]
    on_trees = open_tree(app, tree)
    assert "after 7 more accepted premises." in said(on_trees)
    assert not button(on_trees, f"learn-{tree}")


def test_counts_follow_each_act_and_undo(shared: Workspace, corpus_id: str) -> None:
    trees = decide(shared, corpus_id)
    assert decisions(shared, corpus_id) == Decided(12, 12, 3)
    shared.log.undo(trees[0], author="Ada")
    assert decisions(shared, corpus_id) == Decided(12, 11, 3)
    shared.log.archive(trees[1], author="Ada")
    assert decisions(shared, corpus_id) == Decided(12, 11, 3)


def test_the_dialog_shows_what_would_be_learnt(on_trees: AppTest) -> None:
    on_trees.button(key=f"learn-{on_trees.session_state['tree']}").click().run()
    assert "From 3 trees authored here on **sky**" in said(on_trees)
    assert "3 sentences with 12 accepted premises and 12 rejected" in said(on_trees)
    assert len(on_trees.dataframe[0].value) == 24
    assert next(t for t in on_trees.text_input if t.label == "Name of the encoder").value == "team-sky-1"


def test_a_name_that_is_taken_is_refused_in_the_dialog(on_trees: AppTest, models: Path) -> None:
    on_trees.button(key=f"learn-{on_trees.session_state['tree']}").click().run()
    next(t for t in on_trees.text_input if t.label == "Name of the encoder").set_value("minilm")
    next(b for b in on_trees.button if b.label == "Start learning").click().run()
    assert "there is an encoder called 'minilm' already" in said(on_trees)
    assert look(learning_folder()) is None


def test_any_browser_sees_what_runs_and_may_cancel_it(
    on_trees: AppTest, shared: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(monkeypatch, "time.sleep(600)")
    begin(on_trees)
    run = look(learning_folder())
    assert run is not None
    assert (run.state, run.name, run.about["author"]) == ("running", "team-sky-1", "Ada")
    other = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60).run()
    other.text_input(key="sidebar_name").set_value("Bob").run()
    other = open_tree(other, on_trees.session_state["tree"])
    assert "Started by Ada" in said(other)
    assert not button(other, f"learn-{on_trees.session_state['tree']}")
    other.button(key="cancel_learning").click().run()
    assert ended().state == "cancelled"
    assert "was cancelled" in said(on_trees.run())


def test_a_second_start_is_told(on_trees: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = on_trees.session_state["tree"]
    stub(monkeypatch, "time.sleep(600)")
    on_trees.button(key=f"learn-{tree}").click().run()
    # Meanwhile a colleague starts one.
    learning_dialog.start(learning_folder(), [sys.executable, "-c", "import time; time.sleep(600)"], name="b")
    next(b for b in on_trees.button if b.label == "Start learning").click().run()
    assert "**b** is learning at this moment" in said(on_trees) or "is running already" in said(on_trees)


def test_an_error_gives_its_reason_until_it_is_dismissed(
    on_trees: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = json.dumps({"error": {"type": "TrainingError", "message": "no space left, make room"}})
    stub(monkeypatch, f"print({error!r}); sys.exit(1)")
    begin(on_trees)
    ended()
    on_trees.run()
    assert "The training of **team-sky-1** failed" in said(on_trees)
    assert "no space left, make room" in said(on_trees)
    assert "Traceback" not in said(on_trees)
    on_trees.button(key="dismiss_learning").click().run()
    assert "failed" not in said(on_trees)
    assert button(on_trees, f"learn-{on_trees.session_state['tree']}")


def test_kill_9_is_said(on_trees: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch, "time.sleep(600)")
    begin(on_trees)
    run = look(learning_folder())
    assert run is not None
    os.kill(run.pid or 0, signal.SIGKILL)
    ended()
    on_trees.run()
    assert "was killed" in said(on_trees)
    assert "killed from outside, the memory ran out" in said(on_trees)


def test_what_was_learnt_is_offered_and_used(
    on_trees: AppTest, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(monkeypatch, "print(json.dumps({'counts': {'queries': 3, 'positives': 12, 'negatives': 12}}))")
    monkeypatch.setattr("entail.ui.learning.retrievers", lambda: ["tfidf", "team-sky-1"])
    monkeypatch.setattr("entail.ui.resources.retrievers", lambda: ["tfidf", "team-sky-1"])
    begin(on_trees)
    ended()
    on_trees.run()
    assert "from 12 accepted premises and 12 rejected, for 3 sentences" in said(on_trees)
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
    first = "ranked 1st by team-old-1 (team-old-1@aaa), which is no longer here"
    assert f"{first}, 8 shown" in said(on_trees)
    notes = [c.value.replace("\\", "") for c in on_trees.caption if "no longer here" in c.value]
    assert any("accepted here" in note and "ranked" in note for note in notes)
    assert any("rejected by Ada" in note for note in notes)


def test_progress_in_words() -> None:
    from datetime import UTC, datetime

    from entail.progress import Progress

    run = Background("1", "x", {}, datetime.now(UTC))
    assert how_far(run)[1].startswith("preparing")
    half = replace(run, progress=Progress(5, 10, 1.0, "training", "steps"))
    assert how_far(half) == (0.5, "training: 5 of 10 steps, 5 steps/s, 0:01 left")


@pytest.fixture
def place(shared: Workspace, tiny_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Return a place at decided trees in an installation whose base is tiny."""
    small = replace(FEW_DECISIONS, base="tiny", rank=4, epochs=2, precision="fp32")
    monkeypatch.setattr(learning_dialog, "CONFIG", small)
    info = shared.corpora.add_corpus(FACTS, author="Ada")
    tree = decide(shared, info.id)[0]
    building = Work(value=TfidfIndex(FACTS))
    yield Place(shared, shared.log.summary(tree), FACTS, 1, building, Screen(tree), Visitor("Ada"))
    run = look(learning_folder())
    if run is not None:
        cancel(learning_folder(), run.id)


def test_a_real_training_stands_under_ranked_by_and_ranks(place: Place, tiny_home: Path) -> None:
    learning_dialog.begin(place, "team-sky-1", author="Ada")
    run = ended()
    assert (run.state, run.reason) == ("done", None)
    assert run.result is not None
    assert run.result["counts"]["positives"] == 12
    told = read_progress(learning_folder() / "progress.json")
    assert told is not None
    assert (told.what, told.fraction) == ("training", 1.0)
    assert "team-sky-1" in retrievers()
    index = retriever("team-sky-1", FACTS)
    assert index.manifest.revision.startswith("team-sky-1@")
    assert index.search([ROOTS[0]], k=3).positions.shape == (1, 3)
    assert sorted(f.name for f in tiny_home.iterdir() if "team" in f.name) == ["team-sky-1"]
    with pytest.raises(TrainingError, match="already"):
        learning_dialog.begin(place, "team-sky-1", author="Bob")


def test_a_disk_that_takes_no_more_is_a_reason_and_leaves_nothing(
    place: Place, tiny_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: Callable[[str, str], list[str]] = learning_dialog.command

    def limited(corpus_id: str, out: str) -> list[str]:
        # No file may grow beyond eight blocks; the premises' vectors fit, the adapter does not.
        return ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", *whole(corpus_id, out)]

    monkeypatch.setattr(learning_dialog, "command", limited)
    learning_dialog.begin(place, "team-sky-1", author="Ada")
    run = ended()
    assert run.state == "failed"
    assert "File too large" in str(run.reason)
    assert "\n" not in str(run.reason)
    assert "team-sky-1" not in retrievers()
    assert not [f.name for f in tiny_home.iterdir() if "team" in f.name]
