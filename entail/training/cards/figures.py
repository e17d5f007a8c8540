"""Measured figures of a model: records in `entail.json`, and those of two models on the same data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from entail.data.stored import parse_as, read_json
from entail.encoders.weights import read_object
from entail.errors import EncoderError

KEY = "measured"
"""Name of the records in `entail.json` and among the figures of a result file."""

Task = Literal["premises", "passages", "chains", "entailment", "direction", "steps", "answers"]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Measured value of a model, with a 95 % interval and the simplest rival on the same data.

    `data` holds name and size of the data, and the settings that comparable figures share.
    """

    task: Task
    data: str
    measure: str
    value: float
    interval: tuple[float, float] | None = None
    rival: str = ""
    rival_value: float | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Task, measure and data: figures of equal keys can be compared."""
        return self.task, self.measure, self.data

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}


@dataclass(frozen=True)
class FigurePair:
    """One measure of two models on the same data; None where a model was not measured."""

    task: str
    measure: str
    data: str
    first: float | None
    second: float | None

    @property
    def same_data(self) -> bool:
        """Whether both were measured."""
        return self.first is not None and self.second is not None

    @property
    def is_decisive(self) -> bool:
        """Whether the measure decides between two models of a role."""
        decisive = {("direction", "accuracy"), ("entailment", "accuracy"), ("chains", "MAP")}
        return self.same_data and (self.task, self.measure) in decisive


def read_figures(record: Mapping[str, Any], name: str) -> tuple[Figure, ...]:
    """Return the figures in the `entail.json` of a model.

    Raises:
        EncoderError: If they are not as `Figure.to_json` writes them.
    """
    try:
        return parse_as(tuple[Figure, ...], json.dumps(record.get(KEY) or []))
    except ValueError as error:
        raise EncoderError(
            f"{name}: expected figures in entail.json as `entail card --results` writes them, found {KEY}: "
            f"{error}; remove them and run the command again"
        ) from error


def result_rows(revision: str | None, *figures: Figure) -> list[dict[str, Any]]:
    """Return the figures of a model as `figures.measured` of a result file; none without a revision."""
    return [{"revision": revision, **figure.to_json()} for figure in figures if revision]


def read_result(file: Path, revision: str | None) -> list[Figure]:
    """Return a model's figures in a result file of `entail evaluate ... --out`.

    Figures belong to weights: those of another training under the same name are refused.

    Raises:
        EncoderError: If it is no result file, or contains no figures of this revision.
    """
    remedy = "measure the model with `entail evaluate ... --out FILE`"
    result = read_json(file, dict[str, Any], error=EncoderError, remedy=remedy)
    if result is None:
        raise EncoderError(f"{file.name}: expected a result file, found none of this name")
    try:
        rows = parse_as(list[dict[str, Any]], json.dumps(result["figures"][KEY]))
        own = [row for row in rows if _digest(row.get("revision")) == _digest(revision)]
        figures = parse_as(list[Figure], json.dumps(own))
    except (KeyError, TypeError, ValueError) as error:
        raise EncoderError(
            f"{file.name}: expected figures of models, found none ({error}); {remedy}"
        ) from error
    if not figures:
        revisions = ", ".join(dict.fromkeys(str(row.get("revision")) for row in rows)) or "none"
        raise EncoderError(
            f"{file.name}: expected figures of {revision}, found those of {revisions}; {remedy}"
        )
    return figures


def compare_figures(first: Path | None, second: Path) -> list[FigurePair]:
    """Return the figures of the active model, if any, and a candidate, by their folders.

    Rows on the same data come first, decisive ones before the others.
    """
    active, candidate = (_values(folder) if folder else {} for folder in (first, second))
    rows = [FigurePair(*key, active.get(key), candidate.get(key)) for key in {**active, **candidate}]
    return sorted(rows, key=lambda row: (not row.is_decisive, not row.same_data))


def _values(folder: Path) -> dict[tuple[str, str, str], float]:
    """Return key -> value; empty for figures that cannot be read."""
    try:
        figures = read_figures(read_object(folder / "entail.json"), folder.name)
    except EncoderError:
        return {}
    return {figure.key: figure.value for figure in figures}


def _digest(revision: object) -> object:
    """Return the digest of weights; a folder has other names elsewhere, and vectors a precision."""
    return re.sub(r"\+(bf16|fp16)$", "", str(revision).partition("@")[2]) or revision
