"""Pairs of sentences and their entailment label: official NLI files and tables like them.

`read_nli` detects the format by the content:

===============  ===================================================================================
jsonl            SNLI, MultiNLI (`gold_label`, `sentence1`, `sentence2`), or `premise`, `hypothesis`, `label`
official_text    their official .txt: tabs, a header with parses, quotes are characters like any other
sick             SICK.txt, and the files of SemEval-2014 Task 1
table            CSV or TSV with such columns, quoted as spreadsheets do; counterfactual SNLI is of these
parquet          the same columns, see `entail.data.tables`
===============  ===================================================================================

Sentences are kept as they stand, white space at their ends included: baselines count characters. HANS, RTE
and their like have two classes, `entailment` and `not_entailment`: neutral and contradiction are one there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from entail.data.reading import Source, shorten, source_name
from entail.data.tables import (
    SENTENCES,
    Row,
    named_columns,
    parse_rows,
    read_rows,
    sentence,
)
from entail.data.text import is_blank
from entail.errors import FormatError, SettingsError

Label = Literal["entailment", "neutral", "contradiction", "not_entailment"]
LABELS: tuple[Label, ...] = get_args(Label)[:3]
"""Labels in the order in which data sets of the Hub number them, from 0."""

NOT_ENTAILMENT: Final = "not_entailment"
"""Label of data with two classes: neutral or contradiction."""

_LABEL: Mapping[Label, re.Pattern[str]] = {
    "entailment": re.compile("e|entail(s|ed|ment)?"),
    "neutral": re.compile("n|neutral"),
    "contradiction": re.compile("c|contradict(s|ed|ion|ory)?"),
    NOT_ENTAILMENT: re.compile("(no[nt]?|does not)[-_ ]?entail(s|ed|ment)?"),
}
"""Spellings of data sets and models, in lower case; ANLI has the first letters."""

MAX_NLI_BYTES = 2_000_000_000
"""Size limit of a file; official training files unpack to 500 MB."""

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
_NO_LABEL = frozenset({"-", "-1", "", "null", "hidden"})
"""Marks of pairs without a label."""
_DEV_SPLITS = frozenset({"dev", "trial", "val", "valid", "validation"})


@dataclass(frozen=True, slots=True)
class NliPair:
    """A premise and a hypothesis with the label of premise -> hypothesis.

    In SICK `forward` and `backward` are the relations of premise -> hypothesis and back; else None.
    """

    premise: str
    hypothesis: str
    label: Label
    forward: Label | None = None
    backward: Label | None = None

    @property
    def bilateral(self) -> bool:
        """Whether each sentence is known to entail the other, so that the pair has no direction."""
        return self.forward == self.backward == "entailment"


@dataclass(frozen=True)
class NliReading:
    """The pairs of a file in its order, repeated ones too, and counts of the rows left out.

    Attributes:
        other_labels: Label -> rows left out because it is unknown; `-` stands for no agreement.
        empty: Rows left out because a sentence has no visible character.
        unreadable: Rows left out because they do not fit the header.
        problems: Messages for the first of these, each with file and line.
    """

    pairs: tuple[NliPair, ...]
    source: str
    other_labels: Mapping[str, int] = field(default_factory=dict)
    empty: int = 0
    unreadable: int = 0
    problems: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[Label, int]:
        """Label -> pairs."""
        counter = Counter(pair.label for pair in self.pairs)
        usual = () if counter[NOT_ENTAILMENT] else LABELS
        return {label: counter[label] for label in _LABEL if counter[label] or label in usual}

    @property
    def skipped(self) -> int:
        """Rows left out."""
        return sum(self.other_labels.values()) + self.empty + self.unreadable

    def to_json(self) -> dict[str, Any]:
        """Return the counts, without the pairs, as a JSON-serialisable dict."""
        return {
            "source": self.source,
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
        skipped = {
            "with another label": sum(self.other_labels.values()),
            "with an empty sentence": self.empty,
            "that cannot be read": self.unreadable,
        }
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in skipped.items() if count)
        return f"{len(self.pairs):,} pairs ({labels}){f'; left out: {left_out}' if left_out else ''}"


def read_nli(
    source: Source, *, split: str | None = None, name: str | None = None, numbered: bool = False
) -> NliReading:
    r"""Read pairs from a file of any format that the module names, gzipped or not.

    >>> text = b'premise,hypothesis,label\nA dog runs.,An animal moves.,entailment\nA dog runs.,It rains.,-\n'
    >>> print(read_nli(text))
    1 pairs (1 entailment, 0 neutral, 0 contradiction); left out: 1 with another label

    Args:
        source: Path, or the bytes of an upload.
        split: Split of a file that holds several: TRAIN, TRIAL (or dev) or TEST of SICK.
        name: Name for messages, the path without one.
        numbered: Whether the whole numbers 0, 1, 2 stand for `LABELS` in this order, as in data sets of the
            Hub and always in Parquet; elsewhere orders differ, so numbers are no labels.

    Raises:
        FormatError: If the file cannot be read, lacks a column, or has no pair with a known label.
        SettingsError: If the file has no such split, or none at all.
    """
    file_name = source_name(source, name)
    table = read_rows(source, name=name, max_bytes=MAX_NLI_BYTES)
    columns = _columns(table.columns, file_name)
    if split is not None and "split" not in columns:
        raise SettingsError(
            f"{file_name}: expected a column SemEval_set to choose split {split!r} by, found none; leave the "
            "split out, or name the file of that split"
        )
    order = table.label_names or (LABELS if numbered or table.unit == "row" else ())
    is_guessed = table.unit == "row" and not (table.label_names or numbered)
    numbers: set[str] = set()
    other: Counter[str] = Counter()
    splits: dict[str, None] = {}
    empty = 0

    def parse(row: Row) -> NliPair | None:
        nonlocal empty
        if split is not None:
            row_split = str(row.get(columns["split"], "")).strip()
            splits.setdefault(row_split)
            if not is_split(row_split, split):
                return None
        if columns["label"] not in row:
            raise FormatError(f"expected a label in {columns['label']!r}, found {shorten(', '.join(row))}")
        value = row[columns["label"]]
        text = "null" if value is None else str(value).strip()
        label = _label(text, order)
        if text.isdecimal():
            numbers.add(text)
        if label is None:
            other[shorten(text, 40)] += 1
            return None
        premise, hypothesis = (sentence(row, columns[part]) for part in ("premise", "hypothesis"))
        if is_blank(premise) or is_blank(hypothesis):
            empty += 1
            return None
        forward, backward = (_relation(row, columns.get(part)) for part in ("forward", "backward"))
        return NliPair(premise, hypothesis, label, forward, backward)

    parsed, unreadable, problems = parse_rows(table, parse, file_name)
    pairs = tuple(pair for pair in parsed if pair is not None)
    if split is not None and splits and not any(is_split(row_split, split) for row_split in splits):
        raise SettingsError(f"{file_name}: expected a split among {', '.join(splits)}, found {split!r}")
    reading = NliReading(pairs, file_name, dict(other.most_common()), empty, unreadable, tuple(problems))
    if not pairs:
        labels = f"; labels: {', '.join(map(repr, list(other)[:5]))}" if other else ""
        first = f"; the first unreadable row: {problems[0]}" if problems else ""
        raise FormatError(
            f"expected at least one pair of {', '.join(_LABEL)}, found {reading}{labels}{first}",
            source=file_name,
        )
    rest = [label for label in other if label not in _NO_LABEL]
    if rest and len({pair.label for pair in pairs}) == 1:
        raise FormatError(
            f"expected labels such as {', '.join(_LABEL)}, found {', '.join(map(repr, rest[:5]))} next to "
            f"{pairs[0].label}; rename them, or there is one class",
            source=file_name,
        )
    if is_guessed and numbers and numbers <= {"0", "1"}:
        raise FormatError(
            "expected names of two labels, found 0 and 1, whose meaning data sets differ in; write "
            f"entailment and {NOT_ENTAILMENT}",
            source=file_name,
        )
    return reading


def is_split(name: str, split: str) -> bool:
    """Return whether two names mean one split, in any case: TRIAL, dev and validation are the same.

    >>> is_split("TRIAL", "dev"), is_split("TEST", "dev")
    (True, False)
    """
    first, second = name.strip().lower(), split.strip().lower()
    return first == second or {first, second} <= _DEV_SPLITS


def _columns(names: Sequence[str], source: str) -> dict[str, str]:
    columns = named_columns(names, _COLUMNS)
    if missing := [part for part in _COLUMNS if part not in columns]:
        missing_names = "; ".join(f"{part} ({' or '.join(_COLUMNS[part])})" for part in missing)
        name_list = shorten(", ".join(map(repr, names)), 300) or "none"
        raise FormatError(
            f"expected columns premise, hypothesis and label, found {name_list}; missing: {missing_names}",
            source=source,
        )
    return columns | named_columns(names, _OPTIONAL)


def _label(text: str, order: Sequence[str]) -> Label | None:
    if text.isdecimal() and len(text) < 10 and int(text) < len(order):
        text = order[int(text)]
    return standard_label(text)


def standard_label(text: str) -> Label | None:
    """Return the label that a data set or a model calls so, None for any other text.

    >>> [standard_label(text) for text in ("entails", "CONTRADICTORY", "non-entailment", "hidden")]
    ['entailment', 'contradiction', 'not_entailment', None]
    """
    return next((label for label, spelling in _LABEL.items() if spelling.fullmatch(text.lower())), None)


def _relation(row: Row, column: str | None) -> Label | None:
    """Return the relation that `A_entails_B` or its like names."""
    value = row.get(column) if column else None
    if value is None:
        return None
    middle = str(value).strip().lower()[2:-2]
    if middle not in _RELATIONS:
        raise FormatError(f"expected A_entails_B or its like in {column!r}, found {shorten(repr(value))}")
    return _RELATIONS[middle]
