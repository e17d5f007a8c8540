"""Entailment check of a step on the authoring screen, computed behind the page."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.errors import EncoderError
from entail.statistics.classification import Values
from entail.trees.log.acts import Write
from entail.ui.shared.resources import Workspace
from entail.ui.trees.models import current_check, describe_step
from entail.ui.trees.page import TreePage
from tests.ui.conftest import accepts, on_tree, page_of, ready, said

CLAIM = "ba be bi bo"


@pytest.fixture
def context(shared: Workspace) -> TreePage:
    return page_of(shared, Corpus.of("four", ["ba be bi", "ba be da", "ba du", "bo fa fe"]), CLAIM)


class Judge:
    """A judge that gives each pair what a function says."""

    def __init__(self, probability: Any) -> None:
        self.probability = probability

    def entailment(self, premises: Sequence[str], hypotheses: Sequence[str], **_: Any) -> Values:
        pairs = zip(premises, hypotheses, strict=True)
        return np.array([self.probability(p, h) for p, h in pairs])


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes a judge available to the app."""

    def put(probability: Any) -> None:
        monkeypatch.setattr("entail.ui.trees.models.list_judges", lambda: ["mine"])
        monkeypatch.setattr("entail.ui.trees.models.load_judge", lambda name: Judge(probability))

    return put


def test_a_verdict_appears_when_ready_and_an_accept_does_not_wait_for_it(
    app: AppTest, context: TreePage, judge: Any
) -> None:
    go, log, tree_id = threading.Event(), context.shared.log, context.summary.id
    read = []

    def slow(premises: str, conclusion: str) -> float:
        assert go.wait(60)
        read.append((premises, conclusion))
        return 0.75

    judge(slow)
    app = on_tree(app, tree_id)
    assert len(accepts(app)) == 4
    assert "Checking entailment" not in said(app), "the node has no premises yet"
    app = accepts(app)[0].click().run()
    assert [event.act.kind for event in log.history(tree_id).events] == ["create", "accept"]
    go.set()
    app = ready(app)
    assert describe_step(0.75) in said(app)
    check = current_check()
    assert check is not None
    verdicts = check.recall(log.history(tree_id).tree)  # for the graph: only what is in memory
    assert set(verdicts) == {"n1"}
    assert verdicts["n1"] == describe_step(0.75)
    assert read == [("ba be bi", CLAIM)]


def test_a_failed_check_leaves_the_page_and_is_not_repeated(
    app: AppTest, context: TreePage, judge: Any
) -> None:
    calls = []

    def fail(premises: str, conclusion: str) -> float:
        calls.append(conclusion)
        raise EncoderError("the weights are broken")

    judge(fail)
    app = ready(on_tree(app, context.summary.id))
    app = ready(accepts(app)[0].click().run())
    app = ready(app)
    assert "the weights are broken" in said(app)
    assert len(accepts(app)) == 3
    assert calls == [CLAIM]


def test_all_steps_are_listed_the_least_supported_first(app: AppTest, context: TreePage, judge: Any) -> None:
    log, tree_id = context.shared.log, context.summary.id
    log.act(tree_id, Write(node="n1", text="du fa"), author="Ada", base=1)
    log.act(tree_id, Write(node="n2", text="fo fu"), author="Ada", base=2)
    judge(lambda premises, conclusion: 0.75 if conclusion == CLAIM else 0.25)
    app = on_tree(app, tree_id)
    app = ready(app.segmented_control(key="view").set_value("Steps").run())
    steps = [button for button in app.button if str(button.key).startswith("step-")]
    assert [button.label for button in steps] == ["du fa", CLAIM]
    app = ready(steps[0].click().run())
    assert "# du fa" in said(app)


def test_a_step_holds_from_one_half() -> None:
    assert describe_step(0.5).startswith("Supported")
    assert describe_step(0.49).startswith("Not yet")
