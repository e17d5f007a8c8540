"""Questions of WorldTree with the facts that explain their answers (releases of 2019, V1, and 2020, V2.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from entail.data.worldtree.tables import (
    FactTables,
    read_rows,
)
from entail.errors import FormatError

Release = Literal["2019", "2020"]
"""TextGraphs' shared tasks: 2019 on WorldTree V1, 2020 on V2.1."""

CENTRAL, GROUNDING, LEXICAL_GLUE = "CENTRAL", "GROUNDING", "LEXGLUE"
ROLES = (CENTRAL, GROUNDING, LEXICAL_GLUE)
"""Roles of nearly all facts; a few are BACKGROUND, ROLE, NEG or NE."""

_USABLE = frozenset({"SUCCESS", "READY"})
_NEEDED = ("questionid", "answerkey", "question", "explanation", "flags")
_LEVELS: Mapping[Release, str] = {"2019": "fold", "2020": "arcset"}


@dataclass(frozen=True)
class Question:
    """Question with its correct answer.

    Attributes:
        id: Id of the row.
        stem: The question without its answers.
        answer: The correct answer.
        gold: Uid of each fact of the explanation -> its role, in order; empty in a blind file.
        level: `Easy` or `Challenge`, None without one.
        usable: Whether the shared task of its release scores it: SUCCESS or READY is the only flag (2020),
            is among the flags (2019).
        choices: All answers, in order; empty where they are unknown.
    """

    id: str
    stem: str
    answer: str
    gold: Mapping[str, str]
    level: str | None = None
    usable: bool = True
    choices: tuple[str, ...] = ()

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
    header, rows = read_rows(file)
    columns: dict[str, int] = {}
    for at, name in enumerate(header):
        columns.setdefault(name.lower(), at)  # the 2019 files have two columns AnswerKey, which agree
    absent = [name for name in _NEEDED if name not in columns]
    if absent:
        raise FormatError(
            f"expected WorldTree's columns {', '.join(_NEEDED)}, found none called {', '.join(absent)}; give "
            "a file of questions as released",
            source=file.name,
            line=1,
        )
    kind: Release = "2020" if _LEVELS["2020"] in columns else "2019"
    questions, problems, warnings = [], [], []
    for number, cells in rows:
        location = f"{file.name}, line {number}"
        if len(cells) != len(header):
            problems.append(f"{location}: expected {len(header)} cells, found {len(cells)}")
            continue
        row = {name: cells[at] for name, at in columns.items()}
        location += f" ({row['questionid'] or 'no id'})"
        gold, wrong = explanation(row["explanation"])
        warnings += [f"{location}: expected uid|ROLE in the explanation, found {entry!r}" for entry in wrong]
        try:
            stem, answer = stem_and_answer(row["question"], row["answerkey"])
        except FormatError as error:
            problems.append(f"{location}: {error}")
            continue
        flags = tuple(row["flags"].upper().split())
        usable = set(flags) & _USABLE if kind == "2019" else len(flags) == 1 and flags[0] in _USABLE
        level = row.get(_LEVELS[kind], "").capitalize()
        questions.append(
            Question(
                id=row["questionid"],
                stem=stem,
                answer=answer,
                gold=gold,
                level=level if level in ("Easy", "Challenge") else None,
                usable=bool(usable),
                choices=tuple(choices(row["question"])[1].values()),
            )
        )
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
    if label not in answers and len(label) == 1:
        # A key by number of answers that are lettered, or the other way round.
        other = "123456789".find(label) if label.isdigit() else ord(label) - ord("A")
        label = dict(enumerate(answers)).get(other, label)
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
_LOOSE = re.compile(r"(?<![\w(])([A-Z]|[1-9])[.)](?=\s)")
"""Markers without the first bracket; they count only behind a question mark, for "B. C." is a name."""


def choices(question: str) -> tuple[str, Mapping[str, str]]:
    """Return a question without its answers, and the answers by their letters or digits.

    >>> choices("What melts (if warm)? (A) ice (B) a rock")
    ('What melts (if warm)?', {'A': 'ice', 'B': 'a rock'})
    >>> choices("Which is a mammal? 1. a frog 2. a bat")
    ('Which is a mammal?', {'1': 'a frog', '2': 'a bat'})
    >>> choices("What did George W. Bush and B. Obama say?")
    ('What did George W. Bush and B. Obama say?', {})
    """
    best = _series(list(_BRACKETS.finditer(question)))
    if not best:
        end = question.rfind("?") + 1
        best = _series(list(_LOOSE.finditer(question, end))) if end else []
        if best and question[end : best[0].start()].strip():
            best = []
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
