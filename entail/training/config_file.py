"""Configuration files: the settings of a method as TOML."""

from __future__ import annotations

import json
import textwrap
import tomllib
from pathlib import Path
from typing import Any

from entail.errors import SettingsError
from entail.training.fields import Field, fields_of, values_of

_WIDTH = 100


def read_config_file(file: Path) -> dict[str, Any]:
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


def format_config(config: Any) -> str:  # noqa: ANN401 - any dataclass
    """Return a configuration as TOML, each field with its help, allowed values and default.

    A field without a value stands in a comment, since TOML has no null.
    """
    values, blocks = values_of(config), []
    for field in fields_of(type(config)):
        value = values[field.name]
        about = [field.help, f"Allowed: {field.allowed}. Default: {format_default(field)}."]
        lines = [line for part in about for line in textwrap.wrap(part, _WIDTH, break_long_words=False)]
        entry = (
            f"{field.name} = {json.dumps(value, ensure_ascii=False)}"
            if value is not None
            else f"# {field.name} ="
        )
        blocks.append("\n".join([*(f"# {line}" for line in lines), entry]))
    return "\n\n".join(blocks)


def format_default(field: Field) -> str:
    """Return the default of a field as text."""
    if field.required:
        return "required"
    return "none" if field.default is None else json.dumps(field.default, ensure_ascii=False)
