"""Active direction and chain models: promoted on the Models page, used by the other pages."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from entail.arcf.scoring.listing import list_scorers
from entail.data.records import Corpus
from entail.registry import active, history, promote
from entail.training.cards.card_metrics import MetricPair
from entail.trees.log.acts import Create
from entail.ui.models.comparison import card_figures_table
from entail.ui.shared.active import sync_with_active
from entail.ui.shared.resources import Workspace
from entail.ui.trees.direction_hints import current_hints
from entail.ui.trees.suggester import current_suggester
from tests.ui.conftest import named, said, settled

Scorer = Callable[..., Path]


def press(app: AppTest, label: str) -> AppTest:
    return settled(next(b for b in app.button if b.label.replace("\\", "") == label).click().run())


def put(name: str) -> None:
    promote(name, by="Bo", anyway=True)


@pytest.fixture
def two(gaussian: str, tiny_home: Path) -> tuple[str, str]:
    """Two encoders of Gaussians, one of them as if it shipped."""
    shutil.copytree(tiny_home / gaussian, tiny_home / "gausscse-minilm")
    return "gausscse-minilm", gaussian


def models(app: AppTest, *, name: str = "Ada", encoder: str = "mine", **address: str) -> AppTest:
    if name:
        app.text_input(key="sidebar_name").set_value(name).run()
    app.session_state["models_encoder"] = encoder
    app.session_state["models_encoder_view"] = "Promote"
    app.switch_page("pages/Models.py")
    for part, value in address.items():
        app.query_params[part] = value
    return settled(app.run())


def test_an_encoder_of_gaussians_is_put_in_use_and_taken_back(
    app: AppTest, shared: Workspace, two: tuple[str, str], tiny_home: Path
) -> None:
    folder = tiny_home / two[1]
    told = json.loads((folder / "entail.json").read_text("utf-8"))
    told["figures"] = {"dev": {"direction": 0.95}}
    (folder / "entail.json").write_text(json.dumps(told), "utf-8")
    app = models(app)
    assert "GaussCSE MiniLM (direction)" in said(app)
    table = app.dataframe[-1].value
    assert list(table["measure"]) == ["○ direction"]
    assert list(table["mine"]) == ["0.950"]
    assert app.button(key="promote-mine").disabled
    app = settled(app.checkbox[0].check().run())
    app = press(app, "Promote mine")
    assert active(role="direction").encoder == "mine"
    assert "promote-mine" not in {button.key for button in app.button}
    assert ":gray[promoted by Ada, " in said(app)
    app = press(app, "Restore GaussCSE MiniLM (direction)")
    assert active(role="direction").encoder == "gausscse-minilm"
    assert "**Ada** rolled back the last promotion for directions" in said(app)
    assert "**Ada** promoted **mine** for directions" in said(app)


def test_a_scorer_that_a_training_leads_to_is_promoted(
    app: AppTest, shared: Workspace, tiny_home: Path, scorer_folder: Scorer
) -> None:
    measured = {"source": "dev.tsv", "questions": 100, "k": 60}
    scorer_folder("arcf-minilm", chains={"MAP": 0.5, **measured})
    scorer_folder("better", chains={"MAP": 0.6, **measured})
    scorer_folder("worse", chains={"MAP": 0.4, **measured})
    app = models(app, encoder="tiny", candidate="worse")
    assert named(app.expander, "Promote a chain scorer").proto.expanded
    assert named(app.selectbox, "Scorer").value == "worse"
    assert "MAP of chains on dev.tsv, 100 questions, k = 60: 0.400 against 0.500" in said(app)
    assert app.button(key="promote-worse").disabled
    assert not app.query_params.get("candidate")
    app = settled(named(app.selectbox, "Scorer").set_value("better").run())
    assert "front_hand" not in said(app)
    app = press(app, "Promote better")
    assert active(role="chains").encoder == "better"
    put("worse")
    app = press(app, "Restore ARCF MiniLM (chains)")
    assert any("Bo" in str(error.value) for error in app.error), "not the model on the screen"
    shutil.rmtree(tiny_home / "worse")
    app = settled(app.run())
    assert "worse, promoted by Bo, cannot be used: its folder is gone" in said(app)
    app = press(app, "Restore better")
    assert (active(role="chains").encoder, history(role="chains")[0].by) == ("better", "Ada")


def test_who_is_not_named_changes_nothing(app: AppTest, shared: Workspace, two: tuple[str, str]) -> None:
    put("mine")
    app = models(app, name="", encoder="gausscse-minilm")
    app = settled(app.checkbox[0].check().run())
    assert app.button(key="promote-gausscse-minilm").disabled
    assert app.button(key="back-1").disabled


def test_damaged_pointers_leave_the_page_standing(
    app: AppTest, shared: Workspace, two: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "data" / "active.json").write_text("{", encoding="utf-8")
    assert models(app).error


def test_the_direction_page_follows_and_keeps_what_was_picked(
    app: AppTest, shared: Workspace, two: tuple[str, str], tiny_home: Path
) -> None:
    shutil.copytree(tiny_home / "mine", tiny_home / "third")
    app = settled(app.switch_page("pages/Direction.py").run())
    assert app.selectbox(key="direction_encoder").value == "gausscse-minilm"
    put("mine")
    app = settled(app.run())
    assert app.selectbox(key="direction_encoder").value == "mine"
    app = settled(app.selectbox(key="direction_encoder").set_value("third").run())
    put("gausscse-minilm")
    app = settled(app.run())
    assert app.selectbox(key="direction_encoder").value == "third"
    put("mine")
    shutil.rmtree(tiny_home / "mine")
    shutil.rmtree(tiny_home / "third")
    app = settled(app.run())
    assert app.selectbox(key="direction_encoder").value == "gausscse-minilm"
    assert "mine, promoted by Bo, cannot be used: its folder is gone" in said(app)


def test_the_chains_page_follows(
    app: AppTest, shared: Workspace, scorer_folder: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a-first", "arcf-minilm", "mine"):
        scorer_folder(name)
    app = app.switch_page("pages/Chains.py").run()
    assert app.selectbox(key="chains_by").value == "arcf-minilm"
    put("mine")
    app = app.run()
    assert app.selectbox(key="chains_by").value == "mine"
    app = app.selectbox(key="chains_by").set_value("a-first").run()
    put("arcf-minilm")
    assert app.run().selectbox(key="chains_by").value == "a-first"


def test_arrows_and_proposals_of_the_trees_page_follow(
    shared: Workspace,
    two: tuple[str, str],
    tiny_home: Path,
    scorer_folder: Scorer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("entail.ui.trees.suggester.list_scorers", list_scorers)
    for name in ("a-first", "arcf-minilm", "scores"):
        scorer_folder(name)

    def told() -> tuple[tuple[str, ...], tuple[str, ...]]:
        arrows, proposals = current_hints(), current_suggester()
        assert arrows is not None
        assert proposals is not None
        return (arrows.name, *arrows.names), (proposals.name, *proposals.names)

    first = (
        ("gausscse-minilm", "gausscse-minilm", "mine"),
        ("arcf-minilm", "arcf-minilm", "a-first", "scores"),
    )
    assert told() == first
    put("mine")
    put("scores")
    then = ("mine", "mine", "gausscse-minilm"), ("scores", "scores", "arcf-minilm", "a-first")
    assert told() == then
    for name in ("mine", "scores"):
        shutil.rmtree(tiny_home / name)
    (arrows, *_), (proposals, *_) = told()
    assert (arrows, proposals) == ("gausscse-minilm", "arcf-minilm")


def test_the_trees_page_says_what_stands_in(
    app: AppTest,
    shared: Workspace,
    two: tuple[str, str],
    tiny_home: Path,
    scorer_folder: Scorer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("entail.ui.trees.suggester.list_scorers", list_scorers)
    monkeypatch.setattr("entail.ui.trees.suggester.Suggester.start_loading", lambda self: None)
    for name in ("arcf-minilm", "scores"):
        scorer_folder(name)
    put("mine")
    put("scores")
    for name in ("mine", "scores"):
        shutil.rmtree(tiny_home / name)
    corpus = shared.corpora.add_corpus(Corpus.of("two", ["ice is cold", "snow is ice"]), author="Ada")
    app.session_state["tree"] = shared.log.create(
        Create(hypothesis="snow is cold"), author="Ada", corpus_id=corpus.id
    )
    app.session_state["retriever"] = "tfidf"
    app.text_input(key="sidebar_name").set_value("Ada").run()
    app = settled(app.switch_page("pages/Trees.py").run())
    assert "mine, promoted by Bo, cannot be used" in said(app)
    assert "scores, promoted by Bo, cannot be used" in said(app)


def test_a_field_that_stands_elsewhere_is_left_alone(shared: Workspace, two: tuple[str, str]) -> None:
    st.session_state["field"] = "mine"
    assert sync_with_active("direction", "field", two) == "gausscse-minilm"
    put("mine")
    assert sync_with_active("direction", "field", two) == "mine"
    assert st.session_state["field"] == "mine"
    st.session_state["field"] = "gausscse-minilm"
    assert sync_with_active("direction", "field", two) == "mine"
    assert st.session_state["field"] == "gausscse-minilm"


def test_figures_in_a_table() -> None:
    rows = [MetricPair("MAP of chains", "dev, 9 questions", 0.5, 0.25), MetricPair("a", "b", None, 1.0)]
    table = card_figures_table(rows, ("same", "same"))
    assert list(table.columns) == ["measure", "on", "same, active", "same"]
    assert table.to_numpy().tolist() == [
        ["● MAP of chains", "dev, 9 questions", "0.500", "0.250"],
        ["○ a", "b", "", "1.000"],
    ]
