import csv
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.cli import main
from entail.data.records import Corpus
from entail.index.protocol import Floats, Hits, Manifest

FACTS = ["=the sun is a star", "a star makes light", "the sun is near", "ice is cold", "water is wet"]
HYPOTHESIS = "the sun makes light"
BOTH = ["--retriever", "minilm", "--retriever", "tuned"]


class LetterIndex:
    """An encoder's index by the letters that two texts share."""

    def __init__(self, name: str, corpus: Corpus, letters: str) -> None:
        self.name, self.corpus, self.letters = name, corpus, letters
        self.manifest = Manifest(f"{name}@1", len(letters), "inner_product", len(corpus), corpus.hash)

    def scores(self, queries: Sequence[str]) -> Floats:
        return self._vectors(queries) @ self._vectors(self.corpus.texts).T

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        raise NotImplementedError

    def _vectors(self, texts: Sequence[str]) -> Floats:
        counts = np.array([[1 + text.count(letter) for letter in self.letters] for text in texts], np.float32)
        unit: Floats = counts / np.linalg.norm(counts, axis=1, keepdims=True)
        return unit


@pytest.fixture
def bias(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the command with its files."""
    letters = {"minilm": "aeiou", "tuned": "stlr"}

    def make(name: str, corpus: Corpus, **_: Any) -> LetterIndex:
        return LetterIndex(name, corpus, letters[name])

    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr("entail.aeenc.bias.retriever", make)
    corpus, trees = tmp_path / "facts.txt", tmp_path / "trees.jsonl"
    corpus.write_text("\n".join([HYPOTHESIS, *FACTS]))
    sentences = {"sent1": FACTS[0], "sent2": FACTS[1], "sent3": FACTS[3], "sent4": "a fact of nowhere"}
    row = {
        "id": "T1",
        "hypothesis": HYPOTHESIS,
        "context": " ".join(f"{name}: {text}" for name, text in sentences.items()),
        "proof": "sent1 & sent2 & sent3 & sent4 -> hypothesis; ",
        "meta": {"triples": sentences, "intermediate_conclusions": {}},
    }
    trees.write_text(json.dumps(row))
    return ["bias", "--corpus", str(corpus), "--trees", str(trees)]


def test_json(run_json: Any, bias: list[str]) -> None:
    figures = run_json(*bias, *BOTH, "--k", "3")
    assert (figures["k"], figures["trees"], figures["queries"], figures["premises"]) == (3, 1, 1, 6)
    assert figures["retrievers"] == ["minilm", "tuned"]
    assert figures["missing"]["texts"] == ["a fact of nowhere"]
    for rule in ("all", "outside_tree"):
        assert figures["rules"][rule]["counts"]["TP"] + figures["rules"][rule]["counts"]["FN"] == 3
        assert [panel["retriever"] for panel in figures["rules"][rule]["panels"]] == [None, "minilm", "tuned"]
    assert figures["rules"]["all"]["counts"]["FP"] == 3 - figures["rules"]["all"]["counts"]["TP"]


def test_a_table_that_cannot_be_written_is_refused_before_the_work(
    run_json: Any, bias: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    monkeypatch.setattr("entail.aeenc.bias.retriever", lambda name, *_, **__: names.append(name))
    for path in (tmp_path, tmp_path / "none" / "pairs.csv"):
        assert run_json(*bias, "--csv", str(path), code=1)["error"]["type"] == "DataError"
    assert names == []


def test_text(bias: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*bias, *BOTH, "--k", "2"]) == 0
    out = capsys.readouterr().out
    assert "6 premises, 1 trees, 1 queries, the first 2 of minilm" in out
    assert "false positives are  TP  FN  FP" in out
    assert "(c) cosine, tuned" in out
    assert "1 gold premises are not in the corpus" in out


def test_csv_has_every_pair_and_no_formula(bias: list[str], tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv.gz"
    assert main([*bias, *BOTH, "--k", "4", "--csv", str(path)]) == 0
    rows = list(csv.DictReader(gzip.decompress(path.read_bytes()).decode().splitlines()))
    pairs = len({(row["query"], row["premise"]) for row in rows})
    assert len(rows) == 2 * pairs >= 8
    assert {row["group_all"] for row in rows} <= {"TP", "FN", "FP"}
    assert {row["retriever"] for row in rows} == {"minilm", "tuned"}
    assert "'=the sun is a star" in {row["premise"] for row in rows}
    assert all(-1 <= float(row["cosine"]) <= 1.001 and 0 <= float(row["overlap"]) <= 1 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--retriever", "minilm", "--retriever", "tfidf"], "'tfidf' has no vectors"),
        (["--k", "0"], "k of 1 or more"),
        (["--csv", "nowhere/at/all.csv"], "no folder nowhere/at"),
        (["--corpus", "nowhere.txt"], "nowhere.txt"),
    ],
)
def test_errors(run_json: Any, bias: list[str], arguments: list[str], message: str) -> None:
    assert message in run_json(*bias, *arguments, code=1)["error"]["message"]
