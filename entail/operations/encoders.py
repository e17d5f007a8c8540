"""Available encoders: size, training data, retrieval figures, and the corpora that they rank."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from entail.data.reading import read_text, size_of
from entail.encoders.catalogue import EncoderEntry, catalogue
from entail.errors import EncoderError, EntailError, FormatError
from entail.evaluation.retrieval.paired import PairedComparison
from entail.jobs.jobs import Jobs
from entail.registry.models import active
from entail.registry.pointers import list_moves
from entail.training.cards.figures import Figure
from entail.training.cards.metadata import ModelFacts, read_facts

DEFAULT = "all other corpora"
"""Stands for the default pointer among the names of corpora."""


@dataclass(frozen=True)
class EncoderSummary:
    """Summary of one encoder.

    `facts` is None without an `entail.json`, `size` if it is not downloaded, `training_data` if not recorded.
    `figures` has each figure with its source. `active_for` names the corpora that it ranks; `DEFAULT` stands
    for the default pointer.
    """

    entry: EncoderEntry
    facts: ModelFacts | None = None
    size: int | None = None
    training_data: tuple[str, ...] | None = None
    figures: tuple[tuple[str, Figure], ...] = ()
    active_for: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the encoder."""
        return self.entry.name

    @property
    def map(self) -> Figure | None:
        """First MAP of premises, None if it was not measured."""
        maps = (figure for _, figure in self.figures if (figure.task, figure.measure) == ("premises", "MAP"))
        return next(maps, None)

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
    comparisons = list(recorded_comparisons(jobs))
    return [
        EncoderSummary(
            entry,
            facts[name],
            size_of(entry.path) if entry.path is not None and entry.path.is_dir() else None,
            _training_data(entry, facts[name]),
            tuple(encoder_figures(entry, facts[name], comparisons)),
            ranked.get(name, ()),
        )
        for name, entry in entries.items()
    ]


def encoder_figures(
    entry: EncoderEntry, facts: ModelFacts | None, comparisons: Iterable[tuple[str, PairedComparison]]
) -> list[tuple[str, Figure]]:
    """Return the figures of an encoder from its card, then from comparisons, each with its source.

    Figures belong to weights, so those of comparisons are found by revision, not by name.
    """
    figures = [("its card", figure) for figure in (facts.figures if facts is not None else ())]
    for source, comparison in comparisons:
        if entry.revision in (comparison.candidate, comparison.active):
            side = "second" if comparison.candidate == entry.revision else "first"
            data = f"{comparison.split}, {comparison.queries:,} queries"
            figures += [
                (
                    source,
                    Figure(
                        task="premises",
                        data=data,
                        measure=title.removesuffix(", query excluded"),
                        value=getattr(difference, side),
                    ),
                )
                for title, difference in comparison.measures.items()
            ]
    return list({figure.key: (source, figure) for source, figure in reversed(figures)}.values())[::-1]


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
    from huggingface_hub import ModelCard

    with contextlib.suppress(Exception):  # a card is anybody's text
        if card.startswith("---") and isinstance(listed := ModelCard(card).data.datasets, list):
            return tuple(listed)
    return None


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
        return tuple(source.name for source in facts.sources) or None
    return data_sets(card_text(entry.path)) if entry.path is not None else None
