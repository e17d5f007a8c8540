"""Adapters that are cut, altered or without effect."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.encoders.bert.lora import read_lora_config
from entail.encoders.encoder import BiEncoder
from entail.errors import EncoderError
from tests.encoders.conftest import card


def edit_tensors(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "adapter_model.safetensors")
    edit(tensors)
    save_file(tensors, folder / "adapter_model.safetensors")


def edit_config(folder: Path, fields: dict[str, object]) -> None:
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields), encoding="utf-8")


QUERY = "base_model.model.encoder.layer.0.attention.self.query"


def _drop(*names: str) -> Callable[[dict[str, Any]], object]:
    return lambda tensors: [tensors.pop(name) for name in names]


def _cut(name: str, rows: int) -> Callable[[dict[str, Any]], object]:
    return lambda tensors: tensors.update({name: tensors[name][:rows].contiguous()})


def _widen(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda tensors: tensors.update({name: tensors[name].repeat(1, 2)})


def _move(tensors: dict[str, Any]) -> None:
    for name in [name for name in tensors if "query" in name]:
        tensors[name.replace("layer.0", "layer.7")] = tensors.pop(name)


def _rename(tensors: dict[str, Any]) -> None:
    tensors[f"{QUERY}.lora_C.weight"] = tensors.pop(f"{QUERY}.lora_B.weight")


def _add(tensors: dict[str, Any]) -> None:
    for letter in "AB":
        other = f"{QUERY}.lora_{letter}.weight".replace("self.query", "output.dense")
        tensors[other] = tensors[f"{QUERY}.lora_{letter}.weight"].clone()


def _integers(tensors: dict[str, Any]) -> None:
    tensors[f"{QUERY}.lora_B.weight"] = tensors[f"{QUERY}.lora_B.weight"].int()


@pytest.mark.parametrize(
    "edit",
    [
        _drop(f"{QUERY}.lora_B.weight"),
        _cut(f"{QUERY}.lora_A.weight", 1),
        _widen(f"{QUERY}.lora_A.weight"),
        _rename,
        _add,
        _integers,
        _move,
    ],
    ids=["no B", "rank", "inputs", "renamed", "another", "integers", "layer"],
)
@pytest.mark.parametrize("options", [{}, {"alpha_pattern": {"value": 32}}], ids=["plain", "by PEFT"])
def test_a_damaged_adapter_is_refused(
    make: Callable[..., Path], edit: Callable[[dict[str, Any]], object], options: dict[str, Any]
) -> None:
    """PEFT would fill what is missing with random numbers."""
    folder = make("single", **options)
    edit_tensors(folder, edit)
    with pytest.raises(EncoderError, match="tuned"):
        BiEncoder(folder).load()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("use_dora", True),
        ("r", 4),
        ("lora_alpha", float("nan")),
        ("lora_alpha", "much"),
        ("target_modules", ["query"]),
        ("target_modules", ["query", "value", "key"]),
        ("modules_to_save", ["intermediate.dense"]),
    ],
)
def test_a_configuration_that_does_not_fit_its_tensors_is_refused(
    make: Callable[..., Path], field: str, value: object
) -> None:
    folder = make("single")
    edit_config(folder, {field: value})
    with pytest.raises(EncoderError):
        BiEncoder(folder).load()


def _zero(tensors: dict[str, Any]) -> None:
    for name in tensors:
        if "lora_B" in name:
            tensors[name].zero_()


@pytest.mark.parametrize("options", [{}, {"alpha_pattern": {"query": 8}}], ids=["plain", "by PEFT"])
def test_an_adapter_that_changes_nothing_warns(
    make: Callable[..., Path], options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    folder = make("single", **options)
    BiEncoder(folder).load()
    assert not caplog.records
    edit_tensors(folder, _zero)
    BiEncoder(folder).load()
    assert [record.args for record in caplog.records] == [("tuned",)]


def test_an_adapter_on_a_base_of_another_size_is_refused(make: Callable[..., Path]) -> None:
    with pytest.raises(EncoderError):
        BiEncoder(card(make("single"), base="minilm", towers="single")).load()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("r", "2"),
        ("lora_alpha", None),
        ("peft_type", "IA3"),
        ("init_lora_weights", "pissa"),
        ("something_new", {"on": True}),
        ("target_modules", "all-linear"),
    ],
)
def test_a_configuration_that_is_not_plain_lora_is_not_taken_for_it(
    make: Callable[..., Path], field: str, value: object
) -> None:
    folder = make("single")
    assert read_lora_config(folder) is not None
    edit_config(folder, {field: value})
    assert read_lora_config(folder) is None
