"""Arrows on the authoring screen: told behind the page, picked and sorted by, never in an author's way."""

import json
import re
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus, Premise
from entail.errors import EncoderError
from entail.gausscse.arrows import Arrows, StepVerdict
from entail.gausscse.verdict import Says, Verdict
from entail.index.lexical import TfidfIndex
from entail.trees.log.acts import Accept, Create, Finish
from entail.trees.review.suggestions import suggest
from entail.ui.components.keyboard import KeyPress
from entail.ui.frame.author import Visitor
from entail.ui.shared.resources import Workspace
from entail.ui.shared.tasks import Task, task_cache
from entail.ui.trees import direction_hints as direction_arrows
from entail.ui.trees.authoring import TreeContext, handle_key, load_session, stamp
from entail.ui.trees.direction_hints import LOADING, DirectionHints, HintFilter
from entail.ui.trees.direction_panel import describe_step, describe_truncation, describe_verdict
from entail.ui.trees.screen import Screen
from tests.ui.conftest import said, settled

BEGIN = DirectionHints.start_loading
CLAIM = "ba be bi bo"
SAYS: dict[str, tuple[Says, float]] = {
    "ba be bi": ("neither", 0.1),
    "ba be da": ("entails", 2.0),
    "ba du": ("is entailed by", -3.0),
    "bo fa fe": ("entails", 5.0),
}
WORDS = {"entails": "entails it", "is entailed by": "follows from it", "neither": "no entailment"}


def told(premise: str, sentence: str) -> Verdict:
    says, margin = SAYS.get(premise, ("neither", 0.0))
    return Verdict(premise, sentence, 0.5 + margin / 20, 0.5 - margin / 20, says, margin, 0.75, None)


@pytest.fixture
def arrows_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let arrows be as `SAYS` has them."""

    def between(self: Arrows, premises: Sequence[str], sentence: str, **_: Any) -> list[Verdict]:
        return [told(premise, sentence) for premise in premises]

    monkeypatch.setattr(Arrows, "between", between)


@pytest.fixture
def tree(shared: Workspace) -> str:
    info = shared.corpora.add_corpus(Corpus.of("four", list(SAYS)), author="Ada")
    return shared.log.create(Create(hypothesis=CLAIM), author="Ada", corpus_id=info.id)


def hints(asked: HintFilter, *, is_loaded: bool = True) -> DirectionHints:
    """Return what tells arrows, its encoder in memory or in the making for ever."""
    found = DirectionHints("mine", "mine@1", asked)
    held = Arrows.__new__(Arrows)
    held.encoder = SimpleNamespace(revision="mine@1")  # type: ignore[assignment]  # all that is asked of it
    waits = threading.Event()
    made = (lambda report: held) if is_loaded else (lambda report: waits.wait())
    task_cache.clear()
    LOADING.get_or_start(found._key, made, wait=10 if is_loaded else 0)
    return found


@pytest.fixture
def context(shared: Workspace, tree: str) -> TreeContext:
    corpus = Corpus.of("four", list(SAYS))
    building = Task(value=TfidfIndex(corpus))
    return TreeContext(shared, shared.log.summary(tree), corpus, 1, building, Screen(tree), Visitor("Ada"))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for arrows as long as it takes."""
    monkeypatch.setattr(direction_arrows, "WAIT", 30)


def texts(context: TreeContext) -> list[str]:
    return [candidate.premise.text for candidate in load_session(context).shown]


@pytest.mark.usefixtures("arrows_by_hand", "patient")
def test_candidates_are_picked_and_sorted_and_keys_mean_what_is_shown(context: TreeContext) -> None:
    ranked = texts(context)
    assert set(ranked) == set(SAYS)
    entailing = replace(context, hints=hints(HintFilter(only="entails")))
    assert texts(entailing) == [text for text in ranked if SAYS[text][0] == "entails"]
    assert load_session(entailing).offered == 2
    surest = replace(context, hints=hints(HintFilter(only="entails", order="margin")))
    session = load_session(surest)
    assert texts(surest) == ["bo fa fe", "ba be da"]
    handle_key(surest, KeyPress("1", 1, stamp(session)))
    history = context.shared.log.history(context.summary.id)
    act = history.events[-1].act
    assert isinstance(act, Accept)
    assert act.premise.text == "bo fa fe"
    # What was shown, at the places of the list that it was picked from.
    (evidence,) = context.shared.log.evidence(context.summary.id).values()
    assert [shown.rank for shown in evidence.shown] == [ranked.index(t) + 1 for t in ("bo fa fe", "ba be da")]
    handle_key(surest, KeyPress("f", 2, stamp(load_session(surest))))
    act = context.shared.log.history(context.summary.id).events[-1].act
    assert isinstance(act, Finish)
    assert [premise.text for premise in act.premises] == ["ba be da"], "what was not shown is not rejected"


@pytest.mark.usefixtures("arrows_by_hand", "patient")
def test_another_list_begins_at_its_first_page(context: TreeContext) -> None:
    load_session(context)
    context.screen.page = context.screen.furthest = 1
    assert load_session(context).screen.furthest == 1
    load_session(replace(context, hints=hints(HintFilter(order="margin"))))
    assert (context.screen.page, context.screen.furthest) == (0, 0)
    context.screen.page = context.screen.furthest = 1
    load_session(replace(context, hints=hints(HintFilter(order="margin"))))
    assert context.screen.furthest == 1
    load_session(replace(context, hints=hints(HintFilter())))
    assert context.screen.furthest == 0


def test_nothing_is_shown_or_rejected_until_it_is_known_what(context: TreeContext) -> None:
    waiting = replace(context, hints=hints(HintFilter(only="entails"), is_loaded=False))
    session = load_session(waiting)
    assert (session.shown, session.looked_at, session.offered) == ((), (), None)
    assert {candidate.premise.text for candidate in session.pool} == set(SAYS)
    handle_key(waiting, KeyPress("f", 1, stamp(session)))
    assert len(context.shared.log.history(context.summary.id).events) == 1


@pytest.mark.usefixtures("patient")
def test_where_arrows_cannot_be_told_the_list_is_the_retrievers(
    context: TreeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    def fail(*args: object, **options: object) -> None:
        nonlocal asked
        asked += 1
        raise EncoderError("the weights are broken")

    monkeypatch.setattr(Arrows, "between", fail)
    broken = replace(context, hints=hints(HintFilter(only="entails")))
    for _ in range(3):
        assert texts(broken) == texts(context)
    assert asked == 1, "who failed is not asked at every run"


def test_without_an_encoder_nothing_is_shown_and_nothing_loaded(
    app: AppTest, tiny_home: object, tree: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[DirectionHints] = []
    monkeypatch.setattr(DirectionHints, "start_loading", begun.append)
    app = on_tree(app, tree)
    assert direction_arrows.current_hints() is None
    assert begun == []
    assert not [field.key for field in app.selectbox if str(field.key).startswith("arrows")]
    assert "entails it" not in said(app)


def on_tree(app: AppTest, tree: str) -> AppTest:
    app.text_input(key="sidebar_name").set_value("Ada").run()
    app.session_state["tree"] = tree
    app.session_state["retriever"] = "tfidf"
    return settled(app.switch_page("pages/Trees.py").run())


def accept_keys(app: AppTest) -> list[str]:
    return [str(button.key) for button in app.button if str(button.key).startswith("accept-")]


@pytest.mark.usefixtures("arrows_by_hand")
def test_a_list_that_is_told_while_the_page_is_drawn_is_drawn_again(
    app: AppTest, tree: str, gaussian: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, early = DirectionHints.arrange, [True]

    def listed(self: DirectionHints, sentence: str, pool: Sequence[Any]) -> Any:
        found = real(self, sentence, pool)
        return None if early and early.pop() else found

    monkeypatch.setattr(DirectionHints, "start_loading", BEGIN)
    monkeypatch.setattr(direction_arrows, "WARM_AFTER", 0)
    monkeypatch.setattr(direction_arrows, "WAIT", 30)
    app = shown_when_told(on_tree(app, tree))
    monkeypatch.setattr(DirectionHints, "arrange", listed)
    app = app.selectbox(key="arrows_order").set_value("margin").run()
    assert not early
    assert len(accept_keys(app)) == 4


def shown_when_told(app: AppTest) -> AppTest:
    """Run the page again until all arrows are told, as the page itself does in a browser."""
    for _ in range(300):
        app = app.run()
        assert not app.exception
        if "Checking entailment" not in said(app):
            return app
        time.sleep(0.05)
    raise AssertionError("arrows are still told")


def test_arrows_come_when_they_are_told_and_an_accept_does_not_wait_for_them(
    app: AppTest, shared: Workspace, tree: str, gaussian: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    def between(self: Arrows, premises: Sequence[str], sentence: str, **_: Any) -> list[Verdict]:
        assert self.encoder.name == gaussian
        if sentence != "another":  # which is asked first, to warm up
            assert go.wait(60)
        return [told(premise, sentence) for premise in premises]

    monkeypatch.setattr(Arrows, "between", between)
    monkeypatch.setattr(DirectionHints, "start_loading", BEGIN)
    monkeypatch.setattr(direction_arrows, "WARM_AFTER", 0)
    monkeypatch.setattr(direction_arrows, "WAIT", 0.01)
    app = on_tree(app, tree)
    assert len(accept_keys(app)) == 4
    assert "Checking entailment" in said(app)
    corpus = Corpus.of("four", list(SAYS))
    found = suggest(shared.log.history(tree).tree, "n1", corpus, TfidfIndex(corpus), k=10)
    ranked = [candidate.premise.text for candidate in found]
    first = accept_keys(app)[0]
    app = app.button(key=first).click().run()
    assert not go.is_set()
    log = shared.log.history(tree)
    assert [event.act.kind for event in log.events] == ["create", "accept"]
    go.set()
    app = shown_when_told(app)
    notes = [str(caption.value) for caption in app.caption if "rank " in str(caption.value)]
    assert len(notes) == 4
    for text, note in zip(ranked, notes, strict=True):
        says, _ = SAYS[text]
        assert f"{WORDS[says]} (75% confidence)" in note.replace("\\", "")
    accepted = log.tree.nodes["n2"].text
    assert describe_step(told(accepted, CLAIM)).replace("\\", "") in said(app)
    app = shown_when_told(app.selectbox(key="arrows_only").set_value("entails"))
    assert len(accept_keys(app)) == 2
    assert "1 to 2 of 2" in said(app)
    app = shown_when_told(app.selectbox(key="arrows_order").set_value("margin"))
    assert next(str(c.value) for c in app.caption if "rank " in str(c.value)).startswith("rank 3")
    bare = shared.log.create(
        Create(hypothesis="fa fe"), author="Ada", corpus_id=shared.log.summary(tree).corpus_id
    )
    monkeypatch.setattr(Arrows, "between", lambda self, premises, sentence: [told("", "")] * len(premises))
    app.session_state["tree"] = bare
    app.query_params["tree"] = bare
    app = shown_when_told(app)
    assert accept_keys(app) == []
    assert "No match among the top 50" in said(app)


def test_what_of_a_step_and_of_a_candidate_was_not_read_is_said(
    app: AppTest, shared: Workspace, gaussian: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DirectionHints, "start_loading", BEGIN)
    monkeypatch.setattr(direction_arrows, "WARM_AFTER", 0)
    info = shared.corpora.add_corpus(Corpus.of("two", ["ba be", "ba be " * 200]), author="Ada")
    long = shared.log.create(Create(hypothesis=CLAIM), author="Ada", corpus_id=info.id)
    premises = [f"ba {a}{b} {c}{d}" for a in "bdf" for b in "aei" for c in "lm" for d in "aei"]
    for base, text in enumerate([*premises[:30], CLAIM + " da"], start=1):
        shared.log.act(long, Accept(node="n1", premise=Premise(text)), author="Ada", base=base)
    app = shown_when_told(on_tree(app, long))
    told = said(app)
    found = re.search(r"(\d+) of (\d+) premises read in full", told)
    assert found is not None
    assert 0 < int(found[1]) < int(found[2])
    assert told.count("candidate truncated") == 1
    short = shared.log.create(Create(hypothesis=CLAIM), author="Ada", corpus_id=info.id)
    shared.log.act(short, Accept(node="n1", premise=Premise("ba be da")), author="Ada", base=1)
    app.session_state["tree"] = short
    app.query_params["tree"] = short
    told = said(shown_when_told(app))
    assert re.search("Supported by|Reversed|Equivalent|Not yet supported", told), "the step is checked"
    assert "read in full" not in told


def test_what_was_not_read_in_words() -> None:
    long = replace(told("p", CLAIM), truncated=("first", "second"))
    words = describe_truncation(StepVerdict(long, 3, 0))
    assert "0 of 3 premises" in words
    assert describe_truncation(StepVerdict(told("p", CLAIM), 3, 3)) == ""
    assert "truncated" not in describe_verdict(told("p", CLAIM))
    assert "truncated" in describe_verdict(long)
    assert "sentence truncated" in describe_verdict(replace(long, truncated=("second",)))


def test_of_several_encoders_one_is_picked_and_remembered_and_may_go(
    app: AppTest, tree: str, gaussian: str, tiny_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told_by: list[str] = []

    def between(self: Arrows, premises: Sequence[str], sentence: str, **_: Any) -> list[Verdict]:
        told_by.append(self.encoder.name)
        return [told(premise, sentence) for premise in premises]

    monkeypatch.setattr(Arrows, "between", between)
    monkeypatch.setattr(DirectionHints, "start_loading", BEGIN)
    monkeypatch.setattr(direction_arrows, "WARM_AFTER", 0)
    app = on_tree(app, tree)
    assert not [field for field in app.selectbox if field.key == "arrows_by"], "of one there is no choice"
    rival = shutil.copytree(tiny_home / gaussian, tiny_home / "rival")
    about = json.loads((rival / "entail.json").read_text(encoding="utf-8"))
    about["gaussian"]["threshold"] = 0.25
    (rival / "entail.json").write_text(json.dumps(about), encoding="utf-8")
    app = shown_when_told(app)
    field = app.selectbox(key="arrows_by")
    assert (field.value, field.options) == (gaussian, [gaussian, "rival"])
    assert set(told_by) == {gaussian}
    app = shown_when_told(field.set_value("rival"))
    assert set(told_by) == {gaussian, "rival"}
    assert "By rival." in said(app)
    # It stays, also where the page was left.
    app = app.switch_page("pages/Corpora.py").run()
    app = shown_when_told(app.switch_page("pages/Trees.py"))
    assert app.selectbox(key="arrows_by").value == "rival"
    shutil.rmtree(rival)
    app = shown_when_told(app)
    assert f"By {gaussian}." in said(app)
    assert "arrows_by" not in app.session_state


def test_another_encoder_is_another_list_only_where_it_picks() -> None:
    assert HintFilter(by="other").is_plain
    assert not HintFilter(only="entails", by="other").is_plain
    assert str(HintFilter(order="margin", by="other")) != str(HintFilter(order="margin", by="mine"))


def test_a_step_that_rather_runs_the_other_way_is_warned_of() -> None:
    rather = replace(told("ba be da", CLAIM), says="both ways")
    assert "75%" in describe_step(rather)
    assert "warning" not in describe_step(rather)
    assert "warning" in describe_step(replace(rather, margin=-2.0))
