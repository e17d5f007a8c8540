"""Entailment check of a step on the authoring screen, computed behind the page."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.errors import EncoderError
from entail.judge.steps import StepVerdict
from entail.memory import CACHE
from entail.trees.log.acts import Write
from entail.ui.shared.resources import Workspace
from entail.ui.trees.models import current_check, describe_step, explain_step
from entail.ui.trees.page import TreePage
from tests.ui.conftest import accepts, on_tree, page_of, ready, said

CLAIM = "ba be bi bo"


@pytest.fixture
def context(shared: Workspace) -> TreePage:
    return page_of(shared, Corpus.of("four", ["ba be bi", "ba be da", "ba du", "bo fa fe"]), CLAIM)


HOLDS, FAILS = StepVerdict(0.95, "holds"), StepVerdict(0.1, "not yet", missing=("bo",), idle=(0,))


class Verifier:
    """A check that says of each step what a function says."""

    def __init__(self, verdict: Callable[..., StepVerdict]) -> None:
        self.verdict = verdict

    def check(self, steps: Sequence[tuple[Sequence[str], str]]) -> list[StepVerdict]:
        return [self.verdict(*step) for step in steps]


@pytest.fixture
def verifier(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes a check of steps available to the app."""
    CACHE.entries.clear()

    def put(verdict: Callable[..., StepVerdict]) -> None:
        monkeypatch.setattr("entail.ui.trees.models.list_verifiers", lambda: ["mine"])
        monkeypatch.setattr("entail.ui.trees.models.load_verifier", lambda name: Verifier(verdict))

    return put


def test_a_verdict_appears_when_ready_and_an_accept_does_not_wait_for_it(
    app: AppTest, context: TreePage, verifier: Any
) -> None:
    go, log, tree_id = threading.Event(), context.shared.log, context.summary.id
    read = []

    def slow(premises: Sequence[str], conclusion: str) -> StepVerdict:
        assert go.wait(60)
        read.append((premises, conclusion))
        return FAILS

    verifier(slow)
    app = on_tree(app, tree_id)
    assert len(accepts(app)) == 4
    assert "Checking the step" not in said(app), "the node has no premises yet"
    app = accepts(app)[0].click().run()
    assert [event.act.kind for event in log.history(tree_id).events] == ["create", "accept"]
    go.set()
    app = ready(app)
    assert describe_step(FAILS) in said(app)
    assert all(line in said(app) for line in explain_step(FAILS, ["ba be bi"]))
    check = current_check()
    assert check is not None
    tasks = check.start_all(log.history(tree_id).tree)
    assert {id: task.value for id, task in tasks.items()} == {"n1": FAILS}
    assert read == [(("ba be bi",), CLAIM)]


def test_a_failed_check_leaves_the_page_and_is_not_repeated(
    app: AppTest, context: TreePage, verifier: Any
) -> None:
    calls = []

    def fail(premises: Sequence[str], conclusion: str) -> StepVerdict:
        calls.append(conclusion)
        raise EncoderError("the weights are broken")

    verifier(fail)
    app = ready(on_tree(app, context.summary.id))
    app = ready(accepts(app)[0].click().run())
    app = ready(app)
    assert "the weights are broken" in said(app)
    assert len(accepts(app)) == 3
    assert calls == [CLAIM]


def test_all_steps_are_listed_the_least_supported_first(
    app: AppTest, context: TreePage, verifier: Any
) -> None:
    log, tree_id = context.shared.log, context.summary.id
    log.act(tree_id, Write(node="n1", text="du fa"), author="Ada", base=1)
    log.act(tree_id, Write(node="n2", text="fo fu"), author="Ada", base=2)
    verifier(lambda premises, conclusion: HOLDS if conclusion == CLAIM else FAILS)
    app = on_tree(app, tree_id)
    app = ready(app.segmented_control(key="view").set_value("Steps").run())
    steps = [button for button in app.button if str(button.key).startswith("step-")]
    assert [button.label for button in steps] == ["du fa", CLAIM]
    app = ready(steps[0].click().run())
    assert "# du fa" in said(app)
