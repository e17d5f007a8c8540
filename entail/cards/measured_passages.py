"""Figures of passage retrieval, taken out of a result file and remembered beside the weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from entail.encoders.catalogue import EncoderEntry

Figures = Mapping[str, float]

_PRECISIONS = ("", "bf16", "openvino")
"""As revisions of vectors name them, the usual one first."""


@dataclass(frozen=True, kw_only=True)
class MeasuredPassages:
    """What one result file says of an encoder that looks questions up among passages.

    Attributes:
        source: Stem of the file's name.
        questions: How many were looked up.
        passages: Among how many.
        gold: Measure -> value, a hit being the annotated passage; empty where there is none.
        answer: The same, a hit being any passage that holds an answer.
        base: As `gold`, of the untrained base; empty where it was not measured.
        words: As `gold`, of BM25.
        untuned: As `gold`, of the same training of the same seed without entailment tuning before it; empty
            where there was none before this one, or it was not measured.
        precision: What vectors were computed in, where it was asked for, such as `bf16`; empty for the usual.
        about: Commit, seed, hardware, command and time of the measurement.
    """

    source: str
    questions: int
    passages: int
    gold: Figures = field(default_factory=dict)
    answer: Figures = field(default_factory=dict)
    base: Figures = field(default_factory=dict)
    words: Figures = field(default_factory=dict)
    untuned: Figures = field(default_factory=dict)
    precision: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return asdict(self)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> MeasuredPassages:
        """Return what `to_json` gave; what else stands there is left out.

        Raises:
            TypeError, ValueError, KeyError: If something is not of its type, or missing.
        """
        return cls(
            source=str(told["source"]),
            questions=int(told["questions"]),
            passages=int(told["passages"]),
            gold=_figures(told.get("gold")),
            answer=_figures(told.get("answer")),
            base=_figures(told.get("base")),
            words=_figures(told.get("words")),
            untuned=_figures(told.get("untuned")),
            precision=str(told.get("precision") or ""),
            about=dict(told.get("about") or {}),
        )


def passage_figures(
    figures: Mapping[str, Any], entry: EncoderEntry, *, source: str, about: Mapping[str, Any]
) -> MeasuredPassages | None:
    """Return what stands in a result file of an encoder, and of its base and BM25 on as many questions.

    Args:
        figures: As `entail evaluate passages --out` or `scripts/reproduce_tuning.py` writes them.
        entry: The encoder; what is of its digest is its own, in the usual precision before another.
        source: Stem of the file's name.
        about: Of the whole file; what a row says of its own measurement goes before.
    """
    found = list(_evaluations(figures))
    ours = min(
        (one for one in found if _precision(one, entry) is not None),
        key=lambda one: bool(_precision(one, entry)),
        default=None,
    )
    if ours is None:
        return None
    precision, run = _precision(ours, entry) or "", ours.get("run") or {}

    def beside(other: Mapping[str, Any]) -> bool:
        alike = entry.base is not None and _precision(other, entry.base) == precision
        counts = all(other[name] == ours[name] for name in ("questions", "passages"))
        return counts and (alike or other["retriever"] == "bm25")

    def gold(other: Mapping[str, Any] | None) -> Figures:
        return _figures(other["gold"] if other else None)

    return MeasuredPassages(
        source=source,
        questions=int(ours["questions"]),
        passages=int(ours["passages"]),
        gold=gold(ours),
        answer=_figures(ours.get("answer")),
        base=gold(next((one for one in found if beside(one) and one["retriever"] != "bm25"), None)),
        precision=precision,
        words=gold(next((one for one in found if one["retriever"] == "bm25" and beside(one)), None)),
        untuned=gold(next((one for one in found if _is_without_tuning(one, ours)), None)),
        about={
            **about,
            **{name: ours[name] for name in ("commit", "seed", "hardware") if name in ours},
            **{name: run[name] for name in ("commit", "command", "finished") if name in run},
        },
    )


def passage_revisions(figures: Mapping[str, Any]) -> list[str]:
    """Return whose figures stand there."""
    return list(dict.fromkeys(str(one["revision"]) for one in _evaluations(figures)))


def _is_without_tuning(other: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Return whether a row of `scripts/reproduce_tuning.py` is the second stage of another one alone."""
    budget, whole = other.get("budget"), ours.get("budget")
    return (
        other is not ours
        and other.get("arm") == "none"
        and other.get("seed") == ours.get("seed")
        and isinstance(budget, dict)
        and isinstance(whole, dict)
        and budget.items() <= whole.items()
    )


def _evaluations(told: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - JSON is of any type
    if isinstance(told, dict):
        if {"retriever", "revision", "questions", "passages", "gold"} <= told.keys():
            yield told
            return
        told = list(told.values())
    for inner in told if isinstance(told, list) else ():
        yield from _evaluations(inner)


def _precision(told: Mapping[str, Any], entry: EncoderEntry) -> str | None:
    """Return what an encoder was measured in, empty for the usual; None where another one was."""
    # What comes before the digest is the folder's name, which may be another one elsewhere.
    found, expected = str(told["revision"]).partition("@")[2], (entry.revision or "").partition("@")[2]
    if not expected:
        return None
    return next((way for way in _PRECISIONS if found == expected + (way and f"+{way}")), None)


def _figures(told: Mapping[str, Any] | None) -> Figures:
    """Return measure -> value; how many questions they are of stands elsewhere."""
    return {str(name): float(value) for name, value in (told or {}).items() if name != "questions"}
