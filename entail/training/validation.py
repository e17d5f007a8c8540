"""Checks of the values of a training configuration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from entail.errors import TrainingError


def check_values(
    config: object,
    *,
    at_least: Mapping[str, int],
    above_zero: Mapping[str, float],
    not_negative: Iterable[str],
    choices: Mapping[str, Any],
) -> None:
    """Check the values of a configuration.

    Args:
        config: Dataclass; a field `dropout` must be None or within [0, 1).
        at_least: Field -> its lowest value.
        above_zero: Field -> its value, which must be above 0 and finite.
        not_negative: Fields that must be 0 or more, and finite.
        choices: Field -> `Literal` of its values.

    Raises:
        TrainingError: If a value is out of range; names the field.
    """
    for name, lowest in at_least.items():
        if getattr(config, name) < lowest:
            raise TrainingError(f"{name}: expected at least {lowest}, found {getattr(config, name)}")
    for name, value in above_zero.items():
        if not 0 < value < math.inf:
            raise TrainingError(f"{name}: expected more than 0, found {value}")
    for name in not_negative:
        if not 0 <= getattr(config, name) < math.inf:
            raise TrainingError(f"{name}: expected 0 or more, found {getattr(config, name)}")
    dropout = getattr(config, "dropout", None)
    if dropout is not None and not 0 <= dropout < 1:
        raise TrainingError(f"dropout: expected at least 0 and less than 1, found {dropout}")
    for name, literal in choices.items():
        if getattr(config, name) not in get_args(literal):
            expected, found = ", ".join(get_args(literal)), getattr(config, name)
            raise TrainingError(f"{name}: expected one of {expected}, found {found!r}")
