"""What a card says of weights that are the mean of several trainings, by `averaged` in `entail.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from entail.cards.markdown import code, shown


def shared_config(averaged: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that all trainings of a mean had in common.

    >>> shared_config({"encoders": [{"config": {"seed": 0, "rank": 8}}, {"config": {"seed": 1, "rank": 8}}]})
    {'rank': 8}
    """
    configs = [one.get("config") or {} for one in averaged.get("encoders") or ()]
    first = configs[0] if configs else {}
    return {key: value for key, value in first.items() if all(c.get(key) == value for c in configs)}


def mean_of(averaged: Mapping[str, Any]) -> str:
    """Return a sentence about the trainings and how they differ; none where it is no mean."""
    encoders: Sequence[Mapping[str, Any]] = averaged.get("encoders") or ()
    if not encoders:
        return ""
    lines = [f"{code(str(one.get('name')))} ({shown(one.get('weight'))})" for one in encoders]
    return (
        f"Its weights are the mean of {len(encoders)} trainings (in brackets the weight of each), scaled "
        f"by {shown(averaged.get('scale', 1.0))}: {', '.join(lines)}."
    )
