"""Installed models on the Models page: list, card, promotion, rollback; and the pages that follow."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.arcf.scoring.scorer import list_scorers
from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, gold_children
from entail.data.text import premise_key
from entail.encoders.card import write_training_queries
from entail.encoders.catalogue import resolve
from entail.errors import EncoderError
from entail.evaluation.retrieval.paired import PairedComparison
from entail.jobs.candidates import Candidate
from entail.jobs.record import Job, JobSpec, Status
from entail.registry.models import active, promote
from entail.registry.pointers import history
from entail.statistics.paired import PairedDifference
from entail.ui.shared.resources import Workspace
from entail.ui.trees.models import current_suggester
from tests.ui.conftest import buttons, by, keys, named, opened, said, settled

Scorer = Callable[..., Path]


def press(app: AppTest, label: str) -> AppTest:
    return settled(next(b for b in app.button if b.label.replace("\\", "") == label).click().run())


def insist(app: AppTest) -> AppTest:
    """Tick “Promote anyway”."""
    return settled(app.checkbox[0].check().run())


def at_model(app: AppTest, encoder: str = "mine", view: str = "Promote", *, name: str = "Ada") -> AppTest:
    """Open the Models page at a view of an encoder."""
    if name:
        by(app, name)
    app.session_state["models_encoder"], app.session_state["models_encoder_view"] = encoder, view
    return opened(app, "Models")


def test_encoders_are_listed_with_their_figures_and_shown(
    app: AppTest, shared: Workspace, trained: Callable[..., Path], tiny_home: Path
) -> None:
    measured = {"task": "premises", "data": "grove, 9 queries", "measure": "MAP", "value": 0.61}
    ndcg = measured | {"measure": "NDCG", "value": 0.6}
    folder = trained("mine", measured=[measured, ndcg], licence="mit")
    (folder / "README.md").write_text(
        "---\nlicense: mit\n---\n# Mine\n![spy](https://spy.example/x.png)\n```\n# code\n```\n", "utf-8"
    )
    (tiny_home / "pickled").mkdir()
    (tiny_home / "pickled" / "config.json").write_text("{}", "utf-8")
    (tiny_home / "pickled" / "pytorch_model.bin").write_bytes(b"never read")
    app = at_model(app, "minilm", "Card")
    rows = app.dataframe[0].value.set_index("model")
    assert list(rows.index) == ["MiniLM (meaning)", "mine", "other", "pickled", "tiny"]
    mine = rows.loc["mine"]
    assert (mine["role"], mine["base"], mine["score"]) == ("Retriever", "tiny", 0.61)
    assert mine["measured on"] == "MAP: grove, 9 queries"
    assert mine["revision"] == resolve("mine").revision
    assert list(rows["state"]) == ["active for all corpora", "", "", "cannot be loaded", ""]
    assert "found only pytorch_model.bin, which can run code" in said(at_model(app, "pickled", "Card"))
    card = at_model(app, "mine", "Card")
    assert "#### Mine\n[spy](https://spy.example/x.png)" in said(card), "no picture is fetched"
    assert [part.value.strip() for part in card.code] == ["# code"], "a comment is no heading"
    assert "license: mit" not in said(card)


def test_an_odd_record_is_shown_as_text_and_a_deleted_encoder_gives_way(
    app: AppTest, shared: Workspace, trained: Callable[..., Path], tiny_home: Path
) -> None:
    odd = "a|b *c* <i> :sun: $x$"
    trained(trained_on={"queries": "many", "data": [odd, 3]}, licence=odd, measured=[3])
    (tiny_home / odd).mkdir()
    app = at_model(app, "mine", "Card")
    assert not any("<i>" in str(element.value) for element in app.markdown)
    for view in ("Card", "Promote"):
        app = app.segmented_control(key="models_encoder_view").set_value(view).run()
    shutil.rmtree(tiny_home / "mine")
    assert app.run().selectbox(key="models_encoder").value == "minilm"
    for part, value in (("models_view", "Nonsense"), ("candidate", "mine"), ("candidate", "../..")):
        app.query_params.clear()
        app.query_params[part] = value
        app.run()
        assert app.selectbox(key="models_encoder")


@pytest.fixture
def claims(
    app: AppTest, shared: Workspace, trained: Callable[..., Path], grove: dict[str, Any], tmp_path: Path
) -> tuple[str, ...]:
    """The claims of an installation in which `tiny` is active for the grove and `mine` a candidate."""
    trained("mine")
    info = shared.corpora.add_corpus(Corpus.of("grove", grove["facts"]), author="Ada")
    app.session_state["models_corpus"] = info.id
    folder = tmp_path / "data" / "splits"
    folder.mkdir()
    (folder / "grove.jsonl").write_text("\n".join(map(json.dumps, grove["rows"])), "utf-8")
    promote("tiny", by="Ann", corpus="grove", anyway=True)
    return tuple(gold_children(read_trees(folder / "grove.jsonl")))


def test_a_candidate_is_compared_promoted_and_rolled_back(app: AppTest, claims: tuple[str, ...]) -> None:
    app = at_model(app)
    assert app.button(key="promote-mine").disabled, "not before a comparison"
    app = press(app, "Compare")
    assert "16 cases" in said(app)
    measures = list(app.dataframe[-1].value["measure"])
    assert measures[0] == "MAP, query excluded"
    assert "MAP, paper" in measures
    if app.button(key="promote-mine").disabled:  # chance may have made it worse, which is refused
        app = insist(app)
    app = press(app, "Promote mine for grove")
    now = active("grove")
    assert (now.encoder, now.pointer and now.pointer.by) == ("mine", "Ada")
    assert active().encoder == "minilm", "the others rank as before"
    assert now.pointer is not None
    assert now.pointer.evaluation is not None
    assert "promote-mine" not in keys(app)
    app = settled(app.button(key=f"back-{now.number}").click().run())
    assert active("grove").encoder == "tiny"
    assert "**Ada** restored **tiny** for grove" in said(app)
    assert "**Ada** promoted **mine** for grove. MAP, query excluded" in said(app)


def test_a_promotion_needs_a_name_and_insistence_and_undoes_no_colleagues(
    app: AppTest, claims: tuple[str, ...], tmp_path: Path
) -> None:
    app = insist(at_model(app, name=""))
    assert app.button(key="promote-mine").disabled
    assert all(button.disabled for button in buttons(app, "back-"))
    app = settled(app.text_input(key="author_name-promotion").set_value("Ada").run())
    promote("other", by="Bo", corpus="grove", anyway=True)
    app = press(app, "Promote mine for grove")
    assert any("Bo" in str(error.value) for error in app.error)
    back = buttons(app, "back-")[0]
    promote("tiny", by="Cy", corpus="grove", anyway=True)
    app = settled(back.click().run())
    assert any("Cy" in str(error.value) for error in app.error)
    assert [move.by for move in history("grove")] == ["Cy", "Bo", "Ann"]
    app = press(insist(app), "Promote mine for grove")
    assert active("grove").encoder == "mine"
    assert "Not compared" in said(app)
    (tmp_path / "data" / "active.json").write_text("{", encoding="utf-8")
    app = settled(app.run())
    assert app.error
    app.session_state["models_encoder_view"] = "Card"
    assert settled(app.run()).dataframe, "the list stays"


def test_a_failed_comparison_is_repeated_and_one_on_training_examples_is_no_reason(
    app: AppTest, claims: tuple[str, ...], tiny_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> PairedComparison:
        raise EncoderError("the weights are broken")

    write_training_queries(tiny_home / "mine", map(premise_key, claims))
    app = at_model(app)
    with monkeypatch.context() as broken:
        broken.setattr("entail.jobs.candidates.compare_with_active", fail)
        app = press(app, "Compare")
    assert "the weights are broken" in said(app)
    app = press(app, "Compare")
    assert "trained on 16 of these cases" in said(app)
    assert app.button(key="promote-mine").disabled


def test_the_comparison_of_a_training_counts_while_the_same_model_is_active(
    app: AppTest, shared: Workspace, claims: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, at = active("grove").revision, datetime(2026, 5, 1, tzinfo=UTC)
    better = PairedDifference(0.2, 0.4, 0.1, 0.3, 0.001, 30, 2, 40)
    evaluation = PairedComparison(
        str(resolve("mine").revision),
        now,
        "dev trees",
        "0" * 12,
        "MAP",
        {"MAP": better},
        rivals={"BM25": 0.45},
    )
    source = {"from_log": "grove"}
    spec = JobSpec("20260501-000000-abcdef", "aeenc", {}, source, "the decisions on grove", "mine", "Bo", at)
    job = Job(spec, "done", Status("done", at, at), result={"warnings": ["it may have collapsed"]})
    candidate = Candidate(job, resolve("mine").revision, evaluation)
    monkeypatch.setattr("entail.ui.models.promotion.find_candidate", lambda _, name: candidate)
    grove = app.session_state["models_corpus"]
    app.session_state["models_corpus"] = "gone"
    app = at_model(app)
    assert app.selectbox(key="models_corpus").value == grove, "its training data"
    assert "the decisions on grove by Bo" in said(app)
    assert "it may have collapsed" in said(app)
    assert "MAP: 0.400 against 0.200, +0.200 [+0.100, +0.300]" in said(app)
    assert "BM25 0.450" in said(app)
    assert any("simple rule" in str(box.value) for box in app.warning)
    assert not app.button(key="promote-mine").disabled
    assert app.button(key="promote-mine").proto.type == "primary"
    promote("other", by="Cy", corpus="grove", anyway=True)
    app = settled(app.run())
    assert "0.400 against 0.200" not in said(app), "a comparison with another encoder"
    assert app.button(key="promote-mine").disabled
    assert app.button(key="promote-mine").proto.type == "secondary", "nothing speaks for it"
    assert "16 cases" in said(press(app, "Compare"))


@pytest.fixture
def two(gaussian: str, tiny_home: Path) -> tuple[str, str]:
    """Two encoders of Gaussians, one of them under the name of the packaged one."""
    shutil.copytree(tiny_home / gaussian, tiny_home / "gausscse-minilm")
    return "gausscse-minilm", gaussian


def put(*names: str) -> None:
    for name in names:
        promote(name, by="Bo", anyway=True)


def test_a_scorer_that_a_training_leads_to_is_promoted(
    app: AppTest, shared: Workspace, tiny_home: Path, scorer_folder: Scorer
) -> None:
    for name, value in (("arcf-minilm", 0.5), ("better", 0.6), ("worse", 0.4)):
        scorer_folder(name, chains={"dev": value})
    app = at_model(app, "tiny")
    app.query_params["candidate"] = "worse"
    app = settled(app.run())
    assert named(app.selectbox, "Model").value == "worse"
    assert "dev: 0.400 against 0.500" in said(app)
    assert app.button(key="promote-worse").disabled
    assert not app.query_params.get("candidate")
    app = settled(named(app.selectbox, "Model").set_value("better").run())
    assert "front_hand" not in said(app)
    app = press(app, "Promote better")
    assert active(role="chains").encoder == "better"
    put("worse")
    app = press(app, "Restore ARCF MiniLM (chains)")
    assert any("Bo" in str(error.value) for error in app.error), "not the model on the screen"
    shutil.rmtree(tiny_home / "worse")
    app = settled(app.run())
    assert "worse, promoted by Bo, cannot be used: its folder is gone" in said(app)
    press(app, "Restore better")
    assert (active(role="chains").encoder, history(role="chains")[0].by) == ("better", "Ada")


@pytest.mark.parametrize(
    ("page", "field", "packaged"),
    [("Direction", "direction_encoder", "gausscse-minilm"), ("Chains", "chains_by", "arcf-minilm")],
)
def test_a_page_follows_the_active_model_and_keeps_a_selected_one(
    app: AppTest,
    shared: Workspace,
    two: tuple[str, str],
    tiny_home: Path,
    scorer_folder: Scorer,
    page: str,
    field: str,
    packaged: str,
) -> None:
    active_one = two[1] if page == "Direction" else scorer_folder("scores").name
    if page == "Direction":
        shutil.copytree(tiny_home / active_one, tiny_home / "third")
    else:
        scorer_folder("third")
        scorer_folder(packaged)
    app = opened(app, page)
    assert app.selectbox(key=field).value == packaged
    put(active_one)
    app = settled(app.run())
    assert app.selectbox(key=field).value == active_one
    app = settled(app.selectbox(key=field).set_value("third").run())
    put(packaged)
    app = settled(app.run())
    assert app.selectbox(key=field).value == "third"
    put(active_one)
    shutil.rmtree(tiny_home / active_one)
    shutil.rmtree(tiny_home / "third")
    app = settled(app.run())
    assert app.selectbox(key=field).value == packaged
    assert f"{active_one}, promoted by Bo, cannot be used: its folder is gone" in said(app)


@pytest.mark.usefixtures("shared")
def test_proposals_of_the_trees_page_follow(scorer_folder: Scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entail.ui.trees.models.list_scorers", list_scorers)
    for name in ("a-first", "arcf-minilm", "scores"):
        scorer_folder(name)
    proposals = [current_suggester()]
    put("scores")
    proposals.append(current_suggester())
    assert [suggester and suggester.name for suggester in proposals] == ["arcf-minilm", "scores"]
