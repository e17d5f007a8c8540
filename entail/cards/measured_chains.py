"""Figures of rankings of facts, taken out of a result file and remembered beside a scorer's weights."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from entail.cards.facts import replace_text
from entail.encoders.weights import read_json
from entail.errors import EncoderError

PART = "measured_chains"
"""Where they stand among the figures of `entail.json`."""

USUAL: Mapping[str, str] = {
    "metric": "tfidf",
    "length": "9",
    "least": "3",
    "beam": "1",
    "margin": "None",
    "first": "None",
}
"""Settings of a ranking that are not told where they are these; how many facts are visible always is."""

_SAME = ("metric", "k", "length", "least", "beam", "margin", "first", "paths", "linked")
"""Settings that two rankings have in common where they can be compared; the others are about speed."""

_ABOUT = ("commit", "seed", "hardware", "command", "finished")


@dataclass(frozen=True, kw_only=True)
class MeasuredChains:
    """What one result file says of a scorer of facts.

    Attributes:
        source: Stem of the file's name.
        method: As `entail evaluate chains --method` names it.
        data: Name of the file of questions.
        digest: What identifies questions, explanations and facts.
        questions: How many were ranked.
        facts: How many facts, for each.
        map: Mean average precision.
        interval: Where that lies with 95 % confidence.
        settings: What the rankings depend on, by name.
        about: Commit, seed, hardware, command and time of the measurement.
    """

    source: str
    method: str
    data: str
    digest: str
    questions: int
    facts: int
    map: float
    interval: tuple[float, float]
    settings: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """What it was measured on, and how, in words: the same for what can be compared, and for no other."""
        told = {name: self.settings[name] for name in _SAME if name in self.settings}
        how = [f"{name} = {value}" for name, value in told.items() if USUAL.get(name) != value]
        return ", ".join([f"{self.data} ({self.digest}), {self.questions:,} questions", *how])

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return {**asdict(self), "interval": list(self.interval)}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> MeasuredChains:
        """Return what `to_json` gave; what else stands there is left out.

        Raises:
            TypeError, ValueError, KeyError: If something is not of its type, or missing.
        """
        low, high = told["interval"]
        return cls(
            **{name: str(told[name]) for name in ("source", "method", "data", "digest")},
            questions=int(told["questions"]),
            facts=int(told["facts"]),
            map=float(told["map"]),
            interval=(float(low), float(high)),
            settings={str(name): str(value) for name, value in dict(told.get("settings") or {}).items()},
            about=dict(told.get("about") or {}),
        )


def read_measured_chains(file: Path, revision: str) -> MeasuredChains:
    """Take a scorer's figures out of a result file.

    Args:
        file: As `entail evaluate chains --out` writes it.
        revision: Of its weights and of its base's; figures of others are refused.

    Raises:
        EncoderError: If it is no such file, or holds figures of other weights or of several scorers together.
    """
    told = read_json(file)
    figures = told.get("figures") if isinstance(told, dict) else None
    if not isinstance(figures, dict) or not {"MAP", "settings", "digest"} <= figures.keys():
        raise EncoderError(
            f"{file.name}: expected a result file of this version's `entail evaluate chains --out`, found "
            "something else; measure the scorer again"
        )
    try:
        found = str(figures["settings"].get("scorer", "no scorer"))
        # What comes before the digest is the folder's name, which may be another one elsewhere.
        if figures["method"] == "ensemble" or found.partition("@")[2] != revision.partition("@")[2]:
            raise EncoderError(
                f"{file.name}: expected figures of {revision} by itself, found those of {figures['method']} "
                f"by {found}; measure these weights: entail evaluate chains --scorer NAME --out FILE"
            )
        return MeasuredChains.from_json(
            {
                **{name: figures[name] for name in ("method", "digest", "questions", "facts", "interval")},
                "source": file.name.partition(".")[0],
                "data": Path(str(figures["source"])).name,
                "map": figures["MAP"],
                "settings": {n: v for n, v in figures["settings"].items() if n in (*_SAME, "precision")},
                "about": {name: told[name] for name in _ABOUT if name in told},
            }
        )
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise EncoderError(
            f"{file.name}: expected figures as `entail evaluate chains --out` writes them, found something "
            f"else ({error!r}); measure the scorer again"
        ) from error


def measured_chains(told: Mapping[str, Any], *, name: str) -> tuple[MeasuredChains, ...]:
    """Return what a scorer's `entail.json` says of its rankings.

    Raises:
        EncoderError: If they are not as they were written.
    """
    try:
        return tuple(MeasuredChains.from_json(one) for one in (told.get("figures") or {}).get(PART) or ())
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise EncoderError(
            f"{name}: expected figures.{PART} in entail.json as `entail card --results` writes it, found "
            f"something else ({error!r}); take it out and say --results again"
        ) from error


def remember_chains(folder: Path, results: Sequence[Path], *, revision: str) -> None:
    """Write figures to a scorer's `entail.json`, in place of those of the same file, or on the same data.

    The revision stays: it is made of the weights, not of what is told of them.

    Args:
        folder: The scorer's.
        results: Result files.
        revision: Of its weights and of its base's.

    Raises:
        EncoderError: If a file holds no figures of these weights, or something cannot be read or written:
            nothing was changed.
    """
    told = read_json(folder / "entail.json")
    kept = list(measured_chains(told, name=folder.name))
    for one in [read_measured_chains(file, revision) for file in results]:
        kept = [
            old
            for old in kept
            if old.source != one.source and (old.method, old.place) != (one.method, one.place)
        ]
        kept.append(one)
    rows = [one.to_json() for one in sorted(kept, key=lambda one: one.source)]
    changed = {**told, "figures": {**(told.get("figures") or {}), PART: rows}}
    replace_text(folder / "entail.json", json.dumps(changed, indent=2, ensure_ascii=False) + "\n")
