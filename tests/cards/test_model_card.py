"""The card of an encoder: its header, its sections, its programs."""

import json
import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import entail
from entail.cli import main
from entail.errors import DataError, EncoderError
from entail.training.cards.metadata import update_facts
from entail.training.cards.sources import PACKAGED_HUB_ID, data_source
from entail.training.cards.template import model_card, write_card
from entail.training.method import CardText, Method, methods

Write = Callable[..., Path]


def header(card: str) -> dict[str, Any]:
    metadata = yaml.safe_load(card.split("---\n")[1])
    assert isinstance(metadata, dict)
    return metadata


def programs(card: str) -> list[str]:
    return [part.split("```")[0] for part in card.split("```python\n")[1:]]


def run(program: str) -> np.ndarray:
    """Run a program of a card as it stands; return the four digits a score that it prints."""
    output = StringIO()
    with redirect_stdout(output):
        exec(compile(program, "card", "exec"), {})
    digits = output.getvalue().replace("tensor(", "").replace(")", "").replace(",", " ")
    return np.array([float(word) for word in digits.strip(" []\n").split()])


def test_the_header_is_the_hubs(trained: Write) -> None:
    assert header(model_card(trained())) == {
        "language": "en",
        "license": "other",  # the tiny base says none
        "license_name": "not-decided",
        "library_name": "peft",
        "pipeline_tag": "sentence-similarity",
        "datasets": ["entailment_bank"],
        "tags": [
            "sentence-transformers",
            "sentence-similarity",
            "feature-extraction",
            "entailment",
            "aeenc",
            "hard-negatives",
            "lora",
        ],
    }


def test_on_the_packaged_base_it_is_an_adapter_of_the_hubs_model(trained: Write) -> None:
    folder = trained(base="minilm", base_revision=None)
    about = header(model_card(folder))
    assert about["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert about["base_model_relation"] == "adapter"
    assert (about["license"], "license_name" in about) == ("apache-2.0", False)
    card = model_card(folder)
    assert "Sentence-BERT" in card
    assert "Active entailment encoding for" in card
    assert "Explaining Answers" in card


def test_data_that_the_base_has_seen_are_disclosed(trained: Write) -> None:
    sets = data_source(PACKAGED_HUB_ID).trained_on
    for data, is_seen in (("squad", True), ("entailment_bank", False)):
        folder = trained(base="minilm", base_revision=None, trained_on={"data": [data]})
        card = model_card(folder)
        assert all((listed in card) == is_seen for listed in sets.values())


def test_it_is_the_same_for_the_same_folder(trained: Write, tmp_path: Path) -> None:
    folder = trained()
    first = model_card(folder)
    write_card(folder)  # the card itself changes nothing
    assert model_card(folder) == first
    copied = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    assert model_card(copied, name="mine") == first
    assert str(tmp_path) not in first


@pytest.mark.parametrize("towers", ["single", "siamese", "dual"])
def test_its_programs_run_and_agree(
    trained: Write, tiny_home: Path, monkeypatch: pytest.MonkeyPatch, towers: str
) -> None:
    card = model_card(trained(towers=towers))
    monkeypatch.chdir(tiny_home.parent)
    scores, plain = map(run, programs(card))
    assert scores.shape == (2,)
    assert np.allclose(scores, plain, atol=2e-3)
    # Both are this encoder's, not the base's.
    base = entail.load("tiny")
    quoted = [line.split('"')[1::2] for line in programs(card)[0].splitlines()]
    claim, facts = (texts for texts in quoted if texts and " " in texts[0])
    untrained = base.encode_queries(claim) @ base.encode_premises(facts).T
    assert not np.allclose(scores, untrained, atol=5e-3)


def test_notes_on_its_making_stand_above_the_settings_as_plain_words(trained: Write) -> None:
    folder = trained()
    assert (
        main(["card", str(folder), "--note", "One *run*,\n# of <b>before</b>.", "--note", "An adapter."]) == 0
    )
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "\n\nOne \\*run\\*, \\# of \\<b\\>before\\</b\\>.\n\nAn adapter.\n\n" in card
    update_facts(folder, notes=["Another."])
    assert "An adapter" not in model_card(folder)
    (folder / "entail.json").write_text(json.dumps({"notes": ["Only this."]}), encoding="utf-8")
    assert "\n\nOnly this.\n\n## Evaluation" in model_card(folder)


def test_a_dual_model_on_the_hub_is_downloaded_whole(trained: Write) -> None:
    plain = programs(model_card(trained(towers="dual"), repo="org/mine"))[1]
    compile(plain, "card", "exec")
    assert 'snapshot_download("org/mine")' in plain
    assert 'load_adapter(folder + "/premise_tower")' in plain


def test_unknown_data_is_said_and_no_licence_is_guessed(trained: Write) -> None:
    folder = trained(base="minilm", base_revision=None, trained_on={"queries": 3})
    card = model_card(folder)
    assert "data: unknown" in card
    assert header(card)["license"] == "other"
    assert "`license: other` is proposed" in card
    update_facts(folder, licence="mit")
    assert header(model_card(folder))["license"] == "mit"
    assert "license_name" not in header(model_card(folder))


def test_a_teams_decisions_are_their_owners(trained: Write) -> None:
    folder = trained(base="minilm", base_revision=None, trained_on={"data": ["team_decisions"]})
    card = model_card(folder)
    assert "datasets" not in header(card)
    assert header(card)["license"] == "other"
    assert "decisions of one team" in card


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> Callable[[CardText | None], None]:
    """Let a method of another package join with a card text."""

    def join(card: CardText | None) -> None:
        how = replace(methods()["aeenc"], name="fifth", title="Fifth method", card=card)
        registry: dict[str, Method] = {**methods(), "fifth": how}
        monkeypatch.setattr("entail.training.cards.metadata.methods", lambda: registry)

    return join


def test_a_method_describes_itself(trained: Write, joined: Callable[[CardText | None], None]) -> None:
    folder = trained(base="minilm", base_revision=None, method="fifth")
    update_facts(folder, data=["entailment_bank", "snli", "mine"])
    assert "trained by fifth" in model_card(folder)  # its package is not installed
    assert header(model_card(folder))["license"] == "other"
    joined(None)
    assert "trained by Fifth method" in model_card(folder)
    joined(CardText(title="The fifth (F)", idea="tells *when*", citation="Fifth: On fifths.", tags=("when",)))
    update_facts(folder, data=["entailment_bank", "snli"])
    card = model_card(folder)
    assert "trained by The fifth (F)" in card
    assert "Fifth: On fifths." in card
    assert "when" in header(card)["tags"]
    assert header(card)["license"] == "cc-by-sa-4.0"  # the strictest


def test_hostile_words_stay_words(trained: Write) -> None:
    folder = trained(
        method="<script>x</script>\n# no | heading",
        config={"a|b\n## c": "`x` | <img>", "initial": "/somewhere/models/x"},
        trained_on={"data": ["<b>\n---\nlicense: mit"], "queries": 1},
        figures={"dev": 3},
        notes=3,
    )
    card = model_card(folder)
    body = card.split("\n---\n", 1)[1]
    assert header(card)["license"] == "other"
    assert "\n# no" not in card
    assert "\n## c" not in card
    assert "<img>" not in body.replace("\\<img\\>", "")
    assert "\n---\n" not in body
    assert "somewhere" not in card


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"config": ["x"]}, "config"),
        ({"measured": [1]}, "measured: "),
        ({"method": 3}, "method"),
    ],
)
def test_a_broken_entail_json_is_refused(trained: Write, told: dict[str, Any], message: str) -> None:
    with pytest.raises(EncoderError, match=message):
        model_card(trained(**told))


def test_a_card_that_cannot_be_written_leaves_the_old_one(
    trained: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = trained()
    (folder / "README.md").write_text("old", encoding="utf-8")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DataError, match="No space left"):
        write_card(folder)
    assert (folder / "README.md").read_text(encoding="utf-8") == "old"
    assert json.loads((folder / "entail.json").read_text(encoding="utf-8"))["method"] == "aeenc"
