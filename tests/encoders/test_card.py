"""`entail.json` is read whole and of the right types, or refused with what was expected."""

import json
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

from entail.encoders.card import Card, read_card
from entail.errors import EncoderError

WHOLE: dict[str, Any] = {
    "method": "aeenc",
    "base": "minilm",
    "base_revision": "minilm@53aa51172d14",
    "towers": "single",
    "figures": {"dev": {"MAP": 0.575}},
    "config": {"rank": 16},
    "licence": "apache-2.0",
}


def write(folder: Path, content: object) -> Path:
    (folder / "entail.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_every_field_is_read_and_others_may_stand_beside_them(tmp_path: Path) -> None:
    card = read_card(write(tmp_path, {**WHOLE, "trained_on": {"trees": 1313}}), "x")
    assert card == Card(**WHOLE)
    assert card is not None
    with pytest.raises(FrozenInstanceError):
        card.towers = "dual"  # type: ignore[misc]  # frozen: this must fail


def test_what_is_not_said_has_a_default(tmp_path: Path) -> None:
    assert read_card(tmp_path, "x") is None
    assert read_card(write(tmp_path, {}), "x") == Card()
    assert read_card(write(tmp_path, dict.fromkeys(WHOLE)), "x") == Card()
    assert Card().towers == "siamese"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("towers", "triple", "one of siamese, single, dual as 'towers' in entail.json, found 'triple'"),
        ("towers", ["dual"], r"a text as 'towers' in entail.json, found \['dual'\]"),
        ("base", 7, "a text as 'base' in entail.json, found 7"),
        ("base_revision", {}, "a text as 'base_revision'"),
        ("figures", [0.5], r"an object as 'figures' in entail.json, found \[0.5\]"),
        ("config", "r" * 500, "an object as 'config' in entail.json, found 'rrrr.*…$"),
    ],
)
def test_a_field_of_another_type_is_refused(tmp_path: Path, field: str, value: Any, message: str) -> None:
    with pytest.raises(EncoderError, match=f"x: expected {message}"):
        read_card(write(tmp_path, {**WHOLE, field: value}), "x")


@pytest.mark.parametrize("content", [[], "minilm", 3])
def test_what_is_no_object_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(EncoderError, match=r"x: expected an object in entail\.json"):
        read_card(write(tmp_path, content), "x")
