"""Fields of a configuration dataclass, for forms, command lines, TOML files and stored jobs."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import json
import math
import operator
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from entail.errors import EntailError, SettingsError

C = TypeVar("C")

Kind = Literal["flag", "whole", "number", "choice", "file", "files", "text"]

REQUIRED = dataclasses.MISSING
"""The default of a field that has none."""

_KINDS: Mapping[Any, Kind] = {
    bool: "flag",
    int: "whole",
    float: "number",
    Path: "file",
    tuple[Path, ...]: "files",
    str: "text",
}
_WORDS: Mapping[Kind, str] = {
    "flag": "true or false",
    "whole": "a whole number",
    "number": "a number",
    "file": "a file's path",
    "files": "paths of files",
    "text": "a text",
}
_FLAGS = {"true": True, "false": False}
_BOUNDS: Mapping[type, tuple[Callable[[Any, Any], bool], str]] = {
    Ge: (operator.ge, "at least"),
    Gt: (operator.gt, "more than"),
    Le: (operator.le, "at most"),
    Lt: (operator.lt, "less than"),
}


@dataclass(frozen=True)
class Field:
    """One setting: `default` may be `REQUIRED`, `optional` allows None, `bounds` are those of a number."""

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

    @property
    def allowed(self) -> str:
        """Description of the allowed values.

        >>> config_fields = fields_of(dataclasses.make_dataclass("C", [("rank", Annotated[int, Ge(1)])]))
        >>> config_fields[0].allowed
        'a whole number, at least 1'
        """
        kind = f"one of {', '.join(self.choices)}" if self.choices else _WORDS[self.kind]
        bounds = [f"{_BOUNDS[type(bound)][1]} {dataclasses.astuple(bound)[0]}" for bound in self.bounds]
        return ", ".join([kind, *bounds]) + (" or nothing" if self.optional else "")

    def parse(self, text: str) -> Any:
        """Return a value of the field's type from a text; an empty text is None where that is allowed.

        Raises:
            SettingsError: If the text is no such value; says what was expected.
        """
        value: object = _FLAGS.get(text.lower(), text) if self.kind == "flag" else text
        if self.kind in ("whole", "number"):
            with contextlib.suppress(ValueError):
                value = int(text) if self.kind == "whole" else float(text)
        return self.read(value)

    def read(self, value: object) -> Any:
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
            case "files", str() | Path() if str(value):
                return (Path(value),)
            case "files", list() | tuple():
                return tuple(Path(str(item)) for item in value)
            case "text", str():
                return value
        raise SettingsError(f"{self.name}: expected {self.allowed}, found {value!r}")


def fields_of(config_type: type[Any]) -> tuple[Field, ...]:
    """Return the fields of a dataclass in order.

    A field is declared as ``name: Annotated[type, "help"] = default``; types are `bool`, `int`, `float`,
    `str`, `Path`, `tuple[Path, ...]`, a `Literal` of texts, or one of these or None. Bounds of
    `annotated_types` may precede the help.

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


def read_values(config_type: type[Any], values: Mapping[str, object]) -> dict[str, Any]:
    """Return values by name, each of its field's type.

    A name that no longer exists is ignored with the value None, which jobs of earlier versions hold.

    Raises:
        SettingsError: If a name is unknown, or a value has another type.
    """
    fields = {field.name: field for field in fields_of(config_type)}
    for name in sorted(name for name in values.keys() - fields.keys() if values[name] is not None):
        close = difflib.get_close_matches(name, fields, n=1)
        hint = f"did you mean {close[0]}?" if close else f"the settings are: {', '.join(fields)}"
        raise SettingsError(f"{name}: no such setting; {hint}")
    return {name: fields[name].read(value) for name, value in values.items() if name in fields}


def config_of(config_type: type[C], values: Mapping[str, object]) -> C:
    """Build a configuration from values by name; the others keep their defaults.

    Raises:
        SettingsError: If a name is unknown, a value has another type, or a required one is missing.
        EntailError: If the configuration itself refuses the values.
    """
    typed = read_values(config_type, values)
    required = (field.name for field in fields_of(config_type) if field.required)
    if missing := [name for name in required if name not in typed]:
        raise SettingsError(f"{config_type.__name__} needs {', '.join(missing)}; give a value")
    return config_type(**typed)


def values_of(config: Any) -> dict[str, Any]:
    """Return a configuration as JSON values, the input of `config_of`."""
    return {field.name: _to_json(getattr(config, field.name)) for field in fields_of(type(config))}


def list_changes(config_type: type[Any], values: Mapping[str, object]) -> dict[str, Any]:
    """Return the JSON values that differ from the defaults, with those of fields that no longer exist."""
    defaults = {field.name: _to_json(field.default) for field in fields_of(config_type)}
    return {name: value for name, value in values.items() if value != defaults.get(name)}


def read_toml(file: Path) -> dict[str, Any]:
    """Return the values of a TOML file by name, unchecked.

    Raises:
        SettingsError: If it cannot be read, or is no TOML.
    """
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:  # no TOML, or no UTF-8
        raise SettingsError(
            f"{file}: expected a TOML file such as --show-config prints, found {error}"
        ) from error


def format_toml(fields: Iterable[Field], values: Mapping[str, object]) -> str:
    """Return fields as TOML, each with its help, allowed values and default.

    A field without a value stands in a comment, since TOML has no null.
    """
    blocks = []
    for field in fields:
        value = _as_toml(values.get(field.name))
        default = "required" if field.required else _as_toml(field.default) or "none"
        about = [field.help, f"Allowed: {field.allowed}. Default: {default}."]
        lines = [line for part in about for line in textwrap.wrap(part, 100, break_long_words=False)]
        entry = f"# {field.name} =" if value is None else f"{field.name} = {value}"
        blocks.append("\n".join([*(f"# {line}" for line in lines), entry]))
    return "\n\n".join(blocks)


def _as_toml(value: object) -> str | None:
    return None if value is None else json.dumps(_to_json(value), ensure_ascii=False)


def _to_json(value: object) -> object:
    if isinstance(value, tuple):
        return [str(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def check_values(config: Any, error: type[EntailError]) -> None:
    """Raise an error of this class if a value is out of range, not finite, or none of the choices."""
    for field in fields_of(type(config)):
        value = getattr(config, field.name)
        if field.optional and value is None:
            continue
        if field.choices and value not in field.choices:
            raise error(f"{field.name}: expected {field.allowed}, found {value!r}")
        if field.kind == "number" and not math.isfinite(value):
            raise error(f"{field.name}: expected a finite number, found {value}")
        for bound in field.bounds:
            if not _BOUNDS[type(bound)][0](value, *dataclasses.astuple(bound)):
                raise error(f"{field.name}: expected {field.allowed}, found {value}")


def _field(field: dataclasses.Field[Any], hint: Any) -> Field:
    extras: list[object] = []
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
    help_ = next((extra for extra in extras if isinstance(extra, str)), "")
    bounds = tuple(extra for extra in extras if isinstance(extra, Ge | Gt | Le | Lt))
    types = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    bare, *alternatives = [part for part in types if part is not NoneType]
    choices = get_args(bare) if get_origin(bare) is Literal else ()
    if alternatives or not (choices or bare in _KINDS):
        raise TypeError(
            f"{field.name}: expected bool, int, float, str, Path, tuple[Path, ...], a Literal of texts, or "
            f"one of these or None, found {hint}"
        )
    default = field.default if field.default_factory is REQUIRED else field.default_factory()
    kind = "choice" if choices else _KINDS[bare]
    return Field(field.name, kind, default, help_, choices, NoneType in types, hint, bounds)
