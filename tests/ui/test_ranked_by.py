"""Ranking on the Trees page: the active retriever or one chosen by hand, and the re-ranker."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.encoders.catalogue import resolve
from entail.index.factory import retriever
from entail.index.protocol import PremiseIndex
from entail.memory import CACHE
from entail.registry.models import promote, roll_back
from entail.runtime.tasks import Task
from entail.trees.log.acts import Accept, Create, Finish
from entail.ui.components.inbox import listen
from entail.ui.shared.resources import Workspace
from entail.ui.trees.models import (
    ACTIVE,
    RERANKS_KEY,
    RETRIEVER_KEY,
    Ranking,
    ranking_of,
    selected_retriever,
)
from entail.ui.trees.page import TreePage
from tests.ui.conftest import buttons, on_tree, page_of, press, redrawn, said, settled


def candidates(app: AppTest) -> list[str]:
    return [str(button.key) for button in buttons(app, "accept-")]


def active_label(app: AppTest) -> str:
    return str(app.selectbox(key="retriever").options[0])


def choose(app: AppTest, retriever: str) -> AppTest:
    return settled(app.selectbox(key="retriever").set_value(retriever).run())


def promote_mine() -> None:
    promote("mine", by="Bo", corpus="grove", anyway=True)


@pytest.fixture
def tree(shared: Workspace, trained: Callable[..., Path], grove: dict[str, Any]) -> str:
    """Return a tree over the grove, for which `tiny` is active; `mine` has the same premise vectors."""
    trained("mine")
    info = shared.corpora.add_corpus(Corpus.of("grove", grove["facts"]), author="Ada")
    promote("tiny", by="Ann", corpus="grove", anyway=True)
    hypothesis = grove["rows"][0]["hypothesis"]
    return shared.log.create(Create(hypothesis=hypothesis), author="Ada", corpus_id=info.id)


@pytest.fixture
def active_tree(app: AppTest, tree: str) -> AppTest:
    app.session_state["shared_words"] = False
    return on_tree(app, tree, retriever=ACTIVE)


def test_an_index_that_is_built_while_the_page_is_drawn_ranks(
    app: AppTest, shared: Workspace, tree: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task: Task[PremiseIndex] = Task()
    index = retriever("bm25", shared.corpora.corpus(shared.log.summary(tree).corpus_id or ""))

    def build(**options: Any) -> None:  # after the page has looked for the index
        task.value = index
        task.done.set()
        listen(**options)

    monkeypatch.setattr(Ranking, "get_or_start", lambda *_: task)
    monkeypatch.setattr("entail.ui.trees.page.listen", build)
    app.session_state[RETRIEVER_KEY] = ACTIVE
    app.session_state["tree"] = tree
    assert candidates(app.switch_page("pages/Trees.py").run())


def test_the_active_encoder_ranks_and_is_logged(active_tree: AppTest, shared: Workspace, tree: str) -> None:
    assert (active_tree.selectbox(key="retriever").value, active_label(active_tree)) == (
        ACTIVE,
        "Active: tiny",
    )
    before = candidates(active_tree)
    app = settled(active_tree.button(key=before[0]).click().run())
    promote_mine()
    app = settled(app.run())
    assert active_label(app) == "Active: mine"
    assert candidates(app) != before
    settled(next(b for b in buttons(app, "accept-") if not b.disabled).click().run())
    revisions = [evidence.revision for evidence in shared.log.evidence(tree).values()]
    assert revisions == [resolve("tiny").revision, resolve("mine").revision]
    roll_back("grove", by="Bo")
    assert active_label(settled(app.run())) == "Active: tiny"


def test_a_choice_by_hand_stays(active_tree: AppTest) -> None:
    app = choose(active_tree, "tfidf")
    by_hand = candidates(app)
    promote_mine()
    app = settled(app.run())
    assert (app.selectbox(key="retriever").value, active_label(app)) == ("tfidf", "Active: mine")
    assert candidates(app) == by_hand
    app = settled(app.switch_page("pages/Corpora.py").run().switch_page("pages/Trees.py").run())
    assert app.selectbox(key="retriever").value == "tfidf"
    assert candidates(choose(app, ACTIVE)) != by_hand


def test_an_active_encoder_that_is_gone_is_an_error(
    active_tree: AppTest, tiny_home: Path, tmp_path: Path
) -> None:
    promote_mine()
    shutil.rmtree(tiny_home / "mine")
    app = settled(active_tree.run())
    assert "'mine' is not available" in said(app)
    assert not candidates(app)
    app = choose(app, "tfidf")
    assert candidates(app)
    (tmp_path / "data" / "active.json").write_text("{", encoding="utf-8")
    app = settled(app.run())
    assert active_label(app) == "Active: unknown"
    assert candidates(app)
    assert choose(app, ACTIVE).error


@pytest.mark.usefixtures("tree")
def test_a_promotion_outdates_what_follows_it() -> None:
    rankings = [ranking_of(ACTIVE, "grove"), ranking_of("tfidf", "grove"), ranking_of(ACTIVE, None)]
    assert not rankings[0].is_outdated
    promote_mine()
    assert [ranking.is_outdated for ranking in rankings] == [True, False, False]


@pytest.mark.usefixtures("app")
def test_a_removed_choice_gives_way_to_the_active_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(st.session_state, "retriever", "team-gone-1")  # type: ignore[arg-type]  # a mapping too
    assert selected_retriever() == ACTIVE


def test_keyword_match_is_combined_with_an_encoder(
    active_tree: AppTest, shared: Workspace, tree: str
) -> None:
    app = settled(active_tree.toggle(key="shared_words").set_value(True).run())
    app = settled(buttons(app, "accept-")[0].click().run())
    (evidence,) = shared.log.evidence(tree).values()
    assert evidence.retriever == "tiny+bm25"
    assert evidence.revision.startswith(f"{resolve('tiny').revision}+0.1*bm25")
    promote_mine()
    app = settled(app.run())
    assert app.toggle(key="shared_words").value
    assert candidates(app)
    app = choose(app, "tfidf")
    assert not [widget for widget in app.toggle if widget.key == "shared_words"]
    assert choose(app, "mine").toggle(key="shared_words").value


CLAIM = "ba be bi bo"
TEXTS = [f"{CLAIM} {word}" for word in ("fa", "fe", "fi fo", "fu ga ge", "gi go gu la")]
TEXTS += [f"ba {word}" for word in ("ma", "me", "mi", "mo", "mu", "na", "ne", "ni", "no", "nu")]


@pytest.fixture
def claim_page(shared: Workspace) -> TreePage:
    return page_of(shared, Corpus.of("many", TEXTS), CLAIM)


def texts(page: TreePage) -> list[str]:
    return [candidate.premise.text for candidate in redrawn(page).shown]


def test_keys_and_evidence_mean_the_re_ranked_list(
    claim_page: TreePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def score(query: str, premises: list[str]) -> Any:
        """Turn the first candidates round."""
        read.append(query)
        return np.arange(len(premises), dtype=np.float32)

    form = SimpleNamespace(weight=10.0, depth=12)
    reader = SimpleNamespace(name="reader", revision="reader@1", form=form, score=score)
    monkeypatch.setattr("entail.ui.trees.models.load_reranker", lambda *_: reader)
    retrieved = texts(claim_page)
    claim_page.screen.turn(1)
    twelve = [*retrieved, *texts(claim_page)][:12]
    claim_page.screen.turn(-1)
    ranked = replace(claim_page, reranker=("reader", "reader@1"))
    assert texts(ranked) == twelve[::-1][:10]
    assert ranked.screen.furthest == 0  # the author has not seen the second page of this list
    press(ranked, "1")
    log, tree_id = claim_page.shared.log, claim_page.summary.id
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
    assert read == [CLAIM], "a list is read once"


def test_the_page_re_ranks_by_a_real_reranker(
    app: AppTest, claim_page: TreePage, write_reranker: Callable[..., Path]
) -> None:
    write_reranker("reader", depth=12)
    with CACHE.lock:
        CACHE.entries.clear()
    app = on_tree(app, claim_page.summary.id)
    retrieved = candidates(app)
    assert candidates(settled(app.toggle(key=RERANKS_KEY).set_value(True).run())) != retrieved
