"""Encoders view of the Models page: list and details."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from entail.encoders.catalogue import resolve
from entail.ui.shared.resources import Workspace
from tests.ui.conftest import said, settled

MEASURED = [
    {"task": "premises", "data": "grove, 9 queries", "measure": measure, "value": value}
    for measure, value in (("MAP", 0.61), ("NDCG", 0.6))
]


def opened(app: AppTest, encoder: str, view: str = "Card") -> AppTest:
    """Open the Models page at a view of an encoder."""
    app.session_state["models_encoder"] = encoder
    app.session_state["models_encoder_view"] = view
    return settled(app.switch_page("pages/Models.py").run())


@pytest.fixture
def models(shared: Workspace, trained: Callable[..., Path], tiny_home: Path) -> Path:
    """An installation with a measured adapter on `tiny`, a pickle, and a model with code of its own."""
    folder = trained("mine", measured=MEASURED, licence="mit")
    (folder / "README.md").write_text(
        "---\nlicense: mit\n---\n# Mine\n![spy](https://spy.example/x.png)\n```\n# code\n```\n", "utf-8"
    )
    for name in ("pickled", "strange"):
        (tiny_home / name).mkdir()
    (tiny_home / "pickled" / "config.json").write_text("{}", "utf-8")
    (tiny_home / "pickled" / "pytorch_model.bin").write_bytes(b"never read")
    (tiny_home / "strange" / "config.json").write_text('{"auto_map": {"AutoModel": "mine.Mine"}}', "utf-8")
    (tiny_home / "strange" / "model.safetensors").write_bytes(b"never read")
    return tiny_home


def test_available_encoders_are_listed_with_their_figures(app: AppTest, models: Path) -> None:
    app = opened(app, "minilm")
    rows = app.dataframe[0].value.set_index("model")
    assert list(rows.index) == ["MiniLM (meaning)", "mine", "other", "pickled", "strange", "tiny"]
    mine = rows.loc["mine"]
    assert (mine["role"], mine["base"], mine["score"]) == ("Retriever", "tiny", 0.61)
    assert mine["measured on"] == "MAP: grove, 9 queries"
    assert mine["revision"] == resolve("mine").revision
    assert list(rows["state"]) == ["active for all corpora", "", "", "refused", "refused", ""]


def test_details_of_an_encoder(app: AppTest, models: Path) -> None:
    assert "found only pytorch_model.bin, which can run code" in said(opened(app, "pickled"))
    assert "asks for code of its own" in said(opened(app, "strange"))
    card = opened(app, "mine", "Card")
    text = said(card)
    assert "#### Mine\n[spy](https://spy.example/x.png)" in text, "no picture is fetched"
    assert [part.value.strip() for part in card.code] == ["# code"], "a comment is no heading"
    assert "license: mit" not in text


def test_an_odd_record_is_shown_as_text_and_a_deleted_encoder_gives_way(
    app: AppTest, shared: Workspace, trained: Callable[..., Path], tiny_home: Path
) -> None:
    odd = "a|b *c* <i> :sun: $x$"
    trained(trained_on={"queries": "many", "data": [odd, 3]}, licence=odd, measured=[3])
    (tiny_home / odd).mkdir()
    app = opened(app, "mine")
    assert not any("<i>" in str(element.value) for element in app.markdown)
    for view in ("Card", "Promote"):
        app = app.segmented_control(key="models_encoder_view").set_value(view).run()
        assert not app.exception
    shutil.rmtree(tiny_home / "mine")
    assert app.run().selectbox(key="models_encoder").value == "minilm"
    for part, value in (("models_view", "Nonsense"), ("candidate", "mine"), ("candidate", "../..")):
        app.query_params.clear()
        app.query_params[part] = value
        app.run()
        assert not app.exception
        assert app.selectbox(key="models_encoder")
