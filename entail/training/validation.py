"""Checks of the values of a training configuration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from entail.errors import TrainingError
from entail.training.fields import fields_of


def check_values(
    config: Any,  # noqa: ANN401 - any dataclass
    *,
    at_least: Mapping[str, int],
    above_zero: Mapping[str, float],
    not_negative: Iterable[str],
) -> None:
    """Check the values of a configuration; those of a `Literal` field must be one of its choices.

    Args:
        config: Dataclass; a field `dropout` must be None or within [0, 1).
        at_least: Field -> its lowest value.
        above_zero: Field -> its value, which must be above 0 and finite.
        not_negative: Fields that must be 0 or more, and finite.

    Raises:
        TrainingError: If a value is out of range; names the field.
    """

    def require(name: str, valid: bool, expected: str, found: object) -> None:
        if not valid:
            raise TrainingError(f"{name}: expected {expected}, found {found}")

    for name, lowest in at_least.items():
        require(name, getattr(config, name) >= lowest, f"at least {lowest}", getattr(config, name))
    for name, value in above_zero.items():
        require(name, 0 < value < math.inf, "more than 0", value)
    for name in not_negative:
        require(name, 0 <= getattr(config, name) < math.inf, "0 or more", getattr(config, name))
    dropout = getattr(config, "dropout", None)
    require("dropout", dropout is None or 0 <= dropout < 1, "at least 0 and less than 1", dropout)
    for field in fields_of(type(config)):
        value = getattr(config, field.name)
        if field.choices and not (field.optional and value is None):
            expected = f"one of {', '.join(field.choices)}"
            require(field.name, value in field.choices, expected, repr(value))
