"""Fields of a configuration dataclass, for forms, command lines and stored jobs."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from entail.errors import EntailError, SettingsError

C = TypeVar("C")
V = TypeVar("V")

Kind = Literal["flag", "whole", "number", "choice", "file", "text"]

REQUIRED = dataclasses.MISSING
"""The default of a field that has none."""

RENAMED: Mapping[str, str] = {
    "longest": "max_length",
    "more": "more_passages",
    "second": "second_pairs",
    "third": "third_pairs",
}
"""Field names of earlier versions -> current names."""

REMOVED = frozenset({"alone", "frozen", "nli", "nli_second", "nli_third", "nli_limit"})
"""Fields of earlier versions that have no effect; those of `nli` had none in the second stage of DPR."""

_KINDS: Mapping[Any, Kind] = {bool: "flag", int: "whole", float: "number", Path: "file", str: "text"}
_WORDS: Mapping[Kind, str] = {
    "flag": "yes or no (true, false)",
    "whole": "a whole number",
    "number": "a number",
    "file": "a file's path",
    "text": "a text",
}
_BOUNDS: Mapping[type, tuple[Callable[[Any, Any], bool], str]] = {
    Ge: (operator.ge, "at least"),
    Gt: (operator.gt, "more than"),
    Le: (operator.le, "at most"),
    Lt: (operator.lt, "less than"),
}


@dataclass(frozen=True)
class Field:
    """One setting.

    Attributes:
        default: Default value, `REQUIRED` without one.
        help: Description, may be empty.
        choices: Values of a `choice`.
        optional: Whether None is allowed.
        type: Annotated type, without the help.
        bounds: Range of a number, by `annotated_types`.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    choices: tuple[str, ...]
    optional: bool
    type: Any
    bounds: tuple[Ge | Gt | Le | Lt, ...] = ()

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is REQUIRED

    def read(self, value: object) -> Any:  # noqa: ANN401 - of the field's type
        """Return a value of the field's type from JSON, a form or an option.

        Raises:
            SettingsError: If it is of another kind; says what was expected.
        """
        if self.optional and (value is None or value == ""):
            return None
        match self.kind, value:
            case "flag", bool():
                return value
            case "choice", str() if value in self.choices:
                return value
            case "whole", int() if not isinstance(value, bool):
                return value
            case "number", int() | float() if not isinstance(value, bool):
                return float(value)
            case "file", str() | Path() if str(value):
                return Path(value)
            case "text", str():
                return value
        expected = f"one of {', '.join(self.choices)}" if self.choices else _WORDS[self.kind]
        raise SettingsError(
            f"{self.name}: expected {expected}{' or nothing' if self.optional else ''}, found {value!r}"
        )


def fields_of(config_type: type[Any]) -> tuple[Field, ...]:
    """Return the fields of a dataclass in order.

    A field is declared as ``name: Annotated[type, "help"] = default``; types are `bool`, `int`, `float`,
    `str`, `Path`, a `Literal` of texts, or one of these or None. Bounds of `annotated_types` may precede the
    help.

    >>> @dataclass(frozen=True)
    ... class Config:
    ...     loss: Annotated[Literal["triplet", "softmax"], "loss function"] = "triplet"
    >>> [(f.name, f.kind, f.choices, f.default, f.help) for f in fields_of(Config)]
    [('loss', 'choice', ('triplet', 'softmax'), 'triplet', 'loss function')]

    Raises:
        TypeError: If it is no dataclass, or a field has another type.
    """
    hints = get_type_hints(config_type, include_extras=True)
    return tuple(_field(field, hints[field.name]) for field in dataclasses.fields(config_type) if field.init)


def current_names(values: Mapping[str, V], *, field_names: Iterable[str]) -> dict[str, V]:
    """Return values of an earlier version under the current field names; names in `field_names` stay.

    >>> current_names({"longest": 64, "alone": 2, "rank": 4}, field_names=["max_length", "rank"])
    {'max_length': 64, 'rank': 4}
    """
    field_names = set(field_names)
    return {
        name if name in field_names else RENAMED.get(name, name): value
        for name, value in values.items()
        if name in field_names or name not in REMOVED
    }


def config_of(config_type: type[C], values: Mapping[str, object]) -> C:
    """Build a configuration from values by name; the others keep their defaults.

    Raises:
        SettingsError: If a name is unknown, a value has another type, or a required one is missing.
        EntailError: If the configuration itself refuses the values.
    """
    fields = {field.name: field for field in fields_of(config_type)}
    values = current_names(values, field_names=fields)
    if strange := sorted(set(values) - set(fields)):
        raise SettingsError(
            f"{config_type.__name__} has no {', '.join(strange)}; its fields are: {', '.join(fields)}"
        )
    if missing := [name for name, field in fields.items() if field.required and name not in values]:
        raise SettingsError(f"{config_type.__name__} needs {', '.join(missing)}; give a value")
    return config_type(**{name: fields[name].read(value) for name, value in values.items()})


def values_of(config: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """Return a configuration as JSON values, the input of `config_of`."""
    values = {field.name: getattr(config, field.name) for field in fields_of(type(config))}
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def list_changes(config: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """Return the values that differ from the defaults."""
    defaults = {field.name: field.default for field in fields_of(type(config))}
    return {name: value for name, value in values_of(config).items() if value != defaults[name]}


def check_values(config: Any, error: type[EntailError]) -> None:  # noqa: ANN401 - any dataclass
    """Raise an error of this class if a value is out of range, not finite, or none of the choices."""
    for field in fields_of(type(config)):
        value = getattr(config, field.name)
        if field.optional and value is None:
            continue
        if field.choices and value not in field.choices:
            raise error(f"{field.name}: expected one of {', '.join(field.choices)}, found {value!r}")
        if field.kind == "number" and not math.isfinite(value):
            raise error(f"{field.name}: expected a finite number, found {value}")
        for bound in field.bounds:
            fits, words = _BOUNDS[type(bound)]
            (limit,) = dataclasses.astuple(bound)
            if not fits(value, limit):
                raise error(f"{field.name}: expected {words} {limit}, found {value}")


def _field(field: dataclasses.Field[Any], hint: Any) -> Field:  # noqa: ANN401 - an annotation
    help_ = ""
    bounds: tuple[Ge | Gt | Le | Lt, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        help_ = next((extra for extra in extras if isinstance(extra, str)), "")
        bounds = tuple(extra for extra in extras if isinstance(extra, Ge | Gt | Le | Lt))
    bare, optional = hint, False
    if get_origin(hint) in (Union, UnionType):
        bare, *alternatives = [part for part in get_args(hint) if part is not NoneType]
        optional = NoneType in get_args(hint)
        if alternatives:
            raise TypeError(f"{field.name}: expected one type or None, found {hint}")
    default = field.default if field.default_factory is REQUIRED else field.default_factory()
    if get_origin(bare) is Literal:
        choices = get_args(bare)
        return Field(field.name, "choice", default, help_, choices, optional, hint)
    if bare not in _KINDS:
        raise TypeError(
            f"{field.name}: expected bool, int, float, str, Path or a Literal of texts, found {bare}"
        )
    return Field(field.name, _KINDS[bare], default, help_, (), optional, hint, bounds)
