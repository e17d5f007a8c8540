"""Promotion of an encoder on the Models page: comparison, refusal, rollback."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, gold_children
from entail.data.text import premise_key
from entail.encoders.card import write_seen
from entail.encoders.catalogue import resolve
from entail.errors import EncoderError
from entail.evaluation.retrieval.paired import PairedComparison
from entail.jobs.candidates import Candidate
from entail.jobs.record import Job, JobSpec, Status
from entail.registry import active, history, promote
from entail.statistics.paired import PairedDifference
from entail.ui.models import comparison as comparison_module
from entail.ui.models.comparison import comparison_table
from entail.ui.shared.resources import Workspace
from tests.ui.conftest import said, settled


def press(app: AppTest, label: str) -> AppTest:
    return settled(next(b for b in app.button if b.label.replace("\\", "") == label).click().run())


@pytest.fixture
def grown(
    shared: Workspace, trained: Callable[..., Path], grove: dict[str, Any], tmp_path: Path
) -> tuple[str, ...]:
    """An installation in which `tiny` ranks the grove and `mine` would like to; returns the claims."""
    trained("mine")
    shared.corpora.add_corpus(Corpus.of("grove", grove["facts"]), author="Ada")
    folder = tmp_path / "data" / "splits"
    folder.mkdir()
    (folder / "grove.jsonl").write_text("\n".join(map(json.dumps, grove["rows"])), "utf-8")
    promote("tiny", by="Ann", corpus="grove", anyway=True)
    return tuple(gold_children(read_trees(folder / "grove.jsonl")))


def id_of(shared: Workspace, name: str) -> str:
    return next(corpus.id for corpus in shared.corpora.corpora() if corpus.name == name)


def opened(app: AppTest, shared: Workspace, *, name: str = "Ada", corpus: str = "grove") -> AppTest:
    """Open the Models page where `mine` could be promoted for the grove."""
    if name:
        app.text_input(key="sidebar_name").set_value(name).run()
    app.session_state["models_encoder"] = "mine"
    app.session_state["models_encoder_view"] = "Promote"
    if corpus:
        app.session_state["models_corpus"] = id_of(shared, corpus)
    return settled(app.switch_page("pages/Models.py").run())


def test_a_candidate_is_compared_promoted_and_taken_back(
    app: AppTest, shared: Workspace, grown: tuple[str, ...]
) -> None:
    app = opened(app, shared)
    assert app.button(key="promote-mine").disabled, "not before they were compared"
    app = press(app, "Compare")
    assert "16 claims" in said(app)
    measures = list(app.dataframe[-1].value["measure"])
    assert measures[0] == "MAP, query excluded"
    assert "MAP, paper" in measures
    if app.button(key="promote-mine").disabled:  # chance may have made it worse, which is refused
        app = settled(app.checkbox[0].check().run())
    app = press(app, "Promote mine for grove")
    now = active("grove")
    assert (now.encoder, now.pointer and now.pointer.by) == ("mine", "Ada")
    assert active().encoder == "minilm", "the others rank as before"
    assert now.pointer is not None
    assert now.pointer.evaluation is not None
    assert "promote-mine" not in {button.key for button in app.button}
    app = settled(app.button(key=f"back-{now.number}").click().run())
    assert active("grove").encoder == "tiny"
    assert "**Ada** restored **tiny** for **grove**" in said(app)
    assert "**Ada** promoted **mine** for **grove**. MAP, query excluded" in said(app)


def test_without_a_comparison_one_has_to_insist(
    app: AppTest, shared: Workspace, grown: tuple[str, ...]
) -> None:
    app = opened(app, shared)
    assert app.button(key="promote-mine").disabled
    app = settled(app.checkbox[0].check().run())
    app = press(app, "Promote mine for grove")
    assert active("grove").encoder == "mine"
    assert "Not compared" in said(app)


def test_who_is_not_named_changes_nothing(app: AppTest, shared: Workspace, grown: tuple[str, ...]) -> None:
    app = opened(app, shared, name="")
    app = settled(app.checkbox[0].check().run())
    assert app.button(key="promote-mine").disabled
    assert all(b.disabled for b in app.button if str(b.key).startswith("back-"))


def test_a_colleague_was_faster_and_nothing_of_theirs_is_undone(
    app: AppTest, shared: Workspace, grown: tuple[str, ...]
) -> None:
    app = opened(app, shared)
    app = settled(app.checkbox[0].check().run())
    promote("other", by="Bo", corpus="grove", anyway=True)
    app = press(app, "Promote mine for grove")
    assert any("Bo" in str(error.value) for error in app.error)
    back = next(b for b in app.button if str(b.key).startswith("back-"))
    promote("tiny", by="Cy", corpus="grove", anyway=True)
    app = settled(back.click().run())
    assert any("Cy" in str(error.value) for error in app.error)
    assert [move.by for move in history("grove")] == ["Cy", "Bo", "Ann"]


def test_what_it_knows_by_heart_proves_nothing(
    app: AppTest, shared: Workspace, grown: tuple[str, ...], tiny_home: Path
) -> None:
    write_seen(tiny_home / "mine", map(premise_key, grown))
    app = press(opened(app, shared), "Compare")
    assert "trained on 16 of these claims" in said(app)
    assert app.button(key="promote-mine").disabled


def test_a_comparison_that_fails_is_said_and_can_be_tried_again(
    app: AppTest, shared: Workspace, grown: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> PairedComparison:
        raise EncoderError("the weights are broken")

    app = opened(app, shared)
    with monkeypatch.context() as broken:
        broken.setattr(comparison_module, "compare_on", fail)
        app = press(app, "Compare")
    assert "the weights are broken" in said(app)
    app = press(app, "Compare")
    assert "16 claims" in said(app)


def test_what_a_training_measured_counts_as_long_as_the_same_one_is_active(
    app: AppTest, shared: Workspace, grown: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, at = active("grove").revision, datetime(2026, 5, 1, tzinfo=UTC)
    better = PairedDifference(0.2, 0.4, 0.1, 0.3, 0.001, 30, 2, 40)
    kept = PairedComparison(str(resolve("mine").revision), now, "dev trees", "0" * 12, "MAP", {"MAP": better})
    source = {"from_log": "grove"}
    spec = JobSpec("20260501-000000-abcdef", "aeenc", {}, source, "the decisions on grove", "mine", "Bo", at)
    job = Job(spec, "done", Status("done", at, at), result={"warnings": ["it may have collapsed"]})
    made = Candidate(job, resolve("mine").revision, kept)
    for module in ("comparison", "promotion"):
        monkeypatch.setattr(f"entail.ui.models.{module}.candidate_of", lambda name: made)
    app = opened(app, shared, corpus="")
    assert app.selectbox(key="models_corpus").value == id_of(shared, "grove"), "its training data"
    assert "the decisions on grove by Bo" in said(app)
    assert "it may have collapsed" in said(app)
    assert "MAP: 0.400 against 0.200, +0.200 [+0.100, +0.300]" in said(app)
    assert not app.button(key="promote-mine").disabled
    promote("other", by="Cy", corpus="grove", anyway=True)
    app = settled(app.run())
    assert "0.400 against 0.200" not in said(app), "a comparison with another encoder"
    assert app.button(key="promote-mine").disabled
    app = press(app, "Compare")
    assert "16 claims" in said(app)


def test_damaged_pointers_leave_the_page_standing(
    app: AppTest, shared: Workspace, grown: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "data" / "active.json").write_text("{", encoding="utf-8")
    app = opened(app, shared)
    assert app.error
    app.session_state["models_encoder_view"] = "About"
    app = settled(app.run())
    assert not app.exception
    assert app.dataframe


def test_figures_in_a_table() -> None:
    up, flat = (
        PairedDifference(0.1, 0.3, 0.1, 0.3, 0.0001, 9, 1, 30),
        PairedDifference(0.1, 0.1, -1, 1, 1, 0, 0, 30),
    )
    found = PairedComparison("b@1", "a@1", "dev", "0" * 12, "MAP", {"MAP": up, "NDCG": flat})
    table = comparison_table(found, ("same", "same"))
    assert list(table.columns) == ["measure", "same, active", "same", "difference", "p"]
    assert list(table["difference"]) == ["● +0.200 [+0.100, +0.300]", "○ +0.000 [-1.000, +1.000]"]
    assert list(table["p"]) == ["< 0.001", "1.000"]
