"""From file to file, by suffix."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import networkx as nx
import pytest

from entail.errors import DataError, FormatError, ProofError
from entail.trees.formats.convert import Conversion, convert


def row(hypothesis: str, proof: str, *texts: str, id: str = "r") -> str:
    triples = {f"sent{i}": text for i, text in enumerate(texts, start=1)}
    return (
        json.dumps({"id": id, "hypothesis": hypothesis, "proof": proof, "meta": {"triples": triples}}) + "\n"
    )


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


def test_jsonl_holds_all_trees(two: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert convert(two, out) == Conversion(2, (out,))
    assert texts(out) == texts(two)
    again = tmp_path / "again.jsonl"
    convert(out, again)
    assert again.read_bytes() == out.read_bytes()


def test_packed_files_in_and_out(two: Path, tmp_path: Path) -> None:
    packed, plain = tmp_path / "out.JSONL.gz", tmp_path / "plain.jsonl"
    convert(two, packed)
    assert gzip.decompress(packed.read_bytes()).count(b"\n") == 2
    convert(packed, plain)
    assert texts(plain) == texts(two)
    convert(two, tmp_path / "out.csv.gz")
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()).startswith(b'"tree","parent",')


def test_csv_holds_the_pairs_of_all_trees(two: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    convert(two, out)
    with out.open(newline="") as file:
        pairs = [(r["tree"], r["parent"], r["child"]) for r in csv.DictReader(file)]
    assert pairs == [
        ("1", "snow is cold", "snow is ice"),
        ("1", "snow is cold", "ice is cold"),
        ("2", "ice melts", "warm ice melts"),
        ("2", "ice melts", "ice is ice"),
        ("2", "warm ice melts", "it is warm"),
    ]


@pytest.mark.parametrize(
    ("suffix", "begins"),
    [(".svg", "<svg"), (".dot", "digraph"), (".html", "<!DOCTYPE html>"), (".graphml", "<?xml")],
)
def test_other_formats_get_a_numbered_file_a_tree(
    two: Path, tmp_path: Path, suffix: str, begins: str
) -> None:
    done = convert(two, tmp_path / f"out{suffix}")
    files = (tmp_path / f"out-001{suffix}", tmp_path / f"out-002{suffix}")
    assert done == Conversion(2, files)
    for file, says in zip(files, ("snow is cold", "ice melts"), strict=True):
        text = file.read_text(encoding="utf-8")
        assert text.startswith(begins)
        assert says in text
    assert not (tmp_path / f"out{suffix}").exists()


def test_a_row_can_be_chosen(two: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.svg"
    assert convert(two, out, row=2) == Conversion(1, (out,))
    assert "ice melts" in "".join(ET.parse(out).getroot().itertext())
    with pytest.raises(DataError, match=r"two\.jsonl: expected a row from 1 to 2, found 3"):
        convert(two, out, row=3)
    (tmp_path / "one.jsonl").write_text("what was there")
    convert(two, tmp_path / "one.jsonl", row=1)
    assert texts(tmp_path / "one.jsonl") == texts(two)[:1]


def test_graphml_goes_back_to_the_same_row(two: Path, tmp_path: Path) -> None:
    convert(two, tmp_path / "direct.jsonl", row=2)
    convert(two, tmp_path / "graph.graphml", row=2)
    convert(tmp_path / "graph.graphml", tmp_path / "back.jsonl")
    assert (tmp_path / "back.jsonl").read_bytes() == (tmp_path / "direct.jsonl").read_bytes()
    assert len(nx.read_graphml(tmp_path / "graph.graphml")) == 4


@pytest.mark.parametrize("name", ["out.pdf", "out", "out.svg.gz"])
def test_an_unknown_ending_is_refused_with_the_known_ones(two: Path, tmp_path: Path, name: str) -> None:
    endings = r"\.csv, \.dot, \.graphml, \.html, \.jsonl, \.svg to write"
    with pytest.raises(FormatError, match=rf"ends in one of {endings} .*found '{name}'"):
        convert(two, tmp_path / name)
    with pytest.raises(FormatError, match=r"\.graphml, \.jsonl, \.txt to read \(\.jsonl also with \.gz\)"):
        convert(tmp_path / "in.csv", tmp_path / "out.jsonl")
    assert [*tmp_path.iterdir()] == [two]


def test_malformed_input_shows_through_and_nothing_is_written(two: Path, tmp_path: Path) -> None:
    two.write_text(TWO + "{oops\n")
    with pytest.raises(FormatError, match=r"two\.jsonl, line 3"):
        convert(two, tmp_path / "out.jsonl")
    two.write_text(row("h", "sent9 -> hypothesis; ", "a"))
    with pytest.raises(ProofError, match=r"two\.jsonl, line 1, field 'proof': .*sent9"):
        convert(two, tmp_path / "out.jsonl")
    with pytest.raises(FormatError, match=r"none\.jsonl"):
        convert(tmp_path / "none.jsonl", tmp_path / "out.jsonl")
    assert [*tmp_path.iterdir()] == [two]


def test_a_folder_that_is_not_there_or_in_the_way_is_named(two: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no folder .*away; make it first"):
        convert(two, tmp_path / "away" / "out.jsonl")
    (tmp_path / "out.jsonl").mkdir()
    with pytest.raises(DataError, match=r"out\.jsonl: expected to write a file here, found: Is a directory"):
        convert(two, tmp_path / "out.jsonl")
    assert not [*tmp_path.glob(".out*")]
