"""Figures in cards: those of these weights, out of result files as the command line writes them."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from entail.cli import main
from entail.encoders.weights import folder_digest
from entail.errors import EncoderError
from entail.training.cards.figures import compare_figures, read_result
from entail.training.cards.metadata import read_facts, update_facts
from entail.training.cards.template import model_card

Write = Callable[..., Path]


def measured(folder: Path) -> dict[tuple[str, str], float]:
    return {(figure.task, figure.measure): figure.value for figure in read_facts(folder).figures}


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
    with file.open("w", newline="", encoding="utf-8") as rows:
        table = csv.writer(rows)
        table.writerow(["premise", "hypothesis", "label"])
        table.writerows(
            [f"a b {at}", f"c {at}", label] for at, label in enumerate(["entailment", "neutral"] * 9)
        )
    for question, task in ((), "entailment"), (("--direction",), "direction"):
        command = ["evaluate", "nli", *question, "--data", str(file), "--encoder", gaussian]
        assert main([*command, "--out", str(out)]) == 0
        update_facts(tiny_home / gaussian, results=[out])
        accuracy = json.loads(out.read_text(encoding="utf-8"))["figures"]["accuracy"]
        assert measured(tiny_home / gaussian)[task, "accuracy"] == accuracy
    assert len(read_facts(tiny_home / gaussian).figures) == 2


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
