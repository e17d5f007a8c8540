"""A configuration dataclass as fields, and values back into a configuration."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge

from entail.errors import SettingsError
from entail.training.fields import config_of, fields_of, list_changes, values_of


@dataclass(frozen=True, kw_only=True)
class Config:
    needed: Annotated[str, "a name"]
    many: Annotated[int | None, Ge(1), "how many"] = None
    share: float = 0.5
    on: Annotated[bool, "whether"] = True
    how: Annotated[Literal["slow", "fast"], "which way"] = "slow"
    file: Annotated[Path | None, "where"] = None
    files: Annotated[tuple[Path, ...], "from where"] = ()


def test_each_kind_of_field() -> None:
    rows = [(f.name, f.kind, f.optional, f.required, f.choices, f.help) for f in fields_of(Config)]
    assert rows == [
        ("needed", "text", False, True, (), "a name"),
        ("many", "whole", True, False, (), "how many"),
        ("share", "number", False, False, (), ""),
        ("on", "flag", False, False, (), "whether"),
        ("how", "choice", False, False, ("slow", "fast"), "which way"),
        ("file", "file", True, False, (), "where"),
        ("files", "files", False, False, (), "from where"),
    ]


def test_round_trip() -> None:
    config = config_of(
        Config, {"needed": "x", "share": 1, "file": "a/b", "many": None, "files": ["c", "d"], "gone": None}
    )
    assert config == Config(needed="x", share=1.0, file=Path("a/b"), files=(Path("c"), Path("d")))
    assert isinstance(config.share, float)
    assert config_of(Config, {"needed": "x", "files": "c"}).files == (Path("c"),), "jobs of earlier versions"
    stored = json.loads(json.dumps(values_of(config)))
    assert config_of(Config, stored) == config
    changes = {"needed": "x", "share": 1.0, "file": "a/b", "files": ["c", "d"]}
    assert list_changes(Config, stored | {"gone": 3}) == changes | {"gone": 3}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "needed"),
        ({"needed": "x", "many": 1.5}, "many: "),
        ({"needed": "x", "share": None}, "share: "),
        ({"needed": "x", "sahre": 1}, "sahre: .*share"),
    ],
)
def test_invalid_values(values: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        config_of(Config, values)
