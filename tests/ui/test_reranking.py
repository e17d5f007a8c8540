"""The list of candidates, re-ranked where its author wants that."""

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
from entail.ui.trees.models import RERANKS_KEY
from entail.ui.trees.page import TreePage
from tests.ui.conftest import accepts, on_tree, page_of, press, redrawn, settled

CLAIM = "ba be bi bo"
TEXTS = [f"{CLAIM} {word}" for word in ("fa", "fe", "fi fo", "fu ga ge", "gi go gu la")]
TEXTS += [f"ba {word}" for word in ("ma", "me", "mi", "mo", "mu", "na", "ne", "ni", "no", "nu")]


class Reversing:
    """A re-ranker that turns the first candidates round."""

    name, revision, form = "reader", "reader@1", SimpleNamespace(weight=10.0, depth=12)

    def __init__(self) -> None:
        self.read: list[str] = []

    def score(self, query: str, premises: list[str]) -> Any:
        self.read.append(query)
        return np.arange(len(premises), dtype=np.float32)


@pytest.fixture
def context(shared: Workspace) -> TreePage:
    return page_of(shared, Corpus.of("many", TEXTS), CLAIM)


def texts(context: TreePage) -> list[str]:
    return [candidate.premise.text for candidate in redrawn(context).shown]


def test_keys_and_evidence_mean_the_re_ranked_list(
    context: TreePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reversing()
    monkeypatch.setattr("entail.ui.trees.models.load_reranker", lambda *_: reader)
    retrieved = texts(context)
    context.screen.turn(1)
    twelve = [*retrieved, *texts(context)][:12]
    context.screen.turn(-1)
    ranked = replace(context, reranker=("reader", "reader@1"))
    assert texts(ranked) == twelve[::-1][:10]
    assert ranked.screen.furthest == 0  # the author has not seen the second page of this list
    press(ranked, "1")
    log, tree_id = context.shared.log, context.summary.id
    accepted = log.history(tree_id).events[-1].act
    assert isinstance(accepted, Accept)
    assert accepted.premise.text == twelve[-1]
    (evidence,) = log.evidence(tree_id).values()
    assert evidence.retriever.endswith("+reader")
    assert "reader@1" in evidence.revision
    press(ranked, "f")
    finished = log.history(tree_id).events[-1].act
    assert isinstance(finished, Finish)
    assert [premise.text for premise in finished.premises] == twelve[::-1][1:10]
    assert reader.read == [CLAIM], "a list is read once"


def test_the_page_re_ranks_by_a_real_reranker(
    app: AppTest, context: TreePage, write_reranker: Callable[..., Path]
) -> None:
    write_reranker("reader", depth=12)
    with CACHE.lock:
        CACHE.tasks.clear()
    app = on_tree(app, context.summary.id)
    retrieved = [button.key for button in accepts(app)]
    app = settled(app.toggle(key=RERANKS_KEY).set_value(True).run())
    assert [button.key for button in accepts(app)] != retrieved
