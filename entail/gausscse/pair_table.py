"""Verdicts on a table of sentence pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from entail.data.nli.sentence_pairs import PairTable
from entail.data.text import is_blank
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.gausscse.verdict import Verdict, judge
from entail.progress import ProgressCallback

FIGURES = ("says", "sure", "margin", "forward", "backward", "direction")
"""Fields of `Verdict` that become columns."""

ADDED = (*FIGURES, "truncated")


@dataclass(frozen=True)
class JudgedTable:
    """A table of pairs with its verdicts.

    Attributes:
        table: The pairs.
        verdicts: A verdict a row; None where a sentence is empty.
    """

    table: PairTable
    verdicts: tuple[Verdict | None, ...]

    @property
    def truncated(self) -> tuple[bool, ...]:
        """Whether a sentence was truncated, a row each."""
        return tuple(verdict is not None and bool(verdict.truncated) for verdict in self.verdicts)

    @property
    def columns(self) -> dict[str, str]:
        """Added column -> its name, changed where the table has a column of that name."""
        return added_columns(self.table.header)

    def __str__(self) -> str:
        words = [verdict.says for verdict in self.verdicts if verdict is not None]
        return ", ".join(f"{words.count(word):,} {word}" for word in dict.fromkeys(words)) or "none judged"

    def figures(self) -> list[tuple[object, ...]]:
        """Return the values of `FIGURES`, a row each; None where a pair was not judged."""
        return [tuple(v and getattr(v, name) for name in FIGURES) for v in self.verdicts]

    def to_rows(self) -> Iterator[tuple[object, ...]]:
        """Yield the header, then each row of the table with its verdict."""
        yield (*self.table.header, *self.columns.values())
        for row, figures, truncated in zip(self.table.rows, self.figures(), self.truncated, strict=True):
            yield (*row, *figures, int(truncated))


def judge_table(
    encoder: GaussianEncoder, table: PairTable, *, progress: ProgressCallback | None = None
) -> JudgedTable:
    """Judge every row that has two sentences.

    Raises:
        EncoderError: If the encoder cannot be loaded.
    """
    pairs = list(zip(table.first, table.second, strict=True))
    complete = [row for row, pair in enumerate(pairs) if not any(map(is_blank, pair))]
    verdicts: list[Verdict | None] = [None] * len(pairs)
    judged = judge(
        encoder, [pairs[row][0] for row in complete], [pairs[row][1] for row in complete], progress=progress
    )
    for row, verdict in zip(complete, judged, strict=True):
        verdicts[row] = verdict
    return JudgedTable(table, tuple(verdicts))


def added_columns(header: Sequence[str]) -> dict[str, str]:
    """Return added column -> its name beside a header, whose columns are kept.

    >>> added_columns(["premise", "hypothesis", "Says"])["says"]
    'judged_says'
    """
    taken = {name.strip().lower() for name in header}
    names: dict[str, str] = {}
    for name in ADDED:
        free = name
        while free in taken:
            free = f"judged_{free}"
        taken.add(free)
        names[name] = free
    return names
