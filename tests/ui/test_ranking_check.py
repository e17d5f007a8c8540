"""Check of the default ranking on one's own judgements."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus, Premise
from entail.index.factory import retriever
from entail.registry.models import active, promote
from entail.runtime.tasks import finish
from entail.trees.log.acts import Accept, Create, Finish
from entail.ui.shared.resources import Workspace
from entail.ui.trees import ranking_check
from entail.ui.trees.ranked_by import ACTIVE
from entail.ui.trees.ranking_check import CHECKS
from tests.ui.conftest import keys, on_tree, said, settled

CLAIM = "ba be bi bo"


@pytest.fixture
def tree(
    shared: Workspace, trained: Callable[..., Path], grove: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> str:
    """Return a tree over a corpus of one's own, of which `mine` ranks the accepted premises first."""
    trained("mine")
    monkeypatch.setattr(ranking_check, "SHIPPED", "mine")
    promote("tiny", by="Ann", anyway=True)
    corpus = Corpus.of("ours", grove["facts"])
    info = shared.corpora.add_corpus(corpus, author="Ada")
    tree = shared.log.create(Create(hypothesis=CLAIM), author="Ada", corpus_id=info.id)
    for premise in best_of(corpus)[:2]:
        seq = shared.log.history(tree).seq
        shared.log.act(tree, Accept(node="n1", premise=premise), author="Ada", base=seq)
    return tree


def best_of(corpus: Corpus) -> list[Premise]:
    """Return the premises in the order of what `mine` says beyond `tiny`."""
    first, second = (retriever(f"{name}+bm25", corpus).scores([CLAIM])[0] for name in ("tiny", "mine"))
    gain = first.argsort().argsort() - second.argsort().argsort()
    return [corpus.premises[position] for position in gain.argsort()]


def judge(shared: Workspace, tree: str) -> None:
    """Reject enough premises for a check."""
    history = shared.log.history(tree)
    worst = tuple(best_of(shared.corpora.corpus(shared.log.summary(tree).corpus_id or ""))[:-19:-1])
    shared.log.act(tree, Finish(node="n1", premises=worst), author="Ada", base=history.seq)


def test_the_check_waits_for_judgements_and_its_winner_becomes_the_corpus_default(
    app: AppTest, shared: Workspace, tree: str
) -> None:
    app = on_tree(app, tree, retriever=ACTIVE)
    assert "check_ranking" not in keys(app)
    assert "2 so far" in said(app)
    judge(shared, tree)
    app = settled(app.run())
    app.button(key="check_ranking").click().run()
    (task,) = CHECKS.tasks().values()
    finish(task)
    app = settled(app.run())
    assert "check_ranking" not in keys(app)
    app = settled(app.button(key="use_checked").click().run())
    now = active("ours")
    assert (now.encoder, now.pointer is not None and now.pointer.by) == ("mine", "Ada")
    assert not {"check_ranking", "use_checked"} & keys(app)


def test_a_corpus_with_a_choice_of_its_own_is_not_asked_about(
    app: AppTest, tree: str, shared: Workspace
) -> None:
    judge(shared, tree)
    promote("tiny", by="Ann", corpus="ours", anyway=True)
    app = on_tree(app, tree, retriever=ACTIVE)
    assert "check_ranking" not in keys(app)
