"""Figures on pairs of sentences, taken out of a result file and remembered beside the weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from typing import Any, Literal, TypeGuard

Question = Literal["nli", "direction"]


@dataclass(frozen=True, kw_only=True)
class PairFigures:
    """What an encoder came to on one set of pairs.

    Attributes:
        data: What the set is called.
        question: Whether a premise entails, or which of two sentences does.
        n: How many pairs.
        accuracy: Share that it tells right.
        interval: Where that lies with 95 % confidence; None where nobody said.
        auprc: Area under precision and recall; None for a direction.
        baseline: The majority class, or the longer sentence for a direction.
        longer: Accuracy where the longer sentence is the entailed one, and of how many pairs.
    """

    data: str
    question: Question
    n: int
    accuracy: float
    interval: tuple[float, float] | None = None
    auprc: float | None = None
    baseline: float | None = None
    longer: tuple[float, int] | None = None


@dataclass(frozen=True, kw_only=True)
class MeasuredPairs:
    """What one result file says of an encoder on pairs of sentences.

    Attributes:
        source: Stem of the file's name.
        sets: The figures, in the file's order.
        about: Commit, seed, hardware, command and time of the measurement.
    """

    source: str
    sets: tuple[PairFigures, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return asdict(self)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> MeasuredPairs:
        """Return what `to_json` gave.

        Raises:
            TypeError, ValueError, KeyError: If something is not of its type, or missing.
        """
        return cls(
            source=str(told["source"]),
            sets=tuple(_from_json(one) for one in told["sets"]),
            about=dict(told.get("about") or {}),
        )


def pair_figures(figures: Mapping[str, Any], *, digest: str) -> tuple[PairFigures, ...]:
    """Return what stands anywhere in a result file's figures of weights with a digest.

    Args:
        figures: As `entail evaluate nli --out`, `entail evaluate direction --out` or
            `scripts/reproduce_gausscse.py` writes them.
        digest: What follows the @ of the encoder's revision.
    """
    return tuple(
        one
        for name, told in _evaluations(figures, "pairs")
        if str(told.get("revision", "")).partition("@")[2] == digest and (one := _read(name, told))
    )


def revisions(figures: Mapping[str, Any]) -> list[str]:
    """Return whose figures stand there."""
    return list(dict.fromkeys(str(told["revision"]) for _, told in _evaluations(figures, "pairs")))


def _evaluations(told: Mapping[str, Any], name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every evaluation on pairs, named after its data, or after the next key that is no question."""
    if "accuracy" in told and "n" in told and told.get("revision"):
        data = told.get("data")
        source = str(data.get("source", name)) if isinstance(data, dict) else name
        # A file by its name alone; a data set of the Hub keeps its owner's.
        yield (PurePath(source).name if PurePath(source).suffix else source), told
        return
    for key, value in told.items():
        if isinstance(value, dict):
            yield from _evaluations(value, name if key in ("nli", "direction") else str(key))


def _read(name: str, told: Mapping[str, Any]) -> PairFigures | None:
    longer = told.get("longer_entailed")
    for question, other in (("nli", "majority"), ("direction", "length_baseline")):
        if _is_question(question) and other in told:
            return _from_json(
                {
                    **{key: told.get(key) for key in ("n", "accuracy", "interval", "auprc")},
                    "data": name,
                    "question": question,
                    "baseline": told[other],
                    "longer": [longer["accuracy"], longer["n"]] if longer and longer["n"] else None,
                }
            )
    return None


def _is_question(name: str) -> TypeGuard[Question]:
    return name in ("nli", "direction")


def _from_json(told: Mapping[str, Any]) -> PairFigures:
    question = str(told["question"])
    if not _is_question(question):
        raise ValueError(f"expected nli or direction, found {question!r}")
    low_high, longer = told.get("interval"), told.get("longer")
    return PairFigures(
        data=str(told["data"]),
        question=question,
        n=int(told["n"]),
        accuracy=float(told["accuracy"]),
        interval=(float(low_high[0]), float(low_high[1])) if low_high else None,
        auprc=None if told.get("auprc") is None else float(told["auprc"]),
        baseline=None if told.get("baseline") is None else float(told["baseline"]),
        longer=(float(longer[0]), int(longer[1])) if longer else None,
    )
