"""The Trees page follows what is active, and what was chosen by hand stays."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.encoders.catalogue import resolve
from entail.index.protocol import Manifest
from entail.registry import promote, roll_back
from entail.trees.log.acts import Create
from entail.ui.shared.resources import Workspace
from entail.ui.trees.ranked_by import ACTIVE, ranking_of, selected_retriever
from entail.ui.trees.screen import Screen
from tests.ui.conftest import said, settled


def offered(app: AppTest) -> list[str]:
    return [str(b.key) for b in app.button if str(b.key).startswith("accept-")]


@pytest.fixture
def tree(shared: Workspace, trained: Callable[..., Path], grove: dict[str, Any]) -> str:
    """A tree over the grove, for which `tiny` is active; `mine` stands on its premise vectors."""
    trained("mine")
    info = shared.corpora.add_corpus(Corpus.of("grove", grove["facts"]), author="Ada")
    promote("tiny", by="Ann", corpus="grove", anyway=True)
    hypothesis = grove["rows"][0]["hypothesis"]
    return shared.log.create(Create(hypothesis=hypothesis), author="Ada", corpus_id=info.id)


@pytest.fixture
def on_tree(app: AppTest, tree: str) -> AppTest:
    app.text_input(key="sidebar_name").set_value("Ada").run()
    app.session_state["tree"] = tree
    return settled(app.switch_page("pages/Trees.py").run())


def test_without_a_choice_the_active_encoder_ranks_and_is_logged(
    on_tree: AppTest, shared: Workspace, tree: str
) -> None:
    field = on_tree.selectbox(key="retriever")
    assert (field.value, field.options[0]) == (ACTIVE, "Active: tiny")
    assert "Promoted by Ann" in said(on_tree)
    before = offered(on_tree)
    assert before, said(on_tree)
    app = settled(on_tree.button(key=before[0]).click().run())
    promote("mine", by="Bo", corpus="grove", anyway=True)
    app = settled(app.run())
    assert app.selectbox(key="retriever").options[0] == "Active: mine"
    assert "Promoted by Bo" in said(app)
    assert offered(app) != before
    fresh = next(b for b in app.button if str(b.key).startswith("accept-") and not b.disabled)
    settled(fresh.click().run())
    revisions = [evidence.revision for evidence in shared.log.evidence(tree).values()]
    assert revisions == [resolve("tiny").revision, resolve("mine").revision]


def test_following_keeps_the_place_and_begins_the_other_list_at_its_first(
    on_tree: AppTest, tree: str
) -> None:
    screen: Screen = on_tree.session_state["screens"][tree]
    screen.search("ba be bi")
    screen.turn(1)
    app = settled(on_tree.run())
    assert (screen.page, screen.furthest) == (1, 1)
    app = settled(app.run())
    assert (screen.page, screen.furthest) == (1, 1), "the same list goes on where it was"
    promote("mine", by="Bo", corpus="grove", anyway=True)
    settled(app.run())
    # Finishing rejects all up to `furthest`: nobody has looked at the second page of this list.
    assert (screen.page, screen.furthest, screen.query) == (0, 0, "ba be bi")


def test_a_choice_by_hand_stays_until_active_is_chosen_again(on_tree: AppTest) -> None:
    app = settled(on_tree.selectbox(key="retriever").set_value("tfidf").run())
    by_hand = offered(app)
    promote("mine", by="Bo", corpus="grove", anyway=True)
    app = settled(app.run())
    assert app.selectbox(key="retriever").value == "tfidf"
    assert app.selectbox(key="retriever").options[0] == "Active: mine", "what is active is said all the same"
    assert offered(app) == by_hand
    app = app.switch_page("pages/Corpora.py").run()
    app = settled(app.switch_page("pages/Trees.py").run())
    assert app.selectbox(key="retriever").value == "tfidf"
    app = settled(app.selectbox(key="retriever").set_value(ACTIVE).run())
    assert offered(app) != by_hand


def test_a_roll_back_is_followed_too(on_tree: AppTest) -> None:
    before = offered(on_tree)
    promote("mine", by="Bo", corpus="grove", anyway=True)
    app = settled(on_tree.run())
    assert offered(app) != before
    roll_back("grove", by="Bo")
    app = settled(app.run())
    assert offered(app) == before
    assert "Rolled back to by Bo" in said(app)


def test_what_cannot_rank_is_said_and_another_one_can(
    on_tree: AppTest, tiny_home: Path, tmp_path: Path
) -> None:
    promote("mine", by="Bo", corpus="grove", anyway=True)
    shutil.rmtree(tiny_home / "mine")
    app = settled(on_tree.run())
    assert "'mine' is not available" in said(app)
    assert not offered(app)
    app = settled(app.selectbox(key="retriever").set_value("tfidf").run())
    assert offered(app)
    (tmp_path / "data" / "active.json").write_text("{", encoding="utf-8")
    app = settled(app.run())
    assert app.selectbox(key="retriever").options[0] == "Active: unknown"
    assert offered(app)
    app = settled(app.selectbox(key="retriever").set_value(ACTIVE).run())
    assert "from a backup" in said(app)


def test_another_encoder_under_the_promoted_name_does_not_rank(tree: str, tiny_home: Path) -> None:
    promote("mine", by="Bo", corpus="grove", anyway=True)
    card = tiny_home / "mine" / "adapter_config.json"
    card.write_text(card.read_text("utf-8") + "\n", "utf-8")
    ranking = ranking_of(ACTIVE, "grove")
    assert "weights changed since" in str(ranking.problem)
    assert ranking.get_or_start(Corpus.of("one", ["ba be"])).error is ranking.problem
    assert ranking.encoder == "minilm", "what is warmed is something that can be loaded"


def test_the_watch_sees_a_promotion_and_not_a_choice_by_hand(tree: str) -> None:
    follows, by_hand = ranking_of(ACTIVE, "grove"), ranking_of("tfidf", "grove")
    elsewhere = ranking_of(ACTIVE, None)
    assert not follows.is_outdated
    promote("mine", by="Bo", corpus="grove", anyway=True)
    assert follows.is_outdated
    assert not by_hand.is_outdated
    assert not elsewhere.is_outdated


def test_a_choice_that_is_gone_gives_way_to_what_is_active(shared: Workspace, app: AppTest) -> None:
    import streamlit as st

    st.session_state["retriever"] = "team-gone-1"
    try:
        assert selected_retriever() == ACTIVE
    finally:
        del st.session_state["retriever"]


def test_a_list_is_another_one_when_another_revision_ranks() -> None:
    screen = Screen("t", page=2, furthest=3)
    screen.rank_by(Manifest("a@1", 2, "inner_product", 1, "x").revision)
    assert (screen.page, screen.furthest) == (2, 3)
    screen.rank_by("a@2")
    assert (screen.page, screen.furthest) == (0, 0)


def test_shared_words_count_beside_an_encoder_where_the_author_says_so(
    on_tree: AppTest, shared: Workspace, tree: str
) -> None:
    app = settled(on_tree.toggle(key="shared_words").set_value(True).run())
    fresh = next(b for b in app.button if str(b.key).startswith("accept-"))
    app = settled(fresh.click().run())
    (evidence,) = shared.log.evidence(tree).values()
    assert evidence.retriever == "tiny+bm25"
    assert evidence.revision.startswith(f"{resolve('tiny').revision}+0.1*bm25")
    app.segmented_control(key="view").set_value("History")
    assert "tiny + keywords" in said(settled(app.run()))
    promote("mine", by="Bo", corpus="grove", anyway=True)
    app = settled(app.run())
    assert app.toggle(key="shared_words").value, "who follows what is active goes on with shared words"
    assert offered(app)
    app = settled(app.selectbox(key="retriever").set_value("tfidf").run())
    assert not [one for one in app.toggle if one.key == "shared_words"], "it has nothing but shared words"
    assert offered(app)
    app = settled(app.selectbox(key="retriever").set_value("mine").run())
    assert app.toggle(key="shared_words").value


def test_what_ranks_has_one_name_with_shared_words_and_one_without() -> None:
    plain, both = ranking_of("mine", None), ranking_of("mine", None, keywords=True)
    assert (plain.name, both.name) == ("mine", "mine+bm25")
    assert (both.base, both.encoder) == ("mine", "mine")
    assert ranking_of("bm25", None, keywords=True).name == "bm25"
