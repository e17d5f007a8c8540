"""Releases of WorldTree: tables and questions, in miniature."""

import gzip
from pathlib import Path

import pytest

from entail.data.worldtree.questions import (
    gold_positions,
    missing_gold,
    read_questions,
    stem_and_answer,
)
from entail.data.worldtree.tables import read_fact_tables
from entail.errors import FormatError

KINDOF = [
    [
        "[FILL] a/the",
        "HYPONYM",
        "[FILL] is a kind of",
        "HYPERNYM",
        "[SKIP] NOTE",
        "[SKIP] DEP",
        "[SKIP] UID",
        "",
    ],
    ["a", "cube", "is a kind of", "shape", "looks fine", "", "aaaa-0001", ""],
    ["", "  red  ", "is a kind of", "colour", '"direction=heat" ok?', "", "aaaa-0002", ""],
    ["", '"so-called ""blue"""', "is a kind of", "colour", "", "", "AAAA-0003", ""],
    [""] * 8,
    ["a", "cone", "is a kind of", "shape", "", "aaaa-0009", "", ""],
    ["", "", "", "", "words were moved", "", "aaaa-0004", ""],
    ["a", "dice", "is a kind of", "cube", "", "", "aaaa-0001", ""],
]
PARTOF = [
    ["PART", "[FILL] is part of", "WHOLE", "[SKIP] UID"],
    ["a face", "is part of", "a cube", "bbbb-0001"],
]

HEAD_2020 = str.split(
    "QuestionID originalQuestionID totalPossiblePoint AnswerKey isMultipleChoiceQuestion includesDiagram "
    "examName schoolGrade subject category year topic explanation question flags arcset"
)
HEAD_2019 = str.split(
    "questionID originalQuestionID totalPossiblePoint AnswerKey isMultipleChoiceQuestion includesDiagram "
    "examName grade year AnswerKey Question explanation notes annotators flags subject category fold"
)


def tsv(rows: list[list[str]], end: str = "\n") -> str:
    return end.join("\t".join(row) for row in rows) + end


def row(head: list[str], **told: str) -> list[str]:
    return [told.get(name.lower().replace(" ", "_"), "") for name in head]


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "KINDOF.tsv").write_text(tsv(KINDOF), encoding="utf-8")
    (folder / "PARTOF.tsv.gz").write_bytes(gzip.compress(tsv(PARTOF, "\r\n").encode()))
    (folder / "notes.txt").write_text("no table", encoding="utf-8")
    return folder


def questions_2020(tmp_path: Path) -> Path:
    rows = [
        row(HEAD_2020, questionid="Q1", answerkey="B", arcset="Challenge", flags="SUCCESS",
            question="Which is (most likely) a shape? (A) a noise (B) a cube (C) blue",
            explanation="aaaa-0001|CENTRAL bbbb-0001|GROUNDING aaaa-0003|LEXGLUE"),
        row(HEAD_2020, questionid="Q2", answerkey="2", arcset="Easy", flags="ready",
            explanation="aaaa-0002|CENTRAL",
            question='"Ann wrote ""red"". What is it? (1) a shape (2) a colour"'),
        row(HEAD_2020, questionid="Q3", answerkey="A", arcset="Easy", flags="SUCCESS DUPMERGE",
            question="What? (A) this (B) that", explanation="aaaa-0002|CENTRAL"),
        row(HEAD_2020, questionid="Q4", answerkey="D", arcset="Easy", flags="SUCCESS",
            question="What? (A) this (B) that", explanation="aaaa-0002|CENTRAL"),
        row(HEAD_2020, questionid="Q5", answerkey="A", arcset="Easy", flags="SUCCESS",
            question="What? (A) this (B) that", explanation="ffff-0000|CENTRAL aaaa-0001 aaaa-0002|NEG"),
        ["Q6", "cut off"],
        row(HEAD_2020, questionid="Q7", answerkey="A", flags="SUCCESS", question="What? (A) this (B) that"),
    ]  # fmt: skip
    file = tmp_path / "questions.tsv"
    file.write_text(tsv([HEAD_2020, *rows]), encoding="utf-8")
    return file


def test_facts_are_their_cells_without_what_is_skipped(tables: Path) -> None:
    read = read_fact_tables(tables)
    assert read.texts == (
        "a cube is a kind of shape",
        "red is a kind of colour",
        'so-called "blue" is a kind of colour',
        "a face is part of a cube",
    )
    assert [fact.uid for fact in read.facts] == ["aaaa-0001", "aaaa-0002", "AAAA-0003", "bbbb-0001"]
    assert [fact.table for fact in read.facts] == ["KINDOF", "KINDOF", "KINDOF", "PARTOF"]
    assert read.positions["aaaa-0003"] == 2
    assert read.repeats == ("aaaa-0001",)
    assert [problem.split(":")[0] for problem in read.problems] == [
        "KINDOF.tsv, line 6",
        "KINDOF.tsv, line 7",
    ]


def test_tables_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        read_fact_tables(tmp_path / "none")
    with pytest.raises(FormatError):
        read_fact_tables(tmp_path)
    for text in ("WORDS\tUID\na\tb\n", "", "WORDS\t[SKIP] UID\n"):
        (tmp_path / "A.tsv").write_text(text, encoding="utf-8")
        with pytest.raises(FormatError):
            read_fact_tables(tmp_path)


def test_questions_of_2020(tables: Path, tmp_path: Path) -> None:
    read = read_questions(questions_2020(tmp_path))
    assert read.release == "2020"
    first, second, third, fifth, seventh = read.questions
    assert (first.id, first.stem, first.answer) == ("Q1", "Which is (most likely) a shape?", "a cube")
    assert first.text == "Which is (most likely) a shape? a cube"
    assert first.gold == {"aaaa-0001": "CENTRAL", "bbbb-0001": "GROUNDING", "aaaa-0003": "LEXGLUE"}
    assert (second.stem, second.answer) == ('Ann wrote "red". What is it?', "a colour")
    assert [q.usable for q in read.questions] == [True, True, False, True, True]
    assert read.usable == (first, second, fifth, seventh)
    assert read.scored == (first, second, fifth)
    assert read.explained == (first, second, third, fifth)
    assert [problem.split(":")[0] for problem in read.problems] == [
        "questions.tsv, line 5 (Q4)",
        "questions.tsv, line 7",
    ]
    assert [warning.split(":")[0] for warning in read.warnings] == ["questions.tsv, line 6 (Q5)"]
    facts = read_fact_tables(tables)
    assert missing_gold(read.usable, facts) == (("Q5", "ffff-0000"),)
    assert gold_positions(first, facts) == [0, 3, 2]
    assert gold_positions(fifth, facts) == [1]


def test_questions_of_2019_are_usable_with_further_flags(tmp_path: Path) -> None:
    question = "What? (A) this (B) that"
    rows = [
        row(HEAD_2019, questionid=f"Q{i}", answerkey="A", question=question, flags=flags,
            explanation="aaaa-0001|CENTRAL", category="Dev", fold="Challenge")
        for i, flags in enumerate(["SUCCESS", "FLAG3 READY", "EMPTY HARD", "", "UNREADY"])
    ]  # fmt: skip
    file = tmp_path / "Elem-Dev-Expl.tsv"
    file.write_text(tsv([HEAD_2019, *rows]), encoding="utf-8")
    read = read_questions(file)
    assert read.release == "2019"
    assert [q.id for q in read.usable] == ["Q0", "Q1"]


@pytest.mark.parametrize("text", ["QuestionID\tquestion\nQ1\tWhat?\n", tsv([HEAD_2020, ["Q1"]])])
def test_files_that_are_no_questions_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(FormatError):
        read_questions(tmp_path / "x.tsv")


@pytest.mark.parametrize(
    ("question", "key", "expected"),
    [
        ("What? (A) x (B) y (C) z (D) w", "D", ("What?", "w")),
        ("What? (1) x (2) y", "1", ("What?", "x")),
        ("Look at (A) and (B). Which? (A) x (B) y", "B", ("Look at (A) and (B). Which?", "y")),
        ("Vitamin (E) is? (A) x (B) y", "B", ("Vitamin (E) is?", "y")),
    ],
)
def test_the_correct_answer_is_taken_out(question: str, key: str, expected: tuple[str, str]) -> None:
    assert stem_and_answer(question, key) == expected


@pytest.mark.parametrize(
    ("question", "key"),
    [("What?", "A"), ("What? (A) x", "A"), ("What? (A) x (B) y", ""), ("What? (A) x (B) y", "E"),
     ("(A) x (B) y", "A"), ("What? (A) x (B)", "B"), ("What? (A) x (B) y", "AB"),
     ("What? (A) x (B) y", "0"), ("", "")],
)  # fmt: skip
def test_questions_without_that_answer_are_refused(question: str, key: str) -> None:
    with pytest.raises(FormatError):
        stem_and_answer(question, key)
