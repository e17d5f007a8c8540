"""Passages and questions as retrieval data sets are released."""

from __future__ import annotations

import gzip
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from entail.data.passages.files import (
    Passage,
    PassageTally,
    Question,
    read_passages,
    read_qrels,
    read_questions,
)
from entail.data.passages.stream import json_array
from entail.data.text import premise_key
from entail.errors import FormatError

SQUAD = {
    "version": "1.1",
    "data": [
        {
            "title": "Ice",
            "paragraphs": [
                {
                    "context": "Ice is cold.",
                    "qas": [
                        {
                            "id": "a",
                            "question": " What is cold? ",
                            "answers": [{"text": "Ice"}, {"text": "Ice"}],
                        },
                        {"id": "b", "question": "How is ice?", "answers": [{"text": "cold"}]},
                    ],
                },
                {"context": "", "qas": []},
                {"context": "Fire burns.", "qas": []},
                {"context": "Ice is cold.", "qas": []},
            ],
        }
    ],
}
DPR: list[dict[str, Any]] = [
    {
        "question": f"who won cup {number}",
        "answers": ["Rome"],
        "positive_ctxs": [{"title": "Cup", "text": f"Rome won cup {number}.", "passage_id": f"p{number}"}],
        "hard_negative_ctxs": [{"title": "Cup", "text": "A cup of tea.", "passage_id": "h"}],
        "negative_ctxs": [],
    }
    for number in range(3)
]


def written(folder: Path, name: str, value: object) -> Path:
    file = folder / name
    file.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), encoding="utf-8")
    return file


def test_squad_paragraphs_are_passages_and_gold(tmp_path: Path) -> None:
    file = tmp_path / "dev.json.gz"
    file.write_bytes(gzip.compress(json.dumps(SQUAD).encode()))
    tally = PassageTally()
    found = list(read_passages(file, tally=tally))
    assert found == [
        Passage(premise_key("Ice is cold."), "Ice is cold."),
        Passage(premise_key("Fire burns."), "Fire burns."),
    ]
    assert (tally.read, tally.empty, tally.first_empty) == (2, 1, ["Ice, paragraph 2"])
    gold = (premise_key("Ice is cold."),)
    assert list(read_questions(file)) == [
        Question("a", "What is cold?", ("Ice",), gold),
        Question("b", "How is ice?", ("cold",), gold),
    ]


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_dpr_questions_come_with_their_passages(tmp_path: Path, indent: int | None) -> None:
    file = tmp_path / "biencoder-nq-dev.json"
    file.write_text(json.dumps(DPR, indent=indent), encoding="utf-8")
    assert [passage.id for passage in read_passages(file)] == ["p0", "h", "p1", "p2"]
    assert next(iter(read_passages(file))).whole == "Cup Rome won cup 0."
    found = list(read_questions(file))
    assert found[2] == Question("3", "who won cup 2", ("Rome",), ("p2",), ("h",))


def test_other_negatives_stand_in_where_a_dpr_file_has_no_hard_ones(tmp_path: Path) -> None:
    other = [{"text": "A cup of tea.", "passage_id": "n"}]
    rows = [{**DPR[0], "negative_ctxs": other}, {**DPR[1], "hard_negative_ctxs": [], "negative_ctxs": other}]
    found = list(read_questions(written(tmp_path, "dpr.json", rows)))
    assert [one.hard_negatives for one in found] == [("h",), ("n",)]


def test_a_dpr_file_cut_in_the_middle_gives_what_is_whole_and_names_the_line(tmp_path: Path) -> None:
    whole = json.dumps(DPR, indent=1)
    cut = whole[: whole.index("who won cup 2") + 4]
    file = written(tmp_path, "cut.json", cut)
    found = read_questions(file)
    assert [next(found).text, next(found).text] == ["who won cup 0", "who won cup 1"]
    with pytest.raises(FormatError, match=r"element 3 .*the 2 before it were read") as caught:
        next(found)
    assert caught.value.line is not None
    assert abs(caught.value.line - cut.count("\n")) <= 1
    packed = tmp_path / "cut.json.gz"
    packed.write_bytes(gzip.compress(whole.encode())[:-30])
    with pytest.raises(FormatError, match=r"cut"):
        list(read_questions(packed))


def test_a_mistake_in_an_array_gives_what_is_before_it_and_names_its_element(tmp_path: Path) -> None:
    text = '[{"question": "a"},\n\n{"question": "b"}, {"question": "c"\n}\n{"question": "d"}]'
    found = read_questions(written(tmp_path, "x.json", text))
    assert [next(found).text for _ in range(3)] == ["a", "b", "c"]
    with pytest.raises(FormatError, match="element 4") as caught:
        next(found)
    assert caught.value.line == 5


def test_rows_of_an_array_know_their_line(tmp_path: Path) -> None:
    text = '\n[{"a": {"b": 1}}, {"a":\n2},\n\n{\n"a": 3.50}\n,{"a": 18446744073709551615}\n]\n'
    rows = list(json_array(written(tmp_path, "x.json", text)))
    assert [line for line, _ in rows] == [2, 2, 5, 7]
    assert [str(row["a"]) for _, row in rows] == ["{'b': 1}", "2", "3.50", "18446744073709551615"]


@pytest.mark.parametrize("kind", ["dpr", "jsonl", "tsv", "squad"])
def test_a_small_archive_that_is_cut_gives_what_is_whole_and_names_the_line(
    tmp_path: Path, kind: str
) -> None:
    words = [" ".join(sha256(f"{row} {word}".encode()).hexdigest() for word in range(5)) for row in range(30)]
    text = {
        "dpr": json.dumps([{"question": one} for one in words], indent=1),
        "jsonl": "".join(json.dumps({"question": one}) + "\n" for one in words),
        "tsv": "".join(f"{row}\t{one}\n" for row, one in enumerate(words)),
        "squad": json.dumps(SQUAD | {"words": words}, indent=1),
    }[kind]
    packed = gzip.compress(text.encode())
    file = tmp_path / "cut.gz"
    file.write_bytes(packed[: len(packed) * 2 // 3])
    found: list[str] = []
    with pytest.raises(FormatError, match=r"cut") as caught:
        found.extend(one.text for one in read_questions(file))
    assert caught.value.line is not None
    assert caught.value.line > 15
    if kind != "squad":
        assert found == words[: len(found)]
        assert len(found) >= 15


def test_an_array_larger_than_a_block_is_read(tmp_path: Path) -> None:
    rows = [{"question": f"q{number}", "answers": ["x" * 300_000]} for number in range(12)]
    file = written(tmp_path, "large.json", rows)
    assert [one.text for one in read_questions(file)] == [f"q{number}" for number in range(12)]


def test_dpr_and_ms_marco_tables(tmp_path: Path) -> None:
    dpr = written(tmp_path, "psgs.tsv", 'id\ttext\ttitle\n1\t"He said ""no"" twice."\tNo\n2\tYes.\tYes\n')
    assert list(read_passages(dpr)) == [
        Passage("1", 'He said "no" twice.', "No"),
        Passage("2", "Yes.", "Yes"),
    ]
    marco = written(tmp_path, "collection.tsv", '0\tThe "first" one\n7\tanother\n')
    assert list(read_passages(marco)) == [Passage("0", 'The "first" one'), Passage("7", "another")]
    asked = written(tmp_path, "queries.tsv", "12\twhat is ice\n")
    assert list(read_questions(asked)) == [Question("12", "what is ice")]
    answered = written(tmp_path, "nq.csv", "who won\t['Rome', \"Rome's army\"]\n")
    assert list(read_questions(answered)) == [Question("1", "who won", ("Rome", "Rome's army"))]
    qrels = written(tmp_path, "qrels.tsv", "12\t0\t7\t1\n12 0 0 0\n")
    assert list(read_qrels(qrels)) == [("12", "7")]
    with pytest.raises(FormatError, match=r"line 1: expected question id"):
        list(read_qrels(written(tmp_path, "bad.tsv", "12 seven\n")))


def test_nq_open_with_and_without_a_gold_passage(tmp_path: Path) -> None:
    plain = {"question": "who won", "answer": ["Rome"]}
    gold = {
        "question": "who lost",
        "answers": ["Carthage"],
        "ctxs": [
            {"title": "War", "text": "Carthage lost.", "isgold": True},
            {"text": "Tea.", "isgold": False},
        ],
    }
    file = written(tmp_path, "nq.jsonl", f"{json.dumps(plain)}\n{json.dumps(gold)}\n")
    found = list(read_questions(file))
    assert found == [
        Question("1", "who won", ("Rome",)),
        Question("2", "who lost", ("Carthage",), (premise_key("Carthage lost."),)),
    ]
    only = written(tmp_path, "gold.jsonl", json.dumps(gold) + "\n")
    assert [one.text for one in read_passages(only)] == ["Carthage lost.", "Tea."]


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    folder = tmp_path / "scifact"
    (folder / "qrels").mkdir(parents=True)
    corpus = [
        {"_id": "d1", "title": "Ice", "text": "Ice is cold."},
        {"_id": "d2", "title": "", "text": "Fire."},
    ]
    queries = [{"_id": "q1", "text": "what is cold"}, {"_id": "q2", "text": "not judged"}]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)), encoding="utf-8")
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq9\td2\t1\n", encoding="utf-8"
    )
    return folder


def test_beir_folders(beir: Path) -> None:
    assert list(read_passages(beir)) == [Passage("d1", "Ice is cold.", "Ice"), Passage("d2", "Fire.")]
    unknown: list[str] = []
    assert list(read_questions(beir, unknown=unknown)) == [Question("q1", "what is cold", (), ("d1",))]
    assert unknown == ["q9"]
    with pytest.raises(FormatError, match=r"expected judgements dev.tsv in qrels, found test"):
        list(read_questions(beir, split="dev"))
    (beir / "corpus.jsonl").unlink()
    with pytest.raises(FormatError, match=r"corpus\.jsonl"):
        list(read_passages(beir))


def test_html_is_taken_out_and_counted_and_comparisons_are_none(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "html.tsv",
        "1\t<p>Ice &amp; snow<br/>melt</p><script>x()</script>\n2\t2 < 3 and 5 > 4\n3\t<p> </p>\n4\t \n",
    )
    tally = PassageTally()
    assert [one.text for one in read_passages(file, tally=tally)] == ["Ice & snow melt", "2 < 3 and 5 > 4"]
    assert tally.to_json() == {"read": 2, "empty": 2, "html": 2, "first_empty": ["line 3", "line 4"]}


def test_questions_one_a_line(tmp_path: Path) -> None:
    file = written(tmp_path, "asked.txt", "who won\n\nwhen\n")
    assert list(read_questions(file)) == [Question("1", "who won"), Question("3", "when")]


@pytest.mark.parametrize("gap", ["\n", "\n  ", ""])
def test_squad_is_known_however_its_lines_are_broken(tmp_path: Path, gap: str) -> None:
    text = f'{{"version": "v2.0",{gap}"data": {json.dumps(SQUAD["data"])}}}'
    assert [one.id for one in read_questions(written(tmp_path, "v2.json", text))] == ["a", "b"]


def test_a_row_that_speaks_of_data_is_no_squad(tmp_path: Path) -> None:
    row = json.dumps({"question": "what is it", "answer": ["data"], "meta": {"data": [1]}})
    long = json.dumps({"question": "which word", "answer": ["paragraphs", "x" * 70_000]})
    for content in (row, long):
        assert len(list(read_questions(written(tmp_path, "nq.jsonl", content)))) == 1


def test_a_query_may_begin_with_a_bracket(tmp_path: Path) -> None:
    asked = written(tmp_path, "queries.tsv", "100\twhen\n101\t[what] is ice\n102\t[1, 2]\nq3\t[x\n")
    assert [(one.id, one.text) for one in read_questions(asked)] == [
        ("100", "when"),
        ("101", "[what] is ice"),
        ("102", "[1, 2]"),
        ("q3", "[x"),
    ]


def test_judgements_may_be_decimal(tmp_path: Path) -> None:
    file = written(tmp_path, "qrels.tsv", "1\t0\t7\t1.0\n1\t0\t8\t0.0\n2\t0\t9\t-1\n")
    assert list(read_qrels(file)) == [("1", "7")]
    with pytest.raises(FormatError, match=r"line 1: expected question id"):
        list(read_qrels(written(tmp_path, "bad.tsv", "1 0 7 nan\n")))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.json", '{"data": 3}', 'a list "data"'),
        ("x.json", "[3]", "expected an object, found 3"),
        ("x.jsonl", '{"a": 1}\n{"question"', "line 1: expected a question, found only the fields a"),
        ("x.jsonl", '{"question": "q"}\n{"question"', "line 2"),
        ("x.tsv", "q\t[oops]\n", "line 1: expected a list of answers"),
    ],
)
def test_bad_files_name_their_place(tmp_path: Path, name: str, content: str, said: str) -> None:
    with pytest.raises(FormatError) as caught:
        list(read_questions(written(tmp_path, name, content)))
    assert said in str(caught.value)
    assert name in str(caught.value)


def test_a_file_that_is_not_there_or_binary(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"can be read"):
        list(read_passages(tmp_path / "none.json"))
    (tmp_path / "bin").write_bytes(b"\xff\xfe\x00\x01" * 100)
    with pytest.raises(FormatError, match=r"UTF-8"):
        list(read_passages(tmp_path / "bin"))
    (tmp_path / "half.json").write_bytes(b'[{"question": "q"},\n\n{"question": "\xff"}]')
    found = read_questions(tmp_path / "half.json")
    assert next(found).text == "q"
    with pytest.raises(FormatError, match=r"line 3: expected text in UTF-8"):
        next(found)
