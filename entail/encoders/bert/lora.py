"""LoRA adapters on a shared BERT, applied while encoding: y = W x + b + s B A x (Hu et al. 2021).

A has shape (r, inputs), B (outputs, r); s is alpha / r, or alpha / sqrt(r) if rank-stabilised. The base's
weights do not change, so any number of adapters share one copy of them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from pathlib import Path
from typing import TYPE_CHECKING

from entail.encoders.bert.folder import BertConfig
from entail.encoders.bert.model import ATTENTION, INNER, OUTER, OUTPUT, Bert, LowRank
from entail.encoders.weights import open_tensors, read_object
from entail.errors import EncoderError

if TYPE_CHECKING:
    from torch import Tensor

NO_EFFECT = "%s: the adapter changes nothing: its scale or all its output weights are 0"

_log = logging.getLogger(__name__)
PREFIX = "base_model.model."  # of a tensor's name in PEFT's files

_TENSOR = re.compile(r"(.+)\.lora_[AB]\.weight")
_UNUSED = "pooler.dense"
_IGNORED = frozenset(
    (
        *("auto_mapping", "base_model_name_or_path", "exclude_modules", "inference_mode", "lora_dropout"),
        *("megatron_core", "peft_version", "qalora_group_size", "revision", "task_type"),
    )
)
"""Fields of `adapter_config.json` that say nothing about the tensors; only the pooler is ever excluded."""


@dataclass(frozen=True)
class LoraConfig:
    """A plain LoRA adapter of rank r on the modules whose names end in `targets`."""

    folder: Path
    rank: int
    alpha: float
    stabilised: bool
    targets: tuple[str, ...]

    def scale(self, rank: int) -> float:
        """Return s for a module's rank."""
        return self.alpha / (sqrt(rank) if self.stabilised else rank)


def read_lora_config(folder: Path) -> LoraConfig | None:
    """Return an adapter's configuration, None if it is anything but plain LoRA on named linear layers.

    Raises:
        EncoderError: If the configuration is not JSON, or its scale is no number.
    """
    config = read_object(folder / "adapter_config.json")
    options = {key: value for key, value in config.items() if value and key not in _IGNORED}
    rank, alpha = options.pop("r", None), options.pop("lora_alpha", None)
    targets, stabilised = options.pop("target_modules", None), options.pop("use_rslora", False) is True
    if isinstance(alpha, float) and not isfinite(alpha):
        raise EncoderError(f"{folder.name}: expected a number as lora_alpha, found {alpha}")
    plain = options.pop("peft_type", None) == "LORA" and options.pop("bias", "none") == "none"
    # Other initialisations change the base's weights too.
    plain = plain and options.pop("init_lora_weights", True) in (True, "gaussian") and not options
    typed = type(rank) is int and isinstance(alpha, int | float) and isinstance(targets, list)
    return LoraConfig(folder, rank, float(alpha), stabilised, tuple(targets)) if plain and typed else None


def read_lora(config: LoraConfig, bert: Bert, *, name: str) -> LowRank | None:
    """Return an adapter's tensors on the base's device in its precision; None if it is not on layers alone.

    Raises:
        EncoderError: If the file is damaged, a tensor is missing, or one does not fit the base.
    """
    import torch

    modules = _modules(bert.config)
    parts: dict[str, list[tuple[slice, Tensor, Tensor]]] = {}
    ends = tuple(f".{target}" for target in config.targets)
    path = config.folder / "adapter_model.safetensors"
    with open_tensors(path, name=name, device=bert.device, dtype=torch.float32, prefix=PREFIX) as tensors:
        matches = map(_TENSOR.fullmatch, tensors.names)
        adapted = {match[1] if match else "" for match in matches} - {_UNUSED}
        covered = {module for module in modules if f".{module}".endswith(ends)}
        if any(not module.startswith("encoder.layer.") for module in adapted - modules.keys()):
            return None
        if stray := sorted(adapted - covered):
            raise EncoderError(
                f"{name}: {path.name}: expected tensors of the layers in adapter_config.json on a base of "
                f"{bert.config.layers} layers, found {stray[0]!r}; it is damaged, or of another base"
            )
        for module in sorted(covered):
            linear, rows, inputs = modules[module]
            down = tensors.get(f"{module}.lora_A.weight", config.rank, inputs)  # (r, inputs)
            up = tensors.get(f"{module}.lora_B.weight", rows.stop - rows.start, len(down))  # (outputs, r)
            parts.setdefault(linear, []).append((rows, down, up * config.scale(len(down))))
    if not any(up.any() for adapters in parts.values() for _, _, up in adapters):
        _log.warning(NO_EFFECT, name)
    return {linear: _joined(adapters, bert, linear) for linear, adapters in parts.items()}


def merge_adapter(bert: Bert, adapter: LowRank) -> dict[str, tuple[Tensor, Tensor]]:
    """Return a BERT's linear maps with an adapter added to their weights."""
    linears = dict(bert.linears)
    for name, (down, up) in adapter.items():
        weight, bias = linears[name]
        linears[name] = (weight + up @ down, bias)
    return linears


def _joined(parts: Sequence[tuple[slice, Tensor, Tensor]], bert: Bert, linear: str) -> tuple[Tensor, Tensor]:
    """Return A and s B of adapters on different outputs of one linear map as one adapter."""
    import torch

    up = torch.zeros(len(bert.linears[linear][0]), sum(len(down) for _, down, _ in parts), device=bert.device)
    at = 0
    for rows, down, part in parts:
        up[rows, at : at + len(down)] = part
        at += len(down)
    return torch.cat([down for _, down, _ in parts]).to(bert.dtype), up.to(bert.dtype)


def _modules(config: BertConfig) -> dict[str, tuple[str, slice, int]]:
    """Return the layers that an adapter may be on: their map in `Bert`, their rows in it, their inputs."""
    d, modules = config.dimension, {}
    for at in config.layer_prefixes:
        for number, part in enumerate(("query", "key", "value")):
            modules[f"{at}{ATTENTION}.{part}"] = (at + ATTENTION, slice(number * d, (number + 1) * d), d)
        modules[f"{at}{OUTPUT}.dense"] = (at + OUTPUT, slice(0, d), d)
        modules[f"{at}{INNER}.dense"] = (at + INNER, slice(0, config.inner), d)
        modules[f"{at}{OUTER}.dense"] = (at + OUTER, slice(0, d), config.inner)
    return modules
