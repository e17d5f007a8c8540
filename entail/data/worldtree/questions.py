"""Questions of WorldTree with the facts that explain their answers (releases of 2019, V1, and 2020, V2.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from entail.data.tables import TAB, read_rows
from entail.data.worldtree.tables import FactTables
from entail.errors import FormatError

Release = Literal["2019", "2020"]
"""TextGraphs' shared tasks: 2019 on WorldTree V1, 2020 on V2.1."""

CENTRAL, GROUNDING = "CENTRAL", "GROUNDING"
"""Roles of most facts; others are LEXGLUE, BACKGROUND, ROLE, NEG or NE."""

_USABLE = frozenset({"SUCCESS", "READY"})
_NEEDED = ("questionid", "answerkey", "question", "explanation", "flags")


@dataclass(frozen=True)
class Question:
    """Question with its correct answer.

    Attributes:
        id: Id of the row.
        stem: The question without its answers.
        answer: The correct answer.
        gold: Uid of each fact of the explanation -> its role, in order; empty in a blind file.
        usable: Whether the shared task of its release scores it: SUCCESS or READY is the only flag (2020),
            is among the flags (2019).
    """

    id: str
    stem: str
    answer: str
    gold: Mapping[str, str]
    usable: bool = True

    @property
    def text(self) -> str:
        """Stem and correct answer."""
        return f"{self.stem} {self.answer}".rstrip()


@dataclass(frozen=True)
class QuestionReading:
    """Readable questions of a file, by the rules of a release.

    Attributes:
        problems: Message for each row that is not readable: line, id, what was expected.
        warnings: Message for each entry of an explanation that names no role.
    """

    source: str
    release: Release
    questions: tuple[Question, ...]
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def usable(self) -> tuple[Question, ...]:
        """The questions whose explanation the shared task uses."""
        return tuple(question for question in self.questions if question.usable)

    @property
    def scored(self) -> tuple[Question, ...]:
        """Usable questions with an explanation, on which rankings are measured."""
        return tuple(question for question in self.usable if question.gold)

    @property
    def explained(self) -> tuple[Question, ...]:
        """All questions with an explanation: those that are not scored are training data, too."""
        return tuple(question for question in self.questions if question.gold)

    def __str__(self) -> str:
        parts = [f"{len(self.scored):,} questions with a usable explanation of {len(self.questions):,}"]
        if self.problems:
            parts.append(f"{len(self.problems):,} rows that cannot be read, the first: {self.problems[0]}")
        if self.warnings:
            parts.append(f"{len(self.warnings):,} read in part, the first: {self.warnings[0]}")
        return "; ".join(parts)


def read_questions(file: Path) -> QuestionReading:
    """Read a TSV of questions, may be gzipped; the release is detected by its columns.

    Raises:
        FormatError: If the file cannot be read, lacks a column, or holds no question that can be read.
    """
    table = read_rows(file, name=file.name, delimiter=TAB)
    columns = {name.lower(): name for name in table.columns}  # the two AnswerKey of 2019 agree
    absent = [name for name in _NEEDED if name not in columns]
    if absent:
        raise FormatError(
            f"expected WorldTree's columns {', '.join(_NEEDED)}, found none called {', '.join(absent)}; give "
            "a file of questions as released",
            source=file.name,
            line=1,
        )
    kind: Release = "2020" if "arcset" in columns else "2019"
    questions, problems, warnings = [], [], []
    for number, cells in table.rows:
        location = f"{file.name}, line {number}"
        if isinstance(cells, FormatError) or len(cells) != len(table.columns):
            problems.append(f"{location}: expected {len(table.columns)} cells, found fewer or more")
            continue
        row = {name: str(cells[column]).strip() for name, column in columns.items()}
        location += f" ({row['questionid'] or 'no id'})"
        gold, wrong = explanation(row["explanation"])
        warnings += [f"{location}: expected uid|ROLE in the explanation, found {entry!r}" for entry in wrong]
        try:
            stem, answer = stem_and_answer(row["question"], row["answerkey"])
        except FormatError as error:
            problems.append(f"{location}: {error}")
            continue
        flags = row["flags"].upper().split()
        usable = bool(_USABLE & {*flags}) and (kind == "2019" or len(flags) == 1)
        questions.append(Question(row["questionid"], stem, answer, gold, usable))
    if not questions:
        first = f", the first of {len(problems)} rows: {problems[0]}" if problems else ""
        raise FormatError(f"expected questions, found none that can be read{first}", source=file.name)
    return QuestionReading(file.name, kind, tuple(questions), tuple(problems), tuple(warnings))


def stem_and_answer(question: str, key: str) -> tuple[str, str]:
    """Split a multiple-choice question; its answers stand behind letters or digits, see `choices`.

    >>> stem_and_answer("What melts (if warm)? (A) ice (B) a rock", "A")
    ('What melts (if warm)?', 'ice')
    >>> stem_and_answer("Who is first? (1) Ann (2) Bob", "2")
    ('Who is first?', 'Bob')

    Raises:
        FormatError: If there are no answers, or none has this key.
    """
    stem, answers = choices(question)
    label = key.strip().upper()
    if not stem or not answers.get(label):
        labels = ", ".join(answers) or "none"
        raise FormatError(
            f"expected a question and answers (A), (B) ... with the key {key.strip()!r}, found {labels}"
        )
    return stem, answers[label]


def explanation(text: str) -> tuple[dict[str, str], list[str]]:
    """Return uid -> role of an explanation, the last one counting, and the malformed entries.

    >>> explanation("12ab|CENTRAL 34cd|LEXGLUE oops")
    ({'12ab': 'CENTRAL', '34cd': 'LEXGLUE'}, ['oops'])
    """
    entries = {entry: entry.partition("|") for entry in text.split()}
    gold = {uid.lower(): role.upper() for uid, _, role in entries.values() if uid and role}
    return gold, [entry for entry, (uid, _, role) in entries.items() if not (uid and role)]


def missing_gold(questions: Iterable[Question], facts: FactTables) -> tuple[tuple[str, str], ...]:
    """Return (question id, uid) of gold facts that are in no table."""
    return tuple((q.id, uid) for q in questions for uid in q.gold if uid not in facts.positions)


def gold_positions(question: Question, facts: FactTables) -> list[int]:
    """Return the positions of a question's gold facts, without those in no table."""
    return [facts.positions[uid] for uid in question.gold if uid in facts.positions]


_BRACKETS = re.compile(r"\(([A-Z]|[1-9])\)")


def choices(question: str) -> tuple[str, Mapping[str, str]]:
    """Return a question without its answers, and the answers by their letters or digits.

    >>> choices("What melts (if warm)? (A) ice (B) a rock")
    ('What melts (if warm)?', {'A': 'ice', 'B': 'a rock'})
    >>> choices("What did George W. Bush and B. Obama say?")
    ('What did George W. Bush and B. Obama say?', {})
    """
    best = _series(list(_BRACKETS.finditer(question)))
    if not best:
        return question, {}
    ends = [marker.start() for marker in best[1:]] + [len(question)]
    answers = {m[1]: " ".join(question[m.end() : end].split()) for m, end in zip(best, ends, strict=True)}
    return " ".join(question[: best[0].start()].split()), answers


def _series(markers: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the longest run A, B, C ... or 1, 2, 3 ...

    Of several as long the last is taken: "(A)" may stand in the question, too.
    """
    best: list[re.Match[str]] = []
    for at, first in enumerate(markers):
        if first[1] not in ("A", "1"):
            continue
        series = [first]
        for marker in markers[at + 1 :]:
            if ord(marker[1]) == ord(series[-1][1]) + 1:
                series.append(marker)
        if len(series) > 1 and len(series) >= len(best):
            best = series
    return best
