"""Table of questions, with answers where it has them: read from a file or pasted text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entail.data.passages.files import ANSWER_COLUMNS, QUESTION_COLUMNS, read_questions
from entail.data.reading import read_content
from entail.data.tables import longest_columns, named_columns, read_rows, sample_texts
from entail.errors import EvaluationError

MOST = 50_000
"""Limit of questions of a table."""

MAX_LENGTH = 20_000
"""Limit of characters of a question."""


@dataclass(frozen=True)
class QuestionTable:
    """Questions in a table of any columns; `question` and `answer` are the positions of two of them."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    question: int = 0
    answer: int | None = None

    @property
    def questions(self) -> list[str]:
        """The question of every row."""
        return [row[self.question] for row in self.rows]

    @property
    def answers(self) -> list[str]:
        """The answer of every row, empty where there is none."""
        return ["" if self.answer is None else row[self.answer] for row in self.rows]


def read_table(content: bytes, *, name: str) -> QuestionTable:
    """Return the questions of a file; rows without one are left out.

    CSV and TSV have a header with a column of `QUESTION_COLUMNS` or `text`, else the column with the longest
    texts is taken. Other files are read by `entail.data.passages.files.read_questions`.

    Raises:
        FormatError: If it cannot be read.
        EvaluationError: If it holds no question, too many, or one that is too long.
    """
    low = name.lower().removesuffix(".gz")
    if low.endswith((".csv", ".tsv")):
        return _check(_read_csv(content, "\t" if low.endswith(".tsv") else None, name), name)
    questions = read_content(content, name, lambda path: list(read_questions(path)))
    return _from_pairs([(question.text, next(iter(question.answers), "")) for question in questions], name)


def read_pasted(text: str) -> QuestionTable:
    r"""Return pasted questions, one a line; behind a tab may stand an answer, as when cells are copied.

    >>> read_pasted("Who won?\tItaly\n\nWhy?").rows
    (('Who won?', 'Italy'), ('Why?', ''))

    Raises:
        EvaluationError: If there are none, or too many.
    """
    pairs = (line.partition("\t") for line in text.splitlines() if line.strip())
    return _from_pairs([(question.strip(), answer.strip()) for question, _, answer in pairs], "the text")


def _from_pairs(pairs: Sequence[tuple[str, str]], name: str) -> QuestionTable:
    if any(answer for _, answer in pairs):
        return _check(QuestionTable(("question", "answer"), tuple(pairs), answer=1), name)
    return _check(QuestionTable(("question",), tuple((question,) for question, _ in pairs)), name)


def _read_csv(content: bytes, delimiter: str | None, name: str) -> QuestionTable:
    table = read_rows(content, name=name, delimiter=delimiter)
    rows = [row for _, row in table.readable()]
    named = named_columns(table.columns, {"question": (*QUESTION_COLUMNS, "text"), "answer": ANSWER_COLUMNS})
    likely = (c for c in longest_columns(sample_texts(table.columns, rows)) if c != named.get("answer"))
    question = table.columns.index(named.get("question") or next(likely, table.columns[0]))
    cells = (tuple(str(row.get(column, "")) for column in table.columns) for row in rows)
    return QuestionTable(
        table.columns,
        tuple(row for row in cells if row[question].strip()),
        question,
        table.columns.index(named["answer"]) if "answer" in named else None,
    )


def _check(table: QuestionTable, name: str) -> QuestionTable:
    if not 0 < len(table.rows) <= MOST:
        raise EvaluationError(f"{name}: expected 1 to {MOST:,} questions, found {len(table.rows):,}")
    for number, question in enumerate(table.questions, start=1):
        if len(question) > MAX_LENGTH:
            raise EvaluationError(
                f"{name}: expected questions of at most {MAX_LENGTH:,} characters, found question {number} "
                f"of {len(question):,}"
            )
    return table
