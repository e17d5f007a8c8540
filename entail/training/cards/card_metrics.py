"""Figures of two direction encoders or scorers side by side, from their `entail.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.encoders.weights import read_json
from entail.errors import EncoderError
from entail.training.cards.metrics import ChainMetrics, PairMetrics, read_stored

OWN_DEV = "its own dev data"
"""Name of the data that a checkpoint was selected on; it differs from model to model."""

DECISIVE = ("direction", "MAP of chains")
"""Measures that decide between two models of a role."""

_OF_TRAINING = {
    "direction": "direction",
    "accuracy": "NLI accuracy",
    "AUPRC": "NLI AUPRC",
    "step MAP": "MAP of single steps",
}


@dataclass(frozen=True)
class MetricPair:
    """One measure of two models on data of one name and size; None where a model was not measured."""

    measure: str
    data: str
    first: float | None
    second: float | None

    @property
    def same_data(self) -> bool:
        """Whether the two figures can be compared."""
        return self.data != OWN_DEV and self.first is not None and self.second is not None


def compare_cards(first: Path | None, second: Path) -> list[MetricPair]:
    """Return the figures of the active model, if any, and a candidate; decisive rows come first."""
    ours = _figures_of(first) if first is not None else {}
    theirs = _figures_of(second)
    rows = [MetricPair(*key, ours.get(key), theirs.get(key)) for key in dict.fromkeys([*ours, *theirs])]
    return sorted(rows, key=lambda row: (not row.same_data, row.measure not in DECISIVE))


def _figures_of(folder: Path) -> dict[tuple[str, str], float]:
    """Return (measure, data) -> figure; empty if they cannot be read, such as those of another version."""
    try:
        record = read_json(folder / "entail.json") or {}
        found: dict[tuple[str, str], float] = {}
        for key, value in _figures(record.get("figures") or {}):
            found.setdefault(key, value)
        return found
    except (EncoderError, TypeError, ValueError, KeyError, AttributeError):
        return {}


def _figures(figures: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], float]]:
    stored = read_stored(figures)
    for result in (one for metrics in stored if isinstance(metrics, PairMetrics) for one in metrics.sets):
        data = f"{result.data}, {result.n:,} pairs"
        if result.question == "direction":
            yield ("direction", data), result.accuracy
            if result.longer:
                yield ("direction, longer entailed", data), result.longer[0]
            continue
        yield ("NLI accuracy", data), result.accuracy
        if result.auprc is not None:
            yield ("NLI AUPRC", data), result.auprc
    if chains := figures.get("chains"):
        data = f"{chains['source']}, {chains['questions']:,} questions, k = {chains['k']}"
        yield ("MAP of chains", data), float(chains["MAP"])
    for metrics in stored:
        if isinstance(metrics, ChainMetrics) and metrics.method == "arcf":  # not single facts
            yield ("MAP of chains", metrics.conditions), metrics.map
    for name, measure in _OF_TRAINING.items():
        value = (figures.get("dev") or {}).get(name)
        if isinstance(value, int | float):
            yield (measure, OWN_DEV), float(value)
