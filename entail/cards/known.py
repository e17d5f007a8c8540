"""What `entail.json` says of how well directions are told or chains are built, of two side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.cards.measured_chains import MeasuredChains
from entail.cards.measured_pairs import MeasuredPairs
from entail.encoders.weights import read_json
from entail.errors import EncoderError

OWN_DEV = "its own dev data"
"""In place of a data set: what its weights were chosen on, which nobody says is another's."""

DECISIVE = ("direction", "MAP of chains")
"""The measures that say which of two is better at what it is in use for."""

_OF_TRAINING = {
    "direction": "direction",
    "accuracy": "NLI accuracy",
    "AUPRC": "NLI AUPRC",
    "step MAP": "MAP of single steps",
}


@dataclass(frozen=True)
class KnownFigure:
    """One figure.

    Attributes:
        measure: What was measured.
        data: On what, with how many.
        value: The figure, a share of 1.
    """

    measure: str
    data: str
    value: float


@dataclass(frozen=True)
class KnownBeside:
    """One measure of two on some data; None where it was not measured of one of them.

    Attributes:
        measure: What was measured.
        data: On what.
        first: Of the first.
        second: Of the second.
    """

    measure: str
    data: str
    first: float | None
    second: float | None

    @property
    def same_data(self) -> bool:
        """Whether both were measured on the same, so that the difference says something."""
        return self.data != OWN_DEV and self.first is not None and self.second is not None


def known_figures(folder: Path) -> list[KnownFigure]:
    """Return the figures of an encoder of Gaussians or of a scorer of facts, none where there are none."""
    try:
        told = read_json(folder / "entail.json")
        figures = told.get("figures") or {} if isinstance(told, dict) else {}
        return list(dict.fromkeys(_figures(figures)))
    except (EncoderError, TypeError, ValueError, KeyError, AttributeError):
        return []  # figures of another version: as good as none


def known_beside(first: Path | None, second: Path) -> list[KnownBeside]:
    """Return what is known of two, a row a measure and a data set; what decides comes first.

    Args:
        first: Folder of what is in use; None where that is nothing.
        second: Folder of what could be.
    """
    sides: list[dict[tuple[str, str], float]] = [{}, {}]
    for side, folder in zip(sides, (first, second), strict=True):
        for one in known_figures(folder) if folder is not None else ():
            side.setdefault((one.measure, one.data), one.value)
    places = dict.fromkeys([*sides[0], *sides[1]])
    rows = [KnownBeside(*place, *(side.get(place) for side in sides)) for place in places]
    return sorted(rows, key=lambda row: (not row.same_data, row.measure not in DECISIVE))


def _figures(figures: Mapping[str, Any]) -> Iterator[KnownFigure]:
    for told in figures.get("measured_pairs") or ():
        for one in MeasuredPairs.from_json(told).sets:
            data = f"{one.data}, {one.n:,} pairs"
            if one.question == "direction":
                yield KnownFigure("direction", data, one.accuracy)
                if one.longer:
                    yield KnownFigure("direction, longer entailed", data, one.longer[0])
                continue
            yield KnownFigure("NLI accuracy", data, one.accuracy)
            if one.auprc is not None:
                yield KnownFigure("NLI AUPRC", data, one.auprc)
    if chains := figures.get("chains"):
        data = f"{chains['source']}, {chains['questions']:,} questions, k = {chains['k']}"
        yield KnownFigure("MAP of chains", data, float(chains["MAP"]))
    for told in figures.get("measured_chains") or ():
        ranked = MeasuredChains.from_json(told)
        if ranked.method == "arcf":  # what it is in use for: single facts are another measure
            yield KnownFigure("MAP of chains", ranked.place, ranked.map)
    for name, measure in _OF_TRAINING.items():
        value = (figures.get("dev") or {}).get(name)
        if isinstance(value, int | float):
            yield KnownFigure(measure, OWN_DEV, float(value))
