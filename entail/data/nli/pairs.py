"""Pairs of sentences and whether the first entails the second: official NLI files, and any like them.

`read_nli` tells the format by the content:

===============  ===================================================================================
jsonl            SNLI, MultiNLI (`gold_label`, `sentence1`, `sentence2`), or `premise`, `hypothesis`, `label`
official_text    their official .txt: tabs, a header with parses, quotes are characters like any other
sick             SICK.txt, and the files of SemEval-2014 Task 1
table            CSV or TSV with such columns, quoted as spreadsheets do; counterfactual SNLI is of these
parquet          the same columns, see `entail.data.nli.tables`
===============  ===================================================================================

Sentences are kept as they stand, white space at their ends included: baselines count characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from entail.data.nli.tables import (
    MAX_PROBLEMS,
    SENTENCES,
    NliFormat,
    Table,
    named_columns,
    read_rows,
    sentence,
)
from entail.data.reading import Source, shorten, source_name
from entail.data.text import is_blank
from entail.errors import FormatError, SettingsError

Label = Literal["entailment", "neutral", "contradiction"]
LABELS: tuple[Label, ...] = get_args(Label)
"""In the order in which data sets of the Hub number them, from 0."""

MAX_NLI_BYTES = 2_000_000_000
"""Most that is read of one file; official training files unpack to 500 MB."""

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    **SENTENCES,
    "label": ("gold_label", "label", "entailment_label", "entailment_judgment"),
}
_OPTIONAL = {"forward": ("entailment_ab",), "backward": ("entailment_ba",), "split": ("semeval_set",)}
_RELATIONS: Mapping[str, Label] = {
    "entails": "entailment",
    "neutral": "neutral",
    "contradicts": "contradiction",
}
_DEV_SPLITS = frozenset({"dev", "trial", "val", "valid", "validation"})


@dataclass(frozen=True, slots=True)
class NliPair:
    """A premise, a hypothesis, and what the first says of the second.

    Attributes:
        premise: The sentence that may entail.
        hypothesis: The sentence that may be entailed.
        label: Whether it is.
        forward: What SICK says of premise -> hypothesis; None in other data.
        backward: What SICK says of hypothesis -> premise; None in other data.
    """

    premise: str
    hypothesis: str
    label: Label
    forward: Label | None = None
    backward: Label | None = None

    @property
    def bilateral(self) -> bool:
        """Whether either is known to entail the other: such a pair has no direction."""
        return self.forward == self.backward == "entailment"


@dataclass(frozen=True)
class NliReading:
    """The pairs of a file, and what became of its other rows.

    Attributes:
        pairs: In the order of the file, repeated ones too.
        source: The file's name, as the person gave it.
        format: What the file turned out to be.
        other_labels: Label -> rows left out because it is none of the three; `-` stands for no agreement.
        empty: Rows left out because a sentence is empty, or nothing of it can be seen.
        unreadable: Rows left out because they are not what the header says.
        problems: The first of these in words, each with file and line.
    """

    pairs: tuple[NliPair, ...]
    source: str
    format: NliFormat
    other_labels: Mapping[str, int] = field(default_factory=dict)
    empty: int = 0
    unreadable: int = 0
    problems: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[Label, int]:
        """Label -> pairs."""
        found = Counter(pair.label for pair in self.pairs)
        return {label: found[label] for label in LABELS}

    @property
    def skipped(self) -> int:
        """Rows left out."""
        return sum(self.other_labels.values()) + self.empty + self.unreadable

    def to_json(self) -> dict[str, Any]:
        """Return what was read and left out, of JSON's types; not the pairs."""
        return {
            "source": self.source,
            "format": self.format,
            "pairs": len(self.pairs),
            "labels": dict(self.counts),
            "skipped": {
                "other_labels": dict(self.other_labels),
                "empty": self.empty,
                "unreadable": self.unreadable,
                "problems": list(self.problems),
            },
        }

    def __str__(self) -> str:
        labels = ", ".join(f"{count:,} {label}" for label, count in self.counts.items())
        left_out = [
            f"{count:,} {what}"
            for count, what in (
                (sum(self.other_labels.values()), "with another label"),
                (self.empty, "with an empty sentence"),
                (self.unreadable, "that cannot be read"),
            )
            if count
        ]
        tail = f"; left out: {', '.join(left_out)}" if left_out else ""
        return f"{len(self.pairs):,} pairs ({labels}){tail}"


def read_nli(
    source: Source,
    *,
    split: str | None = None,
    name: str | None = None,
    encoding: str | None = None,
    numbered: bool = False,
    max_bytes: int = MAX_NLI_BYTES,
) -> NliReading:
    r"""Read pairs from a file of any format that the module names, gzipped or not.

    >>> said = b'premise,hypothesis,label\nA dog runs.,An animal moves.,entailment\nA dog runs.,It rains.,-\n'
    >>> print(read_nli(said))
    1 pairs (1 entailment, 0 neutral, 0 contradiction); left out: 1 with another label

    Args:
        source: Path, or the bytes of an upload.
        split: Which rows of a file that holds several splits: TRAIN, TRIAL (or dev) or TEST of SICK.
        name: Name for messages, the path without one.
        encoding: See `read_text`.
        numbered: Take the whole numbers 0, 1, 2 for `LABELS` in this order, as data sets of the Hub do, and
            as is done with Parquet; elsewhere orders differ, so numbers are no labels.
        max_bytes: See `read_text`.

    Raises:
        FormatError: If the file cannot be read, lacks a column, or has no pair with one of the three labels.
        SettingsError: If the file has no such split, or none at all.
    """
    table = read_rows(source, name=name, encoding=encoding, max_bytes=max_bytes)
    return pairs_of(table, source=source_name(source, name), split=split, numbered=numbered)


def pairs_of(table: Table, *, source: str, split: str | None = None, numbered: bool = False) -> NliReading:
    """Make pairs of the rows of a table; see `read_nli`."""
    columns = _columns(table.columns, source)
    if split is not None and "split" not in columns:
        raise SettingsError(
            f"{source}: expected a column SemEval_set to choose split {split!r} by, found none; leave the "
            "split out, or name the file of that split"
        )
    numbered = numbered or table.format == "parquet"
    labels: dict[str, Label | None] = {}
    other: Counter[str] = Counter()
    splits: dict[str, None] = {}
    pairs: list[NliPair] = []
    problems: list[str] = []
    empty = unreadable = 0
    for place, row in table.rows:
        try:
            if isinstance(row, FormatError):
                raise row
            if split is not None:
                found = str(row.get(columns["split"], "")).strip()
                splits.setdefault(found)
                if not is_split(found, split):
                    continue
            said = _label_text(row, columns["label"])
            if said not in labels:
                labels[said] = _label(said, numbered=numbered, names=table.label_names)
            label = labels[said]
            if label is None:
                other[shorten(said, 40)] += 1
                continue
            premise, hypothesis = (sentence(row, columns[part]) for part in ("premise", "hypothesis"))
            if is_blank(premise) or is_blank(hypothesis):
                empty += 1
                continue
            forward, backward = (_relation(row, columns.get(part)) for part in ("forward", "backward"))
        except FormatError as error:
            unreadable += 1
            if len(problems) < MAX_PROBLEMS:
                problems.append(str(error) if error.source else f"{source}, {place}: {error}")
            continue
        pairs.append(NliPair(premise, hypothesis, label, forward, backward))
    if split is not None and splits and not any(is_split(found, split) for found in splits):
        raise SettingsError(f"{source}: expected a split among {', '.join(splits)}, found {split!r}")
    if not pairs:
        raise _nothing(source, other, empty, problems)
    return NliReading(
        pairs=tuple(pairs),
        source=source,
        format=table.format,
        other_labels=dict(other.most_common()),
        empty=empty,
        unreadable=unreadable,
        problems=tuple(problems),
    )


def is_split(found: str, wanted: str) -> bool:
    """Return whether two names mean one split, in any case: TRIAL, dev and validation are the same.

    >>> is_split("TRIAL", "dev"), is_split("TEST", "dev")
    (True, False)
    """
    one, two = found.strip().lower(), wanted.strip().lower()
    return one == two or {one, two} <= _DEV_SPLITS


def _columns(names: Sequence[str], source: str) -> dict[str, str]:
    """Return part -> the column that holds it."""
    columns = named_columns(names, _COLUMNS)
    if missing := [part for part in _COLUMNS if part not in columns]:
        wanted = "; ".join(f"{part} ({' or '.join(_COLUMNS[part])})" for part in missing)
        found = shorten(", ".join(map(repr, names)), 300) or "none"
        raise FormatError(
            f"expected columns premise, hypothesis and label, found {found}; missing: {wanted}", source=source
        )
    return columns | named_columns(names, _OPTIONAL)


def _label_text(row: Mapping[str, Any], column: str) -> str:
    if column not in row:
        raise FormatError(f"expected a label in {column!r}, found only {shorten(', '.join(row))}")
    value = row[column]
    return "null" if value is None else str(value).strip()


def _label(said: str, *, numbered: bool, names: tuple[str, ...]) -> Label | None:
    if names or numbered:
        order = names or LABELS
        if said.isdecimal():
            said = order[int(said)] if int(said) < len(order) else said
    return next((label for label in LABELS if label == said.lower()), None)


def _relation(row: Mapping[str, Any], column: str | None) -> Label | None:
    """Return what `A_entails_B` and its like say."""
    value = row.get(column) if column else None
    if value is None:
        return None
    middle = str(value).strip().lower()[2:-2]
    if middle not in _RELATIONS:
        raise FormatError(f"expected A_entails_B or its like in {column!r}, found {shorten(repr(value))}")
    return _RELATIONS[middle]


def _nothing(source: str, other: Mapping[str, int], empty: int, problems: list[str]) -> FormatError:
    found = []
    if other:
        seen = ", ".join(f"{label!r} in {count:,} rows" for label, count in list(other.items())[:5])
        found.append(f"the labels {seen}")
    if empty:
        found.append(f"{empty:,} rows with an empty sentence")
    if problems:
        found.append(f"rows that cannot be read, the first: {problems[0]}")
    return FormatError(
        f"expected at least one pair labelled {', '.join(LABELS[:-1])} or {LABELS[-1]}, found "
        f"{'; '.join(found) or 'no rows'}",
        source=source,
    )
