"""Description of a trained encoder in `entail.json`: method, base, towers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from entail.encoders.weights import read_json
from entail.errors import EncoderError

TowerKind = Literal["siamese", "single", "dual"]


@dataclass(frozen=True)
class Card:
    """The fields of `entail.json` that are known; others may stand beside them.

    Attributes:
        method: How it was trained.
        base: Name of the encoder that an adapter sits on.
        base_revision: Revision of the base it was trained on; it is loaded on no other.
        towers: `siamese`: trained weights encode queries and premises; `single`: queries only, premises are
            encoded by the base; `dual`: each has its own, the premises' in `premise_tower/`.
        figures: What was measured.
        config: How training was set.
        licence: Of the weights.
        gaussian: Of an encoder that makes Gaussians: how its sentences become them, what its thresholds are
            (see `entail.encoders.gaussian.form`); empty for one that makes points.
        scorer: Of a scorer of facts (ARCF), which is no encoder: how it is to be used (see
            `entail.arcf.scoring.form`); empty for encoders.
        judge: Of a judge of entailment, which is no encoder either: what it reads and says (see
            `entail.judge.judges`); empty for encoders.
    """

    method: str | None = None
    base: str | None = None
    base_revision: str | None = None
    towers: TowerKind = "siamese"
    figures: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    licence: str | None = None
    gaussian: Mapping[str, Any] = field(default_factory=dict)
    scorer: Mapping[str, Any] = field(default_factory=dict)
    judge: Mapping[str, Any] = field(default_factory=dict)


def read_card(folder: Path, name: str) -> Card | None:
    """Return what a folder's `entail.json` says, None if there is none; null is as good as not said.

    Args:
        folder: The encoder's.
        name: What messages call it.

    Raises:
        EncoderError: If it is no JSON object, or a known field is not of its type.
    """
    told = read_json(folder / "entail.json")
    if told is None:
        return None
    if not isinstance(told, dict):
        raise EncoderError(f"{name}: expected an object in entail.json, found {_shown(told)}")
    fields: dict[str, Any] = {}
    for key, (kind, expected) in _FIELDS.items():
        value = told.get(key)
        if value is None:
            continue
        if not isinstance(value, kind):
            raise EncoderError(
                f"{name}: expected {expected} as {key!r} in entail.json, found {_shown(value)}"
            )
        fields[key] = value
    if fields.get("towers", "siamese") not in get_args(TowerKind):
        known = ", ".join(get_args(TowerKind))
        raise EncoderError(
            f"{name}: expected one of {known} as 'towers' in entail.json, found {fields['towers']!r}"
        )
    return Card(**fields)


_FIELDS: Mapping[str, tuple[type, str]] = {
    **dict.fromkeys(("method", "base", "base_revision", "towers", "licence"), (str, "a text")),
    **dict.fromkeys(("figures", "config", "gaussian", "scorer", "judge"), (dict, "an object")),
}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
