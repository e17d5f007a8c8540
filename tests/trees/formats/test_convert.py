"""From file to file, by suffix."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from entail.errors import DataError, FormatError, ProofError
from entail.trees.formats.convert import Conversion, convert


def row(hypothesis: str, proof: str, *texts: str, id: str = "r") -> str:
    meta = {"triples": {f"sent{i}": text for i, text in enumerate(texts, start=1)}}
    return json.dumps({"id": id, "hypothesis": hypothesis, "proof": proof, "meta": meta}) + "\n"


MELTS = "sent1 -> int1: warm ice melts; int1 & sent2 -> hypothesis; "
TWO = row("snow is cold", "sent1 & sent2 -> hypothesis; ", "snow is ice", "ice is cold", "fire is hot") + row(
    "ice melts", MELTS, "it is warm", "ice is ice", id="../x"
)


@pytest.fixture
def two(tmp_path: Path) -> Path:
    file = tmp_path / "two.jsonl"
    file.write_text(TWO)
    return file


def texts(file: Path) -> list[tuple[str, str]]:
    return [(r["hypothesis"], r["proof"]) for r in map(json.loads, file.read_text().splitlines())]


def test_jsonl_and_csv_hold_all_trees_also_packed(two: Path, tmp_path: Path) -> None:
    packed, plain = tmp_path / "out.JSONL.gz", tmp_path / "plain.jsonl"
    assert convert(two, packed) == Conversion(2, (packed,))
    convert(packed, plain)
    assert texts(plain) == texts(two)
    convert(two, tmp_path / "out.csv.gz")
    with gzip.open(tmp_path / "out.csv.gz", "rt", newline="") as file:
        pairs = [(r["tree"], r["parent"], r["child"]) for r in csv.DictReader(file)]
    assert pairs[1:3] == [("1", "snow is cold", "ice is cold"), ("2", "ice melts", "warm ice melts")]


def test_other_formats_get_a_numbered_file_a_tree(two: Path, tmp_path: Path) -> None:
    for suffix in (".svg", ".dot", ".html", ".graphml"):
        done = convert(two, tmp_path / f"out{suffix}")
        assert done == Conversion(2, (tmp_path / f"out-001{suffix}", tmp_path / f"out-002{suffix}"))
        for file, hypothesis in zip(done.files, ("snow is cold", "ice melts"), strict=True):
            assert hypothesis in file.read_text(encoding="utf-8")


def test_a_row_can_be_chosen(two: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("what was there")
    assert convert(two, out, row=2) == Conversion(1, (out,))
    assert texts(out) == texts(two)[1:]
    with pytest.raises(DataError):
        convert(two, out, row=3)


@pytest.mark.parametrize(
    ("source", "target", "error"),
    [
        ("two.jsonl", "out.pdf", FormatError),
        ("two.jsonl", "out", FormatError),
        ("two.jsonl", "out.svg.gz", FormatError),
        ("two.graphml", "out.jsonl", FormatError),
        ("none.jsonl", "out.jsonl", FormatError),
        ("cut.jsonl", "out.jsonl", FormatError),
        ("unknown.jsonl", "out.jsonl", ProofError),
        ("two.jsonl", "away/out.jsonl", DataError),
        ("two.jsonl", "folder.jsonl", DataError),
    ],
)
def test_what_cannot_be_converted_leaves_nothing(
    two: Path, tmp_path: Path, source: str, target: str, error: type[Exception]
) -> None:
    (tmp_path / "cut.jsonl").write_text(TWO + "{oops\n")
    (tmp_path / "unknown.jsonl").write_text(row("h", "sent9 -> hypothesis; ", "a"))
    (tmp_path / "folder.jsonl").mkdir()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(error):
        convert(tmp_path / source, tmp_path / target)
    assert sorted(tmp_path.iterdir()) == before
