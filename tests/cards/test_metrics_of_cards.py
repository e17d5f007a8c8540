"""Figures in cards: those of these weights, out of result files as the command line writes them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.cli import main
from entail.encoders.catalogue import resolve
from entail.errors import EncoderError
from entail.training.cards.metadata import update_facts
from entail.training.cards.metrics import RetrievalMetrics
from entail.training.cards.result_files import Weights, read_metrics
from entail.training.cards.template import model_card

Write = Callable[..., Path]


@pytest.fixture
def results(encoder: Write, grove: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A result file of `mine` beside its base."""
    encoder()
    trees, corpus = tmp_path / "dev.jsonl", tmp_path / "facts.txt"
    trees.write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    corpus.write_text("\n".join(grove["facts"]), encoding="utf-8")
    out = tmp_path / "grove.json"
    arguments = ["evaluate", "premises", "--corpus", str(corpus), "--trees", str(trees), "--out", str(out)]
    assert main([*arguments, "--retriever", "tiny", "--retriever", "mine"]) == 0
    return out


def read(file: Path) -> RetrievalMetrics:
    metrics = read_metrics(file, Weights(revision=resolve("mine").revision, base=resolve("tiny").revision))
    assert isinstance(metrics, RetrievalMetrics)
    return metrics


def test_both_protocols_stand_beside_the_base(results: Path, home: Path) -> None:
    result = json.loads(results.read_text(encoding="utf-8"))
    base, mine = result["figures"], result["figures"]["others"][0]
    metrics = read(results)
    assert metrics.source == "grove"
    assert metrics.encoder == {name: mine[name] for name in ("paper", "query_excluded")}
    assert metrics.base == {name: base[name] for name in ("paper", "query_excluded")}
    assert (metrics.trees, metrics.queries, metrics.pairs) == (8, 16, mine["pairs"])
    assert RetrievalMetrics.from_json(json.loads(json.dumps(metrics.to_json()))) == metrics

    for _ in range(2):  # the second replaces the first
        update_facts(home / "mine", results=[results])
    card = model_card(home / "mine")
    assert card.count("### grove") == 1
    row = next(line for line in card.splitlines() if line.startswith("| MAP |"))
    values = [base["paper"], mine["paper"], base["query_excluded"], mine["query_excluded"]]
    cells = " | ".join(format(figures["MAP"], ".3f") for figures in values)
    assert row == f"| MAP | {cells} |"
    assert f"reads {mine['effort']['reads_per_accepted']:.1f} candidates" in card
    assert f"commit `{result['commit']}`, seed 0, " in card
    assert " ".join(result["command"].split()) in card  # what repeats it


def test_figures_without_what_it_was_trained_on_stand_on_the_card(results: Path, home: Path) -> None:
    result = json.loads(results.read_text(encoding="utf-8"))
    mine = result["figures"]["others"][0]
    mine["unseen"] = {"queries": 10, "paper": {"MAP": 0.125}, "query_excluded": {"MAP": 0.25}}
    results.write_text(json.dumps(result), encoding="utf-8")
    metrics = read(results)
    assert metrics.unseen == 10
    update_facts(home / "mine", results=[results])
    card = model_card(home / "mine")
    unseen, every = "| MAP | 0.125 | 0.250 |", f"| MAP | {metrics.base['paper']['MAP']:.3f} |"
    assert card.index(unseen) < card.index(every)  # the figures of new queries lead
    mine["unseen"] = {"queries": 0}
    results.write_text(json.dumps(result), encoding="utf-8")
    update_facts(home / "mine", results=[results])
    card = model_card(home / "mine")
    assert card.count("| MAP |") == 1


def test_figures_of_other_weights_are_refused(results: Path, encoder: Write, home: Path) -> None:
    content = results.read_text(encoding="utf-8")
    encoder(towers="siamese")  # trained anew under the same name
    before = (home / "mine" / "entail.json").read_bytes()
    with pytest.raises(EncoderError, match=r"expected figures of mine@\w+\+tiny@.* found those of tiny@"):
        update_facts(home / "mine", results=[results])
    assert (home / "mine" / "entail.json").read_bytes() == before
    assert results.read_text(encoding="utf-8") == content


@pytest.mark.parametrize("content", ["[]", "{}", '{"figures": {"paper": 1}}', "no json"])
def test_what_is_no_result_file_is_refused(encoder: Write, tmp_path: Path, content: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(EncoderError, match=r"x\.json.* --retriever mine --out"):
        update_facts(encoder(), results=[file])
    with pytest.raises(EncoderError, match=r"found none of this name"):
        update_facts(tmp_path.parent / encoder(), results=[tmp_path / "none.json"])


def test_the_command_writes_and_tells(results: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    folder = home / "mine"
    assert main(["card", str(folder), "--results", str(results), "--data", "team_decisions", "--json"]) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["card"] == (folder / "README.md").read_text(encoding="utf-8") == model_card(folder)
    assert "team\\_decisions: unknown" in out["card"]
    assert main(["card", str(folder), "--show"]) == 0
    assert capsys.readouterr().out == out["card"]
    assert main(["card", str(home / "tiny")]) == 1
    assert "its own README.md" in capsys.readouterr().err
