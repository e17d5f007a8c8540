"""What tells directions and builds chains: put in use on the Models page, followed by every other page."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from entail.arcf.listing import list_scorers
from entail.cards.known import KnownBeside
from entail.data.records import Corpus
from entail.roles import history, in_use, put_in_use
from entail.trees.acts import Create
from entail.ui.direction_arrows import pointer
from entail.ui.in_use import follow
from entail.ui.models_job import makes_gaussians
from entail.ui.models_roles import known_table
from entail.ui.resources import Workspace
from entail.ui.suggester import suggester
from tests.ui.conftest import named, said, settled

Scorer = Callable[..., Path]


def press(app: AppTest, label: str) -> AppTest:
    return settled(next(b for b in app.button if b.label.replace("\\", "") == label).click().run())


def put(name: str) -> None:
    put_in_use(name, by="Bo", anyway=True)


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
    assert [makes_gaussians(name) for name in (two[1], "tiny", "nobody")] == [True, False, False]
    folder = tiny_home / two[1]
    told = json.loads((folder / "entail.json").read_text("utf-8"))
    told["figures"] = {"dev": {"direction": 0.95}}
    (folder / "entail.json").write_text(json.dumps(told), "utf-8")
    app = models(app)
    assert "GaussCSE MiniLM (direction)" in said(app)
    assert "comes with entail, the default" in said(app)
    table = app.dataframe[-1].value
    assert list(table["measure"]) == ["○ direction"]
    assert list(table["mine"]) == ["0.950"]
    assert "measured on different data, or only one of them was" in said(app)
    assert "Expected figures of mine and of gausscse-minilm, which is in use, on the same data" in said(app)
    assert app.button(key="promote-mine").disabled
    app = settled(app.checkbox[0].check().run())
    app = press(app, "Promote mine")
    assert in_use("direction").name == "mine"
    assert "mine tells directions now. One click below takes it back." in said(app)
    assert "It is what tells directions already." in said(app)
    assert ":gray[promoted by Ada, " in said(app)
    app = press(app, "Back to what was before")
    assert in_use("direction").name == "gausscse-minilm"
    assert "GaussCSE MiniLM (direction) tells directions again." in said(app)
    assert "**Ada** took back the last promotion for directions" in said(app)
    assert "**Ada** promoted **mine** for directions" in said(app)


def test_a_scorer_that_a_training_leads_to_is_put_in_use(
    app: AppTest, shared: Workspace, tiny_home: Path, scorer_folder: Scorer
) -> None:
    measured = {"source": "dev.tsv", "questions": 100, "k": 60}
    scorer_folder("arcf-minilm", chains={"MAP": 0.5, **measured})
    scorer_folder("better", chains={"MAP": 0.6, **measured})
    scorer_folder("worse", chains={"MAP": 0.4, **measured})
    app = models(app, encoder="tiny", candidate="worse")
    assert named(app.expander, "Another scorer of chains").proto.expanded
    assert named(app.selectbox, "Scorer").value == "worse"
    assert "MAP of chains on dev.tsv, 100 questions, k = 60: 0.400 against 0.500" in said(app)
    assert app.button(key="promote-worse").disabled
    assert not app.query_params.get("candidate")
    app = settled(named(app.selectbox, "Scorer").set_value("better").run())
    assert "front_hand" not in said(app)
    app = press(app, "Promote better")
    assert in_use("chains").name == "better"
    assert "better builds chains now" in said(app)
    put("worse")
    app = press(app, "Back to what was before")
    assert "Bo made 'worse' the active one meanwhile" in said(app), "not what was on the screen"
    shutil.rmtree(tiny_home / "worse")
    app = settled(app.run())
    assert "worse, which Bo promoted, cannot be used: its folder is gone; arcf-minilm is in use" in said(app)
    app = press(app, "Back to what was before")
    assert (in_use("chains").name, history("chains")[0].by) == ("better", "Ada")


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
    assert "put it back from a backup" in said(models(app))


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
    assert "mine, which Bo promoted, cannot be used: its folder is gone" in said(app)


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
    monkeypatch.setattr("entail.ui.suggester.list_scorers", list_scorers)
    for name in ("a-first", "arcf-minilm", "scores"):
        scorer_folder(name)

    def told() -> tuple[tuple[str, ...], tuple[str, ...]]:
        arrows, proposals = pointer(), suggester()
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
    monkeypatch.setattr("entail.ui.suggester.list_scorers", list_scorers)
    monkeypatch.setattr("entail.ui.suggester.Suggester.begin", lambda self: None)
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
    assert "mine, which Bo promoted, cannot be used" in said(app)
    assert "scores, which Bo promoted, cannot be used" in said(app)


def test_a_field_that_stands_elsewhere_is_left_alone(shared: Workspace, two: tuple[str, str]) -> None:
    st.session_state["field"] = "mine"
    assert follow("direction", "field", two) == "gausscse-minilm"
    put("mine")
    assert follow("direction", "field", two) == "mine"
    assert st.session_state["field"] == "mine"
    st.session_state["field"] = "gausscse-minilm"
    assert follow("direction", "field", two) == "mine"
    assert st.session_state["field"] == "gausscse-minilm"


def test_figures_in_a_table() -> None:
    rows = [KnownBeside("MAP of chains", "dev, 9 questions", 0.5, 0.25), KnownBeside("a", "b", None, 1.0)]
    table = known_table(rows, ("same", "same"))
    assert list(table.columns) == ["measure", "on", "same, in use", "same"]
    assert table.to_numpy().tolist() == [
        ["● MAP of chains", "dev, 9 questions", "0.500", "0.250"],
        ["○ a", "b", "", "1.000"],
    ]
