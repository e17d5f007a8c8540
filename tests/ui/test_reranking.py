"""The list of candidates, re-ranked behind the page."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.runtime.tasks import CACHE
from entail.trees.log.acts import Accept, Finish
from entail.ui.shared.resources import Workspace
from entail.ui.trees import models
from entail.ui.trees.models import RERANKS_KEY, ListReranker
from entail.ui.trees.page import TreePage
from tests.ui.conftest import accepts, on_tree, page_of, press, ready, redrawn

CLAIM = "ba be bi bo"
TEXTS = [f"{CLAIM} {word}" for word in ("fa", "fe", "fi fo", "fu ga ge", "gi go gu la")]
TEXTS += [f"ba {word}" for word in ("ma", "me", "mi", "mo", "mu", "na", "ne", "ni", "no", "nu")]


class Reversing:
    """A re-ranker that turns the first candidates round."""

    def __init__(self, depth: int = 12) -> None:
        self.form = SimpleNamespace(weight=10.0, depth=depth)

    def score(self, query: str, premises: list[str]) -> Any:
        return np.arange(len(premises), dtype=np.float32)


@pytest.fixture
def context(shared: Workspace, monkeypatch: pytest.MonkeyPatch) -> TreePage:
    monkeypatch.setattr(models, "SOON", 30)
    return page_of(shared, Corpus.of("many", TEXTS), CLAIM)


def reader(model: Any = None) -> ListReranker:
    """Return a re-ranker that is in memory, or is loading for ever."""
    reranker = ListReranker("reader", "reader@1")
    with CACHE.lock:
        CACHE.tasks.clear()
    make: Any = (lambda _: model) if model is not None else (lambda _: threading.Event().wait())
    ListReranker.models.get_or_start(reranker.key, make, wait=10 if model is not None else 0)
    return reranker


def texts(context: TreePage) -> list[str]:
    return [candidate.premise.text for candidate in redrawn(context).shown]


def test_the_list_is_shown_as_retrieved_until_it_is_read(
    context: TreePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    retrieved = texts(context)
    monkeypatch.setattr(models, "SOON", 0)
    waiting = redrawn(replace(context, reranker=reader()))
    assert [candidate.premise.text for candidate in waiting.shown] == retrieved
    assert waiting.reading is not None
    assert not waiting.reading().done.is_set()
    assert waiting.evidence is not None
    assert "reader" not in waiting.evidence.retriever


def test_keys_and_evidence_mean_the_re_ranked_list(context: TreePage) -> None:
    retrieved = texts(context)
    context.screen.turn(1)
    twelve = [*retrieved, *texts(context)][:12]
    context.screen.turn(-1)
    ranked = replace(context, reranker=reader(Reversing()))
    assert texts(ranked) == twelve[::-1][:10]
    session = redrawn(ranked)
    assert session.screen.furthest == 0  # the author has not seen the second page of this list
    assert [candidate.retrieved for candidate in session.shown] == list(range(12, 2, -1))
    press(ranked, "1")
    log, tree_id = context.shared.log, context.summary.id
    accepted = log.history(tree_id).events[-1].act
    assert isinstance(accepted, Accept)
    assert accepted.premise.text == twelve[-1]
    (evidence,) = log.evidence(tree_id).values()
    assert evidence.retriever.endswith("+reader")
    assert evidence.revision.endswith("+reader@1")
    assert [(entry.rank, entry.retrieved) for entry in evidence.shown][:2] == [(1, 12), (2, 11)]
    press(ranked, "f")
    finished = log.history(tree_id).events[-1].act
    assert isinstance(finished, Finish)
    assert [premise.text for premise in finished.premises] == twelve[::-1][1:10]


def test_the_page_re_ranks_by_a_real_reranker(
    app: AppTest,
    context: TreePage,
    write_reranker: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_reranker("reader", depth=12)
    monkeypatch.setattr("entail.ui.trees.models.WARM_AFTER", 0)
    with CACHE.lock:
        CACHE.tasks.clear()
    app = on_tree(app, context.summary.id)
    retrieved = [button.key for button in accepts(app)]
    app = ready(app.toggle(key=RERANKS_KEY).set_value(True))
    for _ in range(40):  # it loads behind the page
        if [button.key for button in accepts(app)] != retrieved:
            break
        time.sleep(0.25)
        app = ready(app.run())
    assert not app.exception
    assert [button.key for button in accepts(app)] != retrieved
