"""Claims of a table of questions, with edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from entail.claims.claims import Claim, Statement, existence_claim, state_answer
from entail.claims.rules import RULES
from entail.data.passages.question_table import QuestionTable
from entail.progress import Meter, ProgressCallback

ADDED = ("claim", "rule", "fallback", "edited", "statement")
"""Columns added to those of the table."""


@dataclass(frozen=True)
class Claimed:
    """Claim of each row of a table, and statement with its answer, None without one."""

    claims: tuple[Claim, ...]
    statements: tuple[Statement | None, ...]

    @property
    def fallback(self) -> int:
        """Number of questions that no question rule fits."""
        return sum(claim.fallback for claim in self.claims)

    def counts(self) -> list[tuple[str, int]]:
        """Return rules with their uses, the most frequent first."""
        counts = Counter(claim.rule for claim in self.claims)
        return sorted(((rule, counts[rule]) for rule in RULES if rule in counts), key=lambda entry: -entry[1])


def claim_table(table: QuestionTable, *, progress: ProgressCallback | None = None) -> Claimed:
    """Return the claim of every question and, with an answer, the statement."""
    meter = Meter(len(table.rows), "turning questions into claims", unit="questions", report=progress)
    claims, statements = [], []
    for question, answer in zip(table.questions, table.answers, strict=True):
        claims.append(existence_claim(question))
        statements.append(state_answer(question, answer) if answer.strip() else None)
        meter.add(1)
    return Claimed(tuple(claims), tuple(statements))


def claim_rows(
    table: QuestionTable, claimed: Claimed, edits: Mapping[int, str]
) -> Iterator[tuple[object, ...]]:
    """Yield the header, then each row with its claim, edited or not."""
    columns = [at for at, name in enumerate(table.header) if name.strip().lower() not in ADDED]
    yield (*(table.header[at] for at in columns), *ADDED)
    rows = zip(table.rows, claimed.claims, claimed.statements, strict=True)
    for number, (row, claim, stated) in enumerate(rows):
        yield (
            *(row[at] for at in columns),
            edits.get(number, claim.text),
            claim.rule,
            int(claim.fallback),
            int(number in edits),
            stated.text if stated else "",
        )


def merge_edits(
    edits: Mapping[int, str], changes: Mapping[int, Mapping[str, object]], rows: Sequence[int], own: Claimed
) -> dict[int, str]:
    """Return edits (row -> claim) with the changes of an editor (line -> column -> value).

    A claim that is empty or equals that of the rules is no edit.

    >>> own = claim_table(QuestionTable(("question",), (("Who won?",), ("Why?",))))
    >>> merge_edits({0: "Somebody won."}, {0: {"claim": "There is a reason."}}, [1], own)
    {0: 'Somebody won.', 1: 'There is a reason.'}
    """
    merged_edits = dict(edits)
    for line, change in changes.items():
        if "claim" not in change or line >= len(rows):
            continue
        row, text = rows[line], " ".join(str(change["claim"] or "").split())
        if text and text != own.claims[row].text:
            merged_edits[row] = text
        else:
            merged_edits.pop(row, None)
    return merged_edits
