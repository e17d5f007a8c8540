"""The card of a model: its header, its sections, its programs, and figures out of result files."""

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
from entail.encoders.weights import folder_digest
from entail.errors import EncoderError
from entail.training.cards.figures import compare_figures, read_result
from entail.training.cards.metadata import read_facts, update_facts
from entail.training.cards.sources import PACKAGED_HUB_ID, data_source
from entail.training.cards.template import model_card, write_card
from entail.training.method import CardText, methods

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
    about = header(model_card(trained()))
    assert set(about.pop("tags")) >= {"sentence-transformers", "aeenc", "hard-negatives", "lora"}
    assert about == {
        **{"language": "en", "library_name": "peft", "pipeline_tag": "sentence-similarity"},
        **{"license": "other", "license_name": "not-decided"},  # the tiny base says none
        "datasets": ["entailment_bank"],
    }


def test_on_the_packaged_base_it_is_an_adapter_of_the_hubs_model(trained: Write) -> None:
    card = model_card(trained(base="minilm", base_revision=None))
    about = header(card)
    assert about["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert about["base_model_relation"] == "adapter"
    assert (about["license"], "license_name" in about) == ("apache-2.0", False)
    assert "Sentence-BERT" in card
    assert "Active entailment encoding for" in card
    assert "Explaining Answers" in card
    data_of_base = data_source(PACKAGED_HUB_ID).trained_on.values()
    assert not any(data in card for data in data_of_base)
    card = model_card(trained(base="minilm", base_revision=None, trained_on={"data": ["squad"]}))
    assert all(data in card for data in data_of_base), "the base has seen them"


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
    notes = ["--note", "One *run*,\n# of <b>before</b>.", "--note", "An adapter."]
    assert main(["card", str(folder), *notes]) == 0
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


@pytest.mark.parametrize("trained_on", [{"queries": 3}, {"data": ["team_decisions"]}])
def test_no_licence_is_guessed(trained: Write, trained_on: dict[str, Any]) -> None:
    folder = trained(base="minilm", base_revision=None, trained_on=trained_on)
    about = header(model_card(folder))
    assert (about["license"], "datasets" in about) == ("other", False)
    update_facts(folder, licence="mit")
    about = header(model_card(folder))
    assert (about["license"], "license_name" in about) == ("mit", False)


def test_a_method_describes_itself(trained: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def join(card: CardText | None) -> None:
        how = replace(methods()["aeenc"], name="fifth", title="Fifth method", card=card)
        monkeypatch.setattr("entail.training.cards.metadata.methods", lambda: {**methods(), "fifth": how})

    folder = trained(base="minilm", base_revision=None, method="fifth")
    update_facts(folder, data=["entailment_bank", "snli", "mine"])
    assert "trained by fifth" in model_card(folder)  # its package is not installed
    assert header(model_card(folder))["license"] == "other"
    join(None)
    assert "trained by Fifth method" in model_card(folder)
    join(CardText(title="The fifth (F)", idea="tells *when*", citation="Fifth: On fifths.", tags=("when",)))
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


@pytest.mark.parametrize("fields", [{"config": ["x"]}, {"measured": [1]}, {"method": 3}])
def test_a_broken_entail_json_is_refused(trained: Write, fields: dict[str, Any]) -> None:
    with pytest.raises(EncoderError, match=next(iter(fields))):
        model_card(trained(**fields))


@pytest.fixture
def results(trained: Write, grove_files: tuple[Path, Path], tmp_path: Path) -> Path:
    """A result file of `mine` and its base."""
    trained()
    facts, trees = grove_files
    out = tmp_path / "grove.json"
    arguments = ["evaluate", "premises", "--corpus", str(facts), "--trees", str(trees), "--out", str(out)]
    assert main([*arguments, "--retriever", "tiny", "--retriever", "mine"]) == 0
    return out


def test_premises(results: Path, tiny_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = json.loads(results.read_text(encoding="utf-8"))["figures"]
    mine, folder = base["others"][0], tiny_home / "mine"
    digest = folder_digest(folder)
    capsys.readouterr()
    for _ in range(2):  # the second replaces the first
        assert main(["card", str(folder), "--results", str(results), "--data", "mine", "--json"]) == 0
    figures = read_facts(folder).figures
    assert {figure.measure: figure.value for figure in figures} == {
        name: mine["query_excluded"][name] for name in ("MAP", "NDCG", "Hit@10", "Hit@50")
    }
    assert (figures[0].rival, figures[0].rival_value) == ("tiny", base["query_excluded"]["MAP"])
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card == model_card(folder)
    assert f"premises, MAP | {mine['query_excluded']['MAP']:.3f} |" in card
    (model,) = yaml.safe_load(card.split("---\n")[1])["model-index"]
    metrics = {metric["type"]: metric["value"] for result in model["results"] for metric in result["metrics"]}
    assert metrics["MAP"] == round(mine["query_excluded"]["MAP"], 4)
    assert folder_digest(folder) == digest
    assert main(["card", str(tiny_home / "tiny")]) == 1  # a model that entail did not make


def test_pairs(gaussian: str, tiny_home: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "pairs.csv", tmp_path / "out.json"
    rows = [f"a b {at},c {at},{label}" for at, label in enumerate(["entailment", "neutral"] * 9)]
    file.write_text("\n".join(["premise,hypothesis,label", *rows]), encoding="utf-8")
    for question, task in ((), "entailment"), (("--direction",), "direction"):
        command = ["evaluate", "nli", *question, "--data", str(file), "--encoder", gaussian]
        assert main([*command, "--out", str(out)]) == 0
        update_facts(tiny_home / gaussian, results=[out])
        accuracy = json.loads(out.read_text(encoding="utf-8"))["figures"]["accuracy"]
        figures = {figure.task: figure for figure in read_facts(tiny_home / gaussian).figures}
        assert (figures[task].measure, figures[task].value) == ("accuracy", accuracy)
    assert len(figures) == 2


def test_figures_of_other_weights_are_refused(results: Path, trained: Write) -> None:
    folder = trained(towers="siamese")  # trained again under the same name
    before = (folder / "entail.json").read_bytes()
    with pytest.raises(EncoderError, match=r"expected figures of mine@\w+\+tiny@.* found those of tiny@"):
        update_facts(folder, results=[results])
    assert (folder / "entail.json").read_bytes() == before


@pytest.mark.parametrize("content", [None, "[]", "{}", '{"figures": {"measured": [1]}}', "no json"])
def test_what_is_no_result_file_is_refused(trained: Write, tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "x.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(EncoderError, match=r"x\.json"):
        update_facts(trained(), results=[file])


def test_weights_are_found_by_digest(tmp_path: Path) -> None:
    row: dict[str, Any] = {"task": "passages", "data": "d", "measure": "MRR", "value": 0.5}
    file = tmp_path / "x.json"
    rows = [{**row, "revision": revision} for revision in ("other@1+b@2", "elsewhere@3+b@2+bf16")]
    file.write_text(json.dumps({"figures": {"measured": rows}}), encoding="utf-8")
    (figure,) = read_result(file, "mine@3+b@2")
    assert (figure.measure, figure.value) == ("MRR", 0.5)
    with pytest.raises(EncoderError):
        read_result(file, "mine@4+b@2")


def test_two_models(scorer_folder: Write, tmp_path: Path) -> None:
    first = scorer_folder("first", chains={"a": 0.5, "b": 0.4})
    second = scorer_folder("second", chains={"c": 0.6, "b": 0.3})
    rows = compare_figures(first, second)
    assert [(row.data, row.first, row.second, row.is_decisive) for row in rows] == [
        ("b", 0.4, 0.3, True),
        ("a", 0.5, None, False),
        ("c", None, 0.6, False),
    ]
    (first / "entail.json").write_text('{"measured": [{"task": "x"}]}', encoding="utf-8")
    assert compare_figures(first, tmp_path / "nothing") == []
