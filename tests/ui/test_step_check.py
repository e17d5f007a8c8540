"""Entailment check of a step on the authoring screen, computed behind the page."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.errors import EncoderError
from entail.gausscse.directions import Directions, StepVerdict
from entail.gausscse.verdict import Verdict
from entail.ui.shared.resources import Workspace
from entail.ui.trees.authoring import TreeContext
from entail.ui.trees.step_check import StepCheck, current_check, describe_step
from tests.ui.conftest import accepts, context_of, on_tree, ready, said

START_LOADING = StepCheck.start_loading
CLAIM = "ba be bi bo"


def verdict(**fields: Any) -> Verdict:
    default = Verdict("p", CLAIM, 0.6, 0.4, "entails", 2.0, 0.75, None)
    return replace(default, **fields)


def between(self: Directions, premises: Sequence[str], sentence: str, **_: Any) -> list[Verdict]:
    return [verdict() for _ in premises]


@pytest.fixture
def loading(shared: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load the encoder behind the page, at once."""
    monkeypatch.setattr(StepCheck, "start_loading", START_LOADING)
    monkeypatch.setattr("entail.ui.shared.active.WARM_AFTER", 0)


@pytest.fixture
def context(shared: Workspace) -> TreeContext:
    return context_of(shared, Corpus.of("four", ["ba be bi", "ba be da", "ba du", "bo fa fe"]), CLAIM)


@pytest.mark.usefixtures("tiny_home")
def test_without_an_encoder_there_is_no_check(shared: Workspace) -> None:
    assert current_check() is None


@pytest.mark.usefixtures("loading")
def test_a_verdict_appears_when_ready_and_an_accept_does_not_wait_for_it(
    app: AppTest, context: TreeContext, gaussian: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, log, tree_id = threading.Event(), context.shared.log, context.summary.id

    def slow(self: Directions, premises: Sequence[str], sentence: str, **_: Any) -> list[Verdict]:
        assert self.encoder.name == gaussian
        assert sentence == "another" or go.wait(60)  # the first text only warms up
        return between(self, premises, sentence)

    monkeypatch.setattr(Directions, "between", slow)
    app = on_tree(app, tree_id)
    assert len(accepts(app)) == 4
    assert "Checking entailment" not in said(app), "the node has no premises yet"
    app = accepts(app)[0].click().run()
    assert [event.act.kind for event in log.history(tree_id).events] == ["create", "accept"]
    go.set()
    app = ready(app)
    assert describe_step(StepVerdict(verdict(), 1, 1)).replace("\\", "") in said(app)


@pytest.mark.usefixtures("gaussian", "loading")
def test_a_failed_check_leaves_the_page_and_is_not_repeated(
    app: AppTest, context: TreeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def fail(self: Directions, premises: Sequence[str], sentence: str, **_: Any) -> list[Verdict]:
        if sentence != "another":
            calls.append(sentence)
            raise EncoderError("the weights are broken")
        return between(self, premises, sentence)

    monkeypatch.setattr(Directions, "between", fail)
    app = ready(on_tree(app, context.summary.id))
    app = ready(accepts(app)[0].click().run())
    app = ready(app)
    assert len(accepts(app)) == 3
    assert calls == [CLAIM]


def test_verdicts_in_words() -> None:
    assert describe_step(StepVerdict(verdict(says="neither"), 3, 3)) == "", "a fifth of correct steps are so"
    assert "0 of 3 premises" in describe_step(StepVerdict(verdict(truncated=("first", "second")), 3, 0))
    assert "premises read" not in describe_step(StepVerdict(verdict(), 3, 3))
    both = StepVerdict(verdict(says="both ways"), 3, 3)
    assert "warning" not in describe_step(both)
    backwards = replace(both, verdict=replace(both.verdict, margin=-2.0))
    assert "warning" in describe_step(backwards), "it rather runs the other way"
