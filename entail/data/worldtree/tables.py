"""Fact tables of WorldTree, as released: one TSV a kind of fact, whose cells in a row make a sentence.

A column whose name begins with `[SKIP]` is no part of the sentence; the last one that says `UID` identifies
the fact. Some uids stand in two rows: the first row is the fact.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from entail.data.tables import TAB, read_rows
from entail.errors import FormatError

_SKIP = "[SKIP]"


@dataclass(frozen=True, slots=True)
class Fact:
    """Row of a table: its cells as a sentence, single spaces; the table's name has no suffix."""

    uid: str
    text: str
    table: str


@dataclass(frozen=True)
class FactTables:
    """All facts, in order of table and row, each uid once.

    Position i of every array made from them is `facts[i]`.

    Attributes:
        facts: The facts.
        repeats: Uid of each further row of a uid, left out.
        problems: Message for each row that could not be read: table, line, what was expected.
    """

    facts: tuple[Fact, ...]
    repeats: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.facts)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The facts' sentences, in order."""
        return tuple(fact.text for fact in self.facts)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Uid in lower case, as the official scorer compares them -> position."""
        return MappingProxyType({fact.uid.lower(): i for i, fact in enumerate(self.facts)})

    @cached_property
    def equals(self) -> Mapping[int, frozenset[int]]:
        """Positions of the other facts of the same sentence but for capitals, where there are some."""
        groups: dict[str, set[int]] = defaultdict(set)
        for position, text in enumerate(self.texts):
            groups[text.casefold()].add(position)
        return {
            member: frozenset(group) - {member}
            for group in groups.values()
            if len(group) > 1
            for member in group
        }

    @cached_property
    def digest(self) -> str:
        """Digest of uids and texts, in order: 12 hexadecimal digits."""
        text = "\n".join(f"{fact.uid}\t{fact.text}" for fact in self.facts)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        counts = {"of a repeated uid": len(self.repeats), "unreadable": len(self.problems)}
        left_out = ", ".join(f"{count:,} rows {reason}" for reason, count in counts.items() if count)
        return f"{len(self):,} facts{f'; left out: {left_out}' if left_out else ''}"


def read_fact_tables(source: Path) -> FactTables:
    """Read every `.tsv` of a folder `tables/`, in order of name, gzipped or not.

    Raises:
        FormatError: If the folder is absent, holds no table or no fact, or a table has no uid column or is no
            text.
    """
    facts: dict[str, Fact] = {}
    repeats, problems = [], []
    if not source.is_dir():
        raise FormatError("expected a folder of fact tables (.tsv), found none here", source=str(source))
    files = [path for path in sorted(source.iterdir()) if path.name.lower().endswith((".tsv", ".tsv.gz"))]
    for file in files:
        table_facts, wrong = _read_table(file)
        problems += wrong
        for fact in table_facts:
            if facts.setdefault(fact.uid.lower(), fact) is not fact:
                repeats.append(fact.uid)
    if not facts:
        actual = f"{len(files)} without a fact" if files else "no .tsv file"
        message = f"expected fact tables, found {actual}; give the release's tables/"
        raise FormatError(message, source=str(source))
    return FactTables(tuple(facts.values()), tuple(repeats), tuple(problems))


def _read_table(file: Path) -> tuple[list[Fact], list[str]]:
    """Return the facts of a table, and a message for each row that cannot be read."""
    name = file.name
    table = read_rows(file, name=name, delimiter=TAB)
    uids = [title for title in table.columns if title.startswith(_SKIP) and "UID" in title.upper()]
    if not uids:
        raise FormatError(
            f"expected a column '{_SKIP} UID', found {len(table.columns)} columns without it",
            source=name,
            line=1,
        )
    words = [title for title in table.columns if title and not title.startswith((_SKIP, " ("))]
    facts, problems = [], []
    for number, row in table.rows:
        if isinstance(row, FormatError):
            problems.append(str(row))
            continue
        uid = str(row.get(uids[-1], "")).strip()
        text = " ".join(" ".join(str(row.get(title, "")) for title in words).split())
        if not uid or " " in uid:
            problems.append(f"{name}, line {number}: expected a uid in column {uids[-1]!r}, found none")
        elif not text:
            problems.append(f"{name}, line {number}: expected words, found a uid alone ({uid})")
        else:
            facts.append(Fact(uid, text, name.split(".", 1)[0]))
    return facts, problems
