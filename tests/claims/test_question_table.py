"""Tables of questions, in and out."""

import csv
import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.claims import existence_claim
from entail.claims.table import claim_rows, claim_table, merge_edits
from entail.data.passages import question_table as claims_rows
from entail.data.passages.question_table import QuestionTable, read_pasted, read_table
from entail.data.spreadsheets import to_csv
from entail.errors import EvaluationError, FormatError
from entail.ui.claims.table import editor_frame

TABLE = read_table(
    b"\xef\xbb\xbfid,Question,Answer,rule\n1,When did Tesla die?,1943,old\n2,,x,y\n3,=blue,,\n", name="a.csv"
)

SQUAD = json.dumps(
    {"data": [{"title": "T", "paragraphs": [{"context": "Ice.", "qas": [
        {"id": "1", "question": "What?", "answers": [{"text": "ice", "answer_start": 0}]}
    ]}]}]}
)  # fmt: skip


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(
    ("name", "content", "questions", "answers"),
    [
        ("a.tsv", b"anything\tanswers\nWho?\tItaly\nWhy?\n", ["Who?", "Why?"], ["Italy", ""]),
        ("a.tsv", b"question\nWho, or what?\n", ["Who, or what?"], [""]),
        (
            "a.csv",
            b"id;question;answer\n1;Who, or what?;Italy\n2;Why?\n",
            ["Who, or what?", "Why?"],
            ["Italy", ""],
        ),
        ("a.csv", b"id,sentence\n1,the winner of the cup\n", ["the winner of the cup"], [""]),
        ("a.csv", b'question\n"Who won, ""Italy""?"\n', ['Who won, "Italy"?'], [""]),
        ("a.txt", b"Who won?\n\nWhy?\n", ["Who won?", "Why?"], ["", ""]),
        ("a.txt.gz", gzip.compress(b"Who won?\n", mtime=0), ["Who won?"], [""]),
        ("a.jsonl", b'{"question": "Who?", "answer": ["Italy", "it"]}\n', ["Who?"], ["Italy"]),
        ("dev.json", SQUAD.encode(), ["What?"], ["ice"]),
    ],
)
def test_questions_of_every_kind_of_file(
    name: str, content: bytes, questions: list[str], answers: list[str]
) -> None:
    table = read_table(content, name=name)
    assert (table.questions, table.answers) == (questions, answers)


def test_commas_of_a_single_column_are_part_of_the_question() -> None:
    assert read_table(b"question\nWhy?\nWho, or what?\n", name="a.csv").rows == (
        ("Why?",),
        ("Who, or what?",),
    )


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("a.csv", b"question\n", EvaluationError, "a.csv: expected 1 to 50,000 questions, found 0"),
        ("a.csv", b"", FormatError, "a header"),
        (
            "a.csv",
            b"question,answer\nWhy?,a\nWho, or what?,b\n",
            FormatError,
            "a.csv, line 3: expected as many",
        ),
        ("a.csv", b'question\n"Why?\n', FormatError, "a.csv, line 2: expected CSV"),
        ("a.jsonl", b'{"question": "Who?"}\n{"x"', FormatError, "a.jsonl, line 2"),
        ("a.txt", b"why " * 6000, EvaluationError, "found question 1 of 23,999"),
    ],
)
def test_what_is_no_table_of_questions_is_refused(
    name: str, content: bytes, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        read_table(content, name=name)
    assert message in str(raised.value)


def test_too_many_questions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims_rows, "MOST", 2)
    with pytest.raises(EvaluationError, match="expected 1 to 2 questions, found 3"):
        read_pasted("a\nb\nc")


def test_claims_go_out_with_every_column_edits_and_guarded_cells() -> None:
    assert TABLE.rows[0] == ("1", "When did Tesla die?", "1943", "old")
    claimed = claim_table(TABLE)
    assert (claimed.fallback, claimed.counts()) == (1, [("when", 1), ("general", 1)])
    first, second = rows(to_csv(claim_rows(TABLE, claimed, {1: "=Blue is a colour."})))
    assert first == {
        "id": "1",
        "Question": "When did Tesla die?",
        "Answer": "1943",
        "claim": "There exists a known time when Tesla died.",
        "rule": "when",
        "fallback": "0",
        "edited": "0",
        "statement": "Tesla died in 1943.",
    }
    assert (second["Question"], second["claim"]) == ("'=blue", "'=Blue is a colour.")
    assert (second["fallback"], second["edited"], second["statement"]) == ("1", "1", "")


def test_edits_of_a_filtered_table_go_to_their_rows_and_back() -> None:
    claimed = claim_table(TABLE)
    edits = merge_edits({}, {0: {"claim": " It is  blue. "}, 7: {"claim": "x"}}, [1], claimed)
    assert edits == {1: "It is blue."}
    assert merge_edits(edits, {0: {"claim": claimed.claims[1].text}}, [1], claimed) == {}
    assert merge_edits(edits, {0: {"claim": None}}, [1], claimed) == {}
    frame = editor_frame(TABLE, claimed, [1], edits)
    assert frame.to_dict("records") == [
        {
            "question": "=blue",
            "claim": "It is blue.",
            "rule": "general",
            "no rule": True,
            "answer": "",
            "statement": "",
        }
    ]
    bare = QuestionTable(("question",), (("Why?",),))
    assert "answer" not in editor_frame(bare, claim_table(bare), [0], {})


@given(st.text(alphabet='aé水?,"\t=\n ', max_size=40))
def test_whatever_is_pasted_comes_back_as_csv(text: str) -> None:
    try:
        table = read_pasted(text)
    except EvaluationError:
        assert not text.strip()
        return
    back = rows(to_csv(claim_rows(table, claim_table(table), {})))
    assert [row["claim"].removeprefix("'") for row in back] == [
        existence_claim(question).text.removeprefix("'") for question in table.questions
    ]
