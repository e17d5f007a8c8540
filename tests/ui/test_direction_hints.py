"""Entailment hints on the authoring screen: computed behind the page, filtered and sorted by."""

import json
import re
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus, Premise
from entail.errors import EncoderError
from entail.gausscse.directions import Directions, StepVerdict
from entail.gausscse.verdict import Says, Verdict
from entail.operations.tasks import CACHE
from entail.trees.log.acts import Accept, Create, Finish
from entail.ui.shared.resources import Workspace
from entail.ui.trees import direction_hints
from entail.ui.trees.authoring import TreeContext, load_session
from entail.ui.trees.direction_hints import (
    DirectionHints,
    current_hints,
    describe_step,
    describe_truncation,
    describe_verdict,
)
from tests.ui.conftest import buttons, context_of, on_tree, press, ready, said

START_LOADING = DirectionHints.start_loading
CLAIM = "ba be bi bo"
SAYS: dict[str, tuple[Says, float]] = {
    "ba be bi": ("neither", 0.1),
    "ba be da": ("entails", 2.0),
    "ba du": ("is entailed by", -3.0),
    "bo fa fe": ("entails", 5.0),
}
WORDS = {"entails": "entails it", "is entailed by": "follows from it", "neither": "no entailment"}


def verdict(premise: str, sentence: str = CLAIM) -> Verdict:
    says, margin = SAYS.get(premise, ("neither", 0.0))
    return Verdict(premise, sentence, 0.5 + margin / 20, 0.5 - margin / 20, says, margin, 0.75, None)


def between(self: Directions, premises: Sequence[str], sentence: str, **_: Any) -> list[Verdict]:
    return [verdict(premise, sentence) for premise in premises]


@pytest.fixture
def fake_arrows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge entailment as `SAYS` has it, and wait for it."""
    monkeypatch.setattr(Directions, "between", between)
    monkeypatch.setattr(direction_hints, "WAIT", 30)


@pytest.fixture
def loading(shared: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load the encoder behind the page, at once."""
    monkeypatch.setattr(DirectionHints, "start_loading", START_LOADING)
    monkeypatch.setattr("entail.ui.shared.active.WARM_AFTER", 0)


def hints(only: Any = "all", order: Any = "rank", *, is_loaded: bool = True) -> DirectionHints:
    """Return hints whose encoder is in memory, or is loading for ever."""
    found = DirectionHints("mine", "mine@1", only, order)
    arrows = Directions.__new__(Directions)
    arrows.encoder = SimpleNamespace(revision="mine@1")  # type: ignore[assignment]  # a stand-in
    make: Callable[[Any], Any] = (lambda _: arrows) if is_loaded else (lambda _: threading.Event().wait())
    CACHE.tasks.clear()
    DirectionHints.models.get_or_start(found.key, make, wait=10 if is_loaded else 0)
    return found


@pytest.fixture
def context(shared: Workspace) -> TreeContext:
    return context_of(shared, Corpus.of("four", list(SAYS)), CLAIM)


def texts(context: TreeContext) -> list[str]:
    return [candidate.premise.text for candidate in load_session(context).shown]


@pytest.mark.usefixtures("fake_arrows")
def test_candidates_are_filtered_and_sorted_and_keys_mean_what_is_shown(context: TreeContext) -> None:
    ranked = texts(context)
    assert set(ranked) == set(SAYS)
    assert texts(replace(context, hints=hints("entails"))) == [t for t in ranked if SAYS[t][0] == "entails"]
    clearest = replace(context, hints=hints("entails", "margin"))
    session = load_session(clearest)
    assert (texts(clearest), session.list_length) == (["bo fa fe", "ba be da"], 2)
    press(clearest, "1")
    log, tree_id = context.shared.log, context.summary.id
    accepted = log.history(tree_id).events[-1].act
    assert isinstance(accepted, Accept)
    assert accepted.premise.text == "bo fa fe"
    (evidence,) = log.evidence(tree_id).values()  # with the retriever's ranks
    assert [shown.rank for shown in evidence.shown] == [ranked.index(t) + 1 for t in ("bo fa fe", "ba be da")]
    press(clearest, "f")
    finished = log.history(tree_id).events[-1].act
    assert isinstance(finished, Finish)
    assert [premise.text for premise in finished.premises] == ["ba be da"]


@pytest.mark.usefixtures("fake_arrows")
def test_another_list_begins_at_its_first_page(context: TreeContext) -> None:
    assert hints().is_plain
    for changed in (hints(order="margin"), hints()):
        context.screen.page = context.screen.furthest = 1
        load_session(context)
        assert context.screen.furthest == 1
        context = replace(context, hints=changed)
        load_session(context)
        assert (context.screen.page, context.screen.furthest) == (0, 0)


def test_nothing_is_shown_or_rejected_while_the_encoder_loads(context: TreeContext) -> None:
    waiting = replace(context, hints=hints("entails", is_loaded=False))
    session = load_session(waiting)
    assert (session.shown, session.candidates, session.list_length) == ((), (), None)
    assert {candidate.premise.text for candidate in session.pool} == set(SAYS)
    press(waiting, "f")
    assert len(context.shared.log.history(context.summary.id).events) == 1


@pytest.mark.usefixtures("fake_arrows")
def test_a_failed_check_leaves_the_list_and_is_not_repeated(
    context: TreeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def fail(*args: object, **options: object) -> None:
        calls.append(args)
        raise EncoderError("the weights are broken")

    monkeypatch.setattr(Directions, "between", fail)
    broken = replace(context, hints=hints("entails"))
    assert [texts(broken) for _ in range(3)] == [texts(context)] * 3
    assert len(calls) == 1


@pytest.mark.usefixtures("tiny_home")
def test_without_an_encoder_there_are_no_hints(app: AppTest, context: TreeContext) -> None:
    app = on_tree(app, context.summary.id)
    assert current_hints() is None
    assert not [field.key for field in app.selectbox if str(field.key).startswith("arrows")]


@pytest.mark.usefixtures("fake_arrows", "gaussian", "loading")
def test_a_list_computed_while_the_page_is_drawn_is_drawn_again(
    app: AppTest, context: TreeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrange, early = DirectionHints.arrange, [True]

    def late(self: DirectionHints, sentence: str, pool: Sequence[Any]) -> Any:
        found = arrange(self, sentence, pool)
        return None if early and early.pop() else found

    app = ready(on_tree(app, context.summary.id))
    monkeypatch.setattr(DirectionHints, "arrange", late)
    app = app.selectbox(key="arrows_order").set_value("margin").run()
    assert not early
    assert len(buttons(app, "accept-")) == 4


@pytest.mark.usefixtures("loading")
def test_hints_appear_when_ready_and_an_accept_does_not_wait_for_them(
    app: AppTest, context: TreeContext, gaussian: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, log, tree_id = threading.Event(), context.shared.log, context.summary.id

    def slow(self: Directions, premises: Sequence[str], sentence: str, **_: Any) -> list[Verdict]:
        assert self.encoder.name == gaussian
        assert sentence == "another" or go.wait(60)  # the first text only warms up
        return between(self, premises, sentence)

    monkeypatch.setattr(Directions, "between", slow)
    monkeypatch.setattr(direction_hints, "WAIT", 0.01)
    ranked = texts(context)
    app = on_tree(app, tree_id)
    assert len(buttons(app, "accept-")) == 4
    assert "Checking entailment" in said(app)
    app = buttons(app, "accept-")[0].click().run()
    assert [event.act.kind for event in log.history(tree_id).events] == ["create", "accept"]
    go.set()
    app = ready(app)
    notes = [str(caption.value) for caption in app.caption if "rank " in str(caption.value)]
    for text, note in zip(ranked, notes, strict=True):
        assert f"{WORDS[SAYS[text][0]]} (75% confidence)" in note.replace("\\", "")
    accepted = log.history(tree_id).tree.nodes["n2"].text
    assert describe_step(verdict(accepted)).replace("\\", "") in said(app)
    app = ready(app.selectbox(key="arrows_only").set_value("entails"))
    assert "1 to 2 of 2" in said(app)
    app = ready(app.selectbox(key="arrows_order").set_value("margin"))
    assert next(str(c.value) for c in app.caption if "rank " in str(c.value)).startswith("rank 3")
    monkeypatch.setattr(Directions, "between", lambda self, premises, sentence: [verdict("")] * len(premises))
    app.session_state["tree"] = app.query_params["tree"] = log.create(
        Create(hypothesis="fa fe"), author="Ada", corpus_id=context.summary.corpus_id
    )
    app = ready(app)
    assert buttons(app, "accept-") == []
    assert "No match among the top 50" in said(app)


@pytest.mark.usefixtures("gaussian", "loading")
def test_truncation_of_steps_and_candidates_is_shown(app: AppTest, shared: Workspace) -> None:
    context = context_of(shared, Corpus.of("two", ["ba be", "ba be " * 200]), CLAIM)
    log, tree_id = shared.log, context.summary.id
    premises = [f"ba {a}{b} {c}{d}" for a in "bdf" for b in "aei" for c in "lm" for d in "aei"]
    for base, text in enumerate(premises[:31], start=1):
        log.act(tree_id, Accept(node="n1", premise=Premise(text)), author="Ada", base=base)
    app = ready(on_tree(app, tree_id))
    found = re.search(r"(\d+) of (\d+) premises read in full", said(app))
    assert found is not None
    assert 0 < int(found[1]) < int(found[2])
    assert said(app).count("candidate truncated") == 1


def test_verdicts_in_words() -> None:
    long = replace(verdict("p"), truncated=("first", "second"))
    assert "0 of 3 premises" in describe_truncation(StepVerdict(long, 3, 0))
    assert describe_truncation(StepVerdict(verdict("p"), 3, 3)) == ""
    assert "truncated" not in describe_verdict(verdict("p"))
    assert "sentence truncated" in describe_verdict(replace(long, truncated=("second",)))
    both = replace(verdict("ba be da"), says="both ways")
    assert "warning" not in describe_step(both)
    assert "warning" in describe_step(replace(both, margin=-2.0)), "it rather runs the other way"


@pytest.mark.usefixtures("loading")
def test_an_encoder_is_chosen_remembered_and_may_be_removed(
    app: AppTest, context: TreeContext, gaussian: str, tiny_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: set[str] = set()

    def named(self: Directions, premises: Sequence[str], sentence: str, **_: Any) -> list[Verdict]:
        used.add(self.encoder.name)
        return between(self, premises, sentence)

    monkeypatch.setattr(Directions, "between", named)
    app = on_tree(app, context.summary.id)
    assert not [field for field in app.selectbox if field.key == "arrows_by"], "of one there is no choice"
    rival = shutil.copytree(tiny_home / gaussian, tiny_home / "rival")
    about = json.loads((rival / "entail.json").read_text(encoding="utf-8"))
    about["gaussian"]["threshold"] = 0.25
    (rival / "entail.json").write_text(json.dumps(about), encoding="utf-8")
    app = ready(app)
    field = app.selectbox(key="arrows_by")
    assert (field.value, field.options, used) == (gaussian, [gaussian, "rival"], {gaussian})
    app = ready(field.set_value("rival"))
    assert used == {gaussian, "rival"}
    app = ready(app.switch_page("pages/Corpora.py").run().switch_page("pages/Trees.py"))
    assert app.selectbox(key="arrows_by").value == "rival"
    shutil.rmtree(rival)
    app = ready(app)
    assert f"By {gaussian}." in said(app)
    assert "arrows_by" not in app.session_state
