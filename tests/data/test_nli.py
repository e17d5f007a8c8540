"""Miniature files, each as the official one of its kind is written."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from entail.data.nli.pairs import NliPair, read_nli
from entail.errors import FormatError, SettingsError

MULTINLI = (
    "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse\tsentence1"
    "\tsentence2\tpromptID\tpairID\tgenre\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5"
)
SICK = (
    "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tentailment_AB\tentailment_BA"
    "\tsentence_A_original\tsentence_B_original\tsentence_A_dataset\tsentence_B_dataset\tSemEval_set"
)


def snli(label: Any, premise: Any, hypothesis: Any, **more: Any) -> str:
    """Make a line of official SNLI or MultiNLI JSONL."""
    row = {
        "annotator_labels": [label],
        "gold_label": label,
        "pairID": "1",
        "sentence1": premise,
        "sentence1_binary_parse": "( A )",
        "sentence2": hypothesis,
    }
    return json.dumps({**row, **more})


def sick(number: int, a: str, b: str, label: str, ab: str, ba: str, part: str) -> str:
    directions = f"A_{ab}_B\tB_{ba}_A"
    return f"{number}\t{a}\t{b}\t{label}\t4.5\t{directions}\t{a}\t{b}\tFLICKR\tFLICKR\t{part}"


SICK_FILE = "\r\n".join(
    [
        SICK,
        sick(1, "Kids play in a yard", "Kids play", "ENTAILMENT", "entails", "neutral", "TRAIN"),
        sick(2, "A man sings", "A man is singing", "ENTAILMENT", "entails", "entails", "TRAIN"),
        sick(3, 'He says "no', "It rains", "NEUTRAL", "contradicts", "neutral", "TRIAL"),
        sick(4, "A dog runs", "No dog runs", "CONTRADICTION", "contradicts", "contradicts", "TEST"),
        "",
    ]
).encode()


def test_official_jsonl() -> None:
    lines = [
        snli("neutral", "A person on a horse.", "He trains."),
        snli("-", "A person.", "A dog."),
        snli("entailment", " The rights ", "Rights. "),
        snli("contradiction", "A\u2028B", "C"),
        "",
    ]
    reading = read_nli("\n".join(lines).encode(), name="dev.jsonl")
    assert reading.pairs == (
        NliPair("A person on a horse.", "He trains.", "neutral"),
        NliPair(" The rights ", "Rights. ", "entailment"),
        NliPair("A\u2028B", "C", "contradiction"),
    )
    assert reading.source == "dev.jsonl"
    assert reading.other_labels == {"-": 1}
    assert reading.counts == {"entailment": 1, "neutral": 1, "contradiction": 1}
    assert (reading.skipped, reading.unreadable) == (1, 0)


@pytest.mark.parametrize(
    "two",
    ["non-entailment", "not_entailment", "Not Entailed", "nonentailment", "no_entailment", "does not entail"],
)
def test_neutral_and_contradiction_are_one_class_of_some_data_sets(two: str) -> None:
    rows = [("entails", "a"), (two, "b"), ("hidden", "c")]
    reading = read_nli("\n".join(snli(label, "p", text) for label, text in rows).encode())
    assert [pair.label for pair in reading.pairs] == ["entailment", "not_entailment"]
    assert reading.counts == {"entailment": 1, "not_entailment": 1}
    assert reading.other_labels == {"hidden": 1}
    columns = {"premise": ["p", "q"], "hypothesis": ["a", "b"], "label": [0, 1]}
    numbered = read_nli(parquet(columns, names=[two, "entailment"]), name="rte.parquet")
    assert [pair.label for pair in numbered.pairs] == ["not_entailment", "entailment"]


@pytest.mark.parametrize("two", ["UNKNOWN", "NotMentioned"])
def test_a_second_class_that_is_not_known_is_refused(two: str) -> None:
    rows = [snli("entailment", "p", "a"), snli(two, "p", "b")]
    with pytest.raises(FormatError, match=two):
        read_nli("\n".join(rows).encode())


def test_two_numbers_without_names_are_refused() -> None:
    columns = {"premise": ["p", "q"], "hypothesis": ["a", "b"], "label": [0, 1]}
    with pytest.raises(FormatError, match="0 and 1"):
        read_nli(parquet(columns), name="x.parquet")


def test_official_text_takes_quotation_marks_as_they_are() -> None:
    rows = [
        MULTINLI,
        'entailment\t( a )\t( b )\t(ROOT)\t(ROOT)\t"It\'s you," he said.\tn/a\t1\t1e\tfiction\tentailment',
        'neutral\t( a )\t( b )\t(ROOT)\t(ROOT)\t"Go\tNo one "went\t2\t2n\tfiction\tneutral\t\t\t\t',
        "contradiction\t( a )\t( b )\t(ROOT)\t(ROOT)\tone\ttwo\t3\t3c\tslate\tcontradiction",
    ]
    reading = read_nli("\n".join(rows).encode())
    assert reading.pairs == (
        NliPair('"It\'s you," he said.', "n/a", "entailment"),
        NliPair('"Go', 'No one "went', "neutral"),
        NliPair("one", "two", "contradiction"),
    )


def test_sick_keeps_both_directions() -> None:
    reading = read_nli(SICK_FILE)
    assert [pair.label for pair in reading.pairs] == ["entailment", "entailment", "neutral", "contradiction"]
    assert [pair.bilateral for pair in reading.pairs] == [False, True, False, False]
    assert reading.pairs[2] == NliPair('He says "no', "It rains", "neutral", "contradiction", "neutral")


def test_a_split_of_sick() -> None:
    for split, size in {"TRAIN": 2, "trial": 1, "dev": 1, "TEST": 1, None: 4}.items():
        assert len(read_nli(SICK_FILE, split=split).pairs) == size
    with pytest.raises(SettingsError, match="TRAIN, TRIAL, TEST"):
        read_nli(SICK_FILE, split="other")
    with pytest.raises(SettingsError):
        read_nli(snli("entailment", "p", "h").encode(), name="x.jsonl", split="train")


def parquet(columns: dict[str, list[Any]], *, names: list[str] | None = None) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet as pq

    table = pa.table(columns)
    if names is not None:
        metadata = {"info": {"features": {"label": {"names": names, "_type": "ClassLabel"}}}}
        table = table.replace_schema_metadata({"huggingface": json.dumps(metadata)})
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


COLUMNS = {"premise": ["a", "b", "c", "d"], "hypothesis": ["1", "2", "3", "4"], "label": [0, 1, 2, -1]}


@pytest.mark.parametrize("names", [None, ["contradiction", "entailment", "neutral"]])
def test_parquet_of_the_hub(tmp_path: Path, names: list[str] | None) -> None:
    (tmp_path / "x.parquet").write_bytes(parquet(COLUMNS, names=names))
    reading = read_nli(tmp_path / "x.parquet")
    assert [pair.label for pair in reading.pairs] == (names or ["entailment", "neutral", "contradiction"])
    assert reading.other_labels == {"-1": 1}


def test_a_damaged_parquet_file() -> None:
    with pytest.raises(FormatError):
        read_nli(parquet(COLUMNS)[:-20], name="x.parquet")


def test_numbers_are_labels_only_where_asked_for() -> None:
    rows = "\n".join(json.dumps({"premise": "p", "hypothesis": "h", "label": n}) for n in (0, 2, -1, 7))
    assert [pair.label for pair in read_nli(rows.encode(), numbered=True).pairs] == [
        "entailment",
        "contradiction",
    ]
    with pytest.raises(FormatError, match="'0'"):
        read_nli(rows.encode())


def test_rows_that_cannot_be_read_are_named_and_counted() -> None:
    lines = [
        snli("entailment", "p", "h"),
        "{broken",
        "[1]",
        snli("entailment", None, "h"),
        snli("neutral", "p", 7),
        '{"sentence1": "p", "sentence2": "h"}',
        snli("neutral", "  ", "h"),
        snli("neutral", "p", "\u200b"),
        snli("hidden", "p", "h"),
        snli(None, "p", "h"),
    ]
    reading = read_nli("\n".join(lines).encode(), name="odd.jsonl")
    assert len(reading.pairs) == 1
    assert (reading.unreadable, reading.empty) == (5, 2)
    assert reading.other_labels == {"hidden": 1, "null": 1}
    starts = [problem.split(":")[0] for problem in reading.problems]
    assert starts == [f"odd.jsonl, line {number}" for number in (2, 3, 4, 5, 6)]
    assert json.loads(json.dumps(reading.to_json()))["skipped"]["unreadable"] == 5


def test_a_quotation_mark_that_is_never_closed_costs_nothing_in_a_tsv() -> None:
    text = (
        'sentence1\tsentence2\tgold_label\n"p\th\tneutral\n"Go now.\the said."\tneutral\n'
        '"At ""Shop"", a boy"\tA boy\tentailment\n"a\tb"\th\tneutral\n'
    )
    reading = read_nli(text.encode(), name="x.tsv")
    assert reading.pairs == (
        NliPair('"p', "h", "neutral"),
        NliPair('"Go now.', 'he said."', "neutral"),
        NliPair('At "Shop", a boy', "A boy", "entailment"),
    )
    assert [problem.split(":")[0] for problem in reading.problems] == ["x.tsv, line 5"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        (",,\n,,\n", "empty"),
        ("premise,hypothesis\np,h\n", "gold_label"),
        ('{"text": "a"}\n', "'text'"),
        ("{broken\n{broken\n", "line 1"),
        ("premise,hypothesis,label\n", "0 pairs"),
        ("premise,hypothesis,label\np,h,yes\n", "'yes'"),
        ("premise,hypothesis,label\np,,neutral\n", "1 with an empty sentence"),
        ("premise,hypothesis,label\np,h,neutral,x\n", "line 2"),
        ("just some words\n", "columns"),
    ],
)
def test_files_that_are_none_are_refused(text: str, part: str) -> None:
    with pytest.raises(FormatError, match=part):
        read_nli(text.encode(), name="x")
