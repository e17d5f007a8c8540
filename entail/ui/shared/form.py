"""Fields of forms: a configuration dataclass, a field for each setting; paths and uploads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from entail.encoders.catalogue import catalogue
from entail.errors import SettingsError
from entail.settings import MAX_UPLOAD_MB
from entail.training.fields import Field
from entail.training.method import Method
from entail.ui.shared.text import label

_COLUMNS = 3
"""Fields in a row."""

MAX_COMMON = 8
"""Largest number of settings with a field of their own."""

BASE, INITIAL = "base", "initial"
"""Names of the settings that name the model, and the adapter on it, to start from."""

_LABELS = {
    "gold": "Reference triplets",
    "initial": "Start from",
    "live_k": "Hard negatives per step",
    "nli": "Entailment pairs",
    "qrels": "Relevance judgements",
}
"""Labels of settings whose names do not say what they are."""

_CHOICES: Mapping[object, str] = {
    **{None: "default", True: "yes", False: "no"},
    **{"ent": "entailed", "ent+con": "entailed, contradicted", "ent+rev": "entailed, reversed"},
    "ent+con+rev": "entailed, contradicted, reversed",
    **{"agree": "where all agree", "majority": "by majority", "weighted": "weighted by agreement"},
}
"""Words for choices that would not say what they are."""


def draw_settings(method: Method, begin: Mapping[str, object], *, key: str) -> dict[str, object]:
    """Draw the common settings of a method as fields and the others as a table; return all values by name.

    `begin` has the first values where they differ from the defaults. Another `key` resets the form.

    Raises:
        SettingsError: If a value of the table is none of its field.
    """
    fields = {field.name: field for field in method.fields}
    common = ([fields[name] for name in method.common if name in fields] or list(fields.values()))[
        :MAX_COMMON
    ]
    values = draw_fields(common, begin, key=key)
    if rest := [field for field in fields.values() if field not in common]:
        with st.expander("All settings", icon=":material/tune:"):
            values |= _draw_table(rest, begin, key=f"{key}-table")
    changes = method.list_changes(values)
    summary = ", ".join(
        f"{setting_label(name)} {_as_text(value) or 'none'}" for name, value in changes.items()
    )
    st.caption(label(f"Non-default settings: {summary or 'none'}."))
    return values


def _draw_table(fields: Sequence[Field], begin: Mapping[str, object], *, key: str) -> dict[str, object]:
    """Draw fields as a table with one editable column, and return their values by name."""
    rows = [
        {
            "setting": setting_label(field.name),
            "value": _as_text(begin.get(field.name, None if field.required else field.default)),
            "default": "required" if field.required else _as_text(field.default),
            "allowed": field.allowed,
            "help": field.help,
        }
        for field in fields
    ]
    edited = st.data_editor(
        pd.DataFrame(rows),
        key=key,
        hide_index=True,
        disabled=["setting", "default", "allowed", "help"],
        column_config={name: name.capitalize() for name in rows[0]},
    )
    texts = edited["value"].fillna("").astype(str)
    return {field.name: field.parse(text) for field, text in zip(fields, texts, strict=True)}


def _as_text(value: object) -> str:
    """Return a value as `Field.parse` reads it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def draw_fields(fields: Sequence[Field], begin: Mapping[str, object], *, key: str) -> dict[str, object]:
    """Draw fields in rows and return their values by name; an empty required one has none."""
    values: dict[str, object] = {}
    for start in range(0, len(fields), _COLUMNS):
        cells = st.columns(_COLUMNS, vertical_alignment="bottom")
        for cell, field in zip(cells, fields[start : start + _COLUMNS], strict=False):
            with cell:
                default = None if field.required else field.default
                value = _draw_field(field, begin.get(field.name, default), key=f"{key}-{field.name}")
            if not (field.required and not field.optional and value in (None, "")):
                values[field.name] = value
    return values


def _draw_field(field: Field, value: Any, *, key: str) -> Any:
    """Draw one field with its first value and return its value."""
    name = setting_label(field.name)
    common: dict[str, Any] = {"key": key, "help": field.help or None}
    empty = _CHOICES[None] if field.optional else "required" if field.default != "" else "none"
    if field.name in (BASE, INITIAL) and field.kind == "text":
        models = _models(str(value or ""), adapters=field.name == INITIAL)
        return st.selectbox(
            name, models, format_func=lambda model: model or "none", accept_new_options=True, **common
        )
    if field.kind == "flag" and not field.optional:
        return st.checkbox(name, value=bool(value), **common)
    if field.kind in ("choice", "flag"):
        choices = [*([None] if field.optional else []), *(field.choices or (True, False))]
        index = choices.index(value) if value in choices else None
        return st.selectbox(name, choices, index=index, format_func=_choice_name, **common)
    if field.kind == "whole":
        return st.number_input(name, value=value, step=1, placeholder=empty, **common)
    if field.kind == "number":
        number = None if value is None else float(value)
        return st.number_input(
            name, value=number, step=step_of(value), format="%g", placeholder=empty, **common
        )
    return st.text_input(name, value="" if value is None else str(value), placeholder=empty, **common)


def _choice_name(choice: object) -> str:
    return _CHOICES.get(choice, str(choice))


def _models(first: str, *, adapters: bool) -> list[str]:
    """Return the whole models that load, or none and the adapters of points; the first value first."""
    names = [
        entry.name
        for entry in catalogue()
        if entry.problem is None and (entry.base is not None) == adapters and entry.gaussian is None
    ]
    options = [first, *([""] if adapters else []), *names]
    return list(dict.fromkeys(name for name in options if name or adapters))


def setting_label(name: str) -> str:
    """Return the label of a setting.

    >>> setting_label("batch_size"), setting_label("k"), setting_label("nli_limit")
    ('Batch size', 'K', 'NLI limit')
    """
    return _LABELS.get(name) or name.replace("_", " ").strip().capitalize().replace("Nli", "NLI")


def step_of(value: float | None) -> float:
    """Return the step of a number field: a tenth of its value, rounded down to a power of ten.

    >>> step_of(0.1), step_of(5e-4), step_of(None)
    (0.01, 1e-05, 0.0001)
    """
    if not value:
        return 1e-4 if value is None else 0.01
    return float(f"1e{math.floor(math.log10(abs(value))) - 1}")


def is_path(typed: str) -> bool:
    """Return whether a typed text is a path of the server instead of a name or a Hub id."""
    return typed[:1] in ("/", "\\", ".", "~") or ("/" in typed and Path(typed).exists())


def refuse_paths(
    values: Mapping[str, object], *, existing_values: Mapping[str, object] | None = None
) -> None:
    """Refuse typed paths: who sees a form may name a model, but not read any folder of the server.

    `existing_values` were not typed here, such as those of another job.

    Raises:
        SettingsError: If a text is a path.
    """
    for name, value in values.items():
        if not isinstance(value, str) or (existing_values or {}).get(name) == value:
            continue
        if any(is_path(part.strip()) for part in value.split(",")):
            raise SettingsError(
                f"{setting_label(name)}: expected a name, found a path; put the model into the folder models "
                "of the data folder and give its name"
            )


def upload_limit(most: int = MAX_UPLOAD_MB) -> int:
    """Return the largest upload in MB that both the readers and the web server accept."""
    return min(most, int(st.get_option("server.maxUploadSize")))
