"""Available encoders: size, training data, retrieval figures, and the corpora that they rank."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from entail.data.reading import read_text, size_of
from entail.encoders.catalogue import EncoderEntry, catalogue
from entail.errors import EncoderError, EntailError, FormatError
from entail.evaluation.retrieval.paired import PairedComparison
from entail.jobs.jobs import Jobs
from entail.registry.models import active
from entail.registry.pointers import list_moves
from entail.training.cards.metadata import ModelFacts, read_facts
from entail.training.cards.metrics import RetrievalMetrics

DEFAULT = "all other corpora"
"""Stands for the default pointer among the names of corpora."""

PROTOCOLS = {"query_excluded": "query excluded", "paper": "paper"}
"""Name of a protocol on cards -> its name in comparisons."""

Figures = Mapping[str, Mapping[str, float]]
"""Protocol -> measure -> figure."""

_HEADER = re.compile(r"\A---\n.*?\n---", re.DOTALL)
_DATA_SETS = re.compile(r"^datasets:[ \t]*\n((?:[ \t]*- .+\n)+)", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*- ['\"]?(.+?)['\"]?[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class RetrievalFigures:
    """Retrieval figures of one encoder on one split, by protocol and measure.

    `queries` is None and `premises` (candidates) 0 if not recorded. `unseen` counts the queries that it was
    not trained on (None: all of them), with their own figures.
    """

    split: str
    source: str
    queries: int | None
    figures: Figures
    unseen: int | None = None
    unseen_figures: Figures = field(default_factory=dict)
    premises: int = 0

    def figure(self, measure: str, protocol: str) -> float | None:
        """Return a figure, None if it was not measured."""
        return self.figures.get(protocol, {}).get(measure)


@dataclass(frozen=True)
class EncoderSummary:
    """Summary of one encoder.

    `facts` is None without an `entail.json`, `size` if it is not downloaded, `training_data` if not recorded.
    `active_for` names the corpora that it ranks; `DEFAULT` stands for the default pointer.
    """

    entry: EncoderEntry
    facts: ModelFacts | None = None
    size: int | None = None
    training_data: tuple[str, ...] | None = None
    figures: tuple[RetrievalFigures, ...] = ()
    active_for: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the encoder."""
        return self.entry.name

    @property
    def method(self) -> str:
        """Title of its training method."""
        return self.facts.text.title if self.facts is not None else self.entry.method

    @property
    def licence(self) -> str:
        """Licence on its card; empty if none is stated."""
        return (self.facts.licence if self.facts is not None else self.entry.licence) or ""


def list_encoders(
    corpora: Iterable[str], jobs: Jobs, *, extra: Sequence[EncoderEntry] = ()
) -> list[EncoderSummary]:
    """Return the packaged encoders, those under `models/`, and those of the Hub that are active or `extra`.

    Recorded comparisons of the jobs count as figures.
    """
    ranked = _corpora_by_encoder(corpora)
    entries = {entry.name: entry for entry in (*catalogue(), *extra)}
    entries |= {name: EncoderEntry(name, "hub") for name in ranked if name not in entries and "/" in name}
    facts = {name: _facts(entry) for name, entry in entries.items()}
    known_facts = [model_facts for model_facts in facts.values() if model_facts is not None]
    comparisons = list(recorded_comparisons(jobs))
    return [
        EncoderSummary(
            entry,
            facts[name],
            size_of(entry.path) if entry.path is not None and entry.path.is_dir() else None,
            _training_data(entry, facts[name]),
            tuple(retrieval_figures(entry, known_facts, comparisons)),
            ranked.get(name, ()),
        )
        for name, entry in entries.items()
    ]


def retrieval_figures(
    entry: EncoderEntry, cards: Iterable[ModelFacts], comparisons: Iterable[tuple[str, PairedComparison]]
) -> list[RetrievalFigures]:
    """Return the figures of an encoder from cards and comparisons, those of its own card first.

    Figures belong to weights, so they are found by revision, not by name.
    """
    own: list[RetrievalFigures] = []
    other_figures: list[RetrievalFigures] = []
    for facts in cards:
        retrieval = facts.of_kind(RetrievalMetrics)
        for metrics in retrieval:
            split, queries, premises = metrics.source, metrics.queries, metrics.premises or 0
            if _same(facts.revision, entry.revision):
                figures, unseen = metrics.encoder, (metrics.unseen, metrics.encoder_unseen)
                own.append(RetrievalFigures(split, "its card", queries, figures, *unseen, premises))
            elif metrics.base and facts.base is not None and _same(facts.base.revision, entry.revision):
                source = f"the card of {facts.name}"
                other_figures.append(
                    RetrievalFigures(split, source, queries, metrics.base, premises=premises)
                )
        dev = facts.record["figures"].get("dev")
        of_trees = facts.text.dev_data == "trees" and entry.gaussian is None and not retrieval
        if of_trees and isinstance(dev, Mapping) and _same(facts.revision, entry.revision):
            dev_figures = {str(name): float(v) for name, v in dev.items() if isinstance(v, int | float)}
            source = "its training, which selected the weights on them"
            own.append(RetrievalFigures("its dev trees", source, None, {"query_excluded": dev_figures}))
    for source, comparison in comparisons:
        if entry.revision in (comparison.candidate, comparison.active):
            side = "second" if comparison.candidate == entry.revision else "first"
            figures = _side(comparison, side)
            other_figures.append(RetrievalFigures(comparison.split, source, comparison.queries, figures))
    distinct: dict[tuple[str, str], RetrievalFigures] = {}
    for record in (*own, *other_figures):
        distinct.setdefault((record.split, repr(record.figures)), record)
    return list(distinct.values())


def recorded_comparisons(jobs: Jobs) -> Iterator[tuple[str, PairedComparison]]:
    """Yield the comparisons of promotions and jobs, newest first, each with its source as text."""
    recorded = []
    with contextlib.suppress(EntailError):  # the page shows this error with the pointers
        recorded += [(f"promotion by {move.by}", move.evaluation) for move in list_moves("retriever")]
    recorded += [(f"job {job.id} ({job.name})", job.evaluation) for job in jobs.jobs()]
    for source, evaluation in recorded:
        if comparison := read_comparison(evaluation):
            yield source, comparison


def read_comparison(evaluation: Mapping[str, object] | None) -> PairedComparison | None:
    """Return a recorded comparison; None without one, or if another version wrote it."""
    try:
        return PairedComparison.from_json(evaluation) if evaluation else None
    except (TypeError, KeyError, ValueError, AttributeError):
        return None


def card_text(folder: Path) -> str:
    """Return the `README.md` of an encoder, empty without one."""
    try:
        return read_text(folder / "README.md")
    except FormatError:
        return ""


def data_sets(card: str) -> tuple[str, ...] | None:
    r"""Return the data sets in the header of a card, None where it names none.

    >>> data_sets("---\nlicense: mit\ndatasets:\n- snli\n- 'eli5'\n---\n# A model")
    ('snli', 'eli5')
    """
    header = _HEADER.match(card)
    listed = _DATA_SETS.search(header[0]) if header else None
    return tuple(_ITEM.findall(listed[1])) if listed else None


def _side(comparison: PairedComparison, side: str) -> Figures:
    figures: dict[str, dict[str, float]] = {}
    names = {name: protocol for protocol, name in PROTOCOLS.items()}
    for title, difference in comparison.measures.items():
        measure, _, protocol = title.partition(", ")
        if protocol in names:
            figures.setdefault(names[protocol], {})[measure] = getattr(difference, side)
    return figures


def _same(first: str | None, second: str | None) -> bool:
    # The name before the digest is the folder's, which may differ elsewhere.
    return bool(first and second) and str(first).partition("@")[2] == str(second).partition("@")[2]


def _corpora_by_encoder(corpora: Iterable[str]) -> dict[str, tuple[str, ...]]:
    ranked: dict[str, list[str]] = {}
    try:
        for name in (None, *corpora):
            now = active(name)
            if name is None or (now.pointer is not None and now.pointer.corpus is not None):
                ranked.setdefault(now.encoder, []).append(name or DEFAULT)
    except EntailError:  # the page shows this error with the pointers
        return {}
    return {name: tuple(names) for name, names in ranked.items()}


def _facts(entry: EncoderEntry) -> ModelFacts | None:
    if entry.path is None or entry.problem is not None:
        return None
    try:
        changed = (entry.path / "entail.json").stat().st_mtime_ns
    except OSError:
        return None
    return _read_facts(entry.path, entry.revision, changed)


@lru_cache(maxsize=256)
def _read_facts(folder: Path, revision: str | None, changed: int) -> ModelFacts | None:
    try:
        return read_facts(folder)
    except (EncoderError, OSError):
        return None


def _training_data(entry: EncoderEntry, facts: ModelFacts | None) -> tuple[str, ...] | None:
    if facts is not None:
        return tuple(source.name for source in facts.sources) if facts.sources is not None else None
    return data_sets(card_text(entry.path)) if entry.path is not None else None
