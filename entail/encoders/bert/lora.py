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
"""Warning about an adapter, by the name of its encoder."""

_log = logging.getLogger(__name__)
PREFIX = "base_model.model."
"""Prefix of a tensor's name in PEFT's files."""

_TENSOR = re.compile(r"(.+)\.lora_[AB]\.weight")
_UNUSED = "pooler.dense"
_IGNORED = frozenset(
    (
        *("auto_mapping", "base_model_name_or_path", "exclude_modules", "inference_mode", "layers_pattern"),
        *("layers_to_transform", "lora_dropout", "megatron_core", "peft_version", "qalora_group_size"),
        *("rank_pattern", "revision", "target_modules", "task_type"),
    )
)
"""Fields of `adapter_config.json` that say nothing about the tensors."""


@dataclass(frozen=True)
class LoraConfig:
    """A plain LoRA adapter.

    Attributes:
        folder: Folder of `adapter_model.safetensors`.
        rank: r; None if it differs by module.
        alpha: Scale of the adapter.
        stabilised: Whether alpha is divided by the root of r.
        targets: Adapted modules: last parts of their names, or a pattern.
        excluded: Exceptions from `targets`.
    """

    folder: Path
    rank: int | None
    alpha: float
    stabilised: bool
    targets: str | Sequence[str]
    excluded: str | Sequence[str] = ()

    def covers(self, module: str) -> bool:
        """Return whether PEFT puts the adapter on a module of this name."""
        return _matches(self.targets, module) and not _matches(self.excluded, module)

    def scale(self, rank: int) -> float:
        """Return s for a module's rank."""
        return self.alpha / (sqrt(rank) if self.stabilised else rank)


def read_lora_config(folder: Path) -> LoraConfig | None:
    """Return an adapter's configuration, None if it is anything but plain LoRA on linear layers.

    Raises:
        EncoderError: If the configuration is not JSON, or its scale is no number.
    """
    config = read_object(folder / "adapter_config.json")
    options = {key: value for key, value in config.items() if value and key not in _IGNORED}
    rank, alpha = options.pop("r", None), options.pop("lora_alpha", None)
    if isinstance(alpha, float) and not isfinite(alpha):
        raise EncoderError(f"{folder.name}: expected a number as lora_alpha, found {alpha}")
    stabilised = options.pop("use_rslora", False) is True
    plain = options.pop("peft_type", None) == "LORA" and options.pop("bias", "none") == "none"
    # Other initialisations change the base's weights too.
    plain = plain and options.pop("init_lora_weights", True) in (True, "gaussian")
    if not plain or options or type(rank) is not int or rank < 1 or not isinstance(alpha, int | float):
        return None
    # If only some layers are adapted, the tensors alone say which.
    targets = () if config.get("layers_to_transform") is not None else config.get("target_modules") or ()
    return LoraConfig(
        folder=folder,
        rank=None if config.get("rank_pattern") else rank,
        alpha=float(alpha),
        stabilised=stabilised,
        targets=targets,
        excluded=config.get("exclude_modules") or (),
    )


def read_lora(config: LoraConfig, bert: Bert, *, name: str) -> LowRank | None:
    """Return an adapter's tensors on the base's device in its precision; None if it is not on layers alone.

    Raises:
        EncoderError: If the file is damaged, a tensor is missing, or one does not fit the base.
    """
    import torch

    modules = _modules(bert.config)
    parts: dict[str, list[tuple[slice, Tensor, Tensor]]] = {}
    path = config.folder / "adapter_model.safetensors"
    with open_tensors(path, name=name, device=bert.device, dtype=torch.float32, prefix=PREFIX) as tensors:
        matches = [_TENSOR.fullmatch(tensor) for tensor in tensors.names]
        adapted = {match[1] if match else "" for match in matches} - {_UNUSED}
        unknown = sorted(adapted - modules.keys())
        if any(not module.startswith("encoder.layer.") for module in unknown):
            return None
        if unknown:
            raise EncoderError(
                f"{name}: expected an adapter of a base of {bert.config.layers} layers, found tensors of "
                f"{unknown[0]!r}: it was trained on another base"
            )
        covered = {module for module in modules if config.covers(module)}
        if config.targets and (stray := sorted(adapted - covered)):
            raise EncoderError(
                f"{name}: {path.name}: expected tensors of the layers in adapter_config.json, found "
                f"{stray[0]!r}; download it again"
            )
        for module in sorted(adapted | covered):
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

    ranks = sum(len(down) for _, down, _ in parts)
    up = torch.zeros(len(bert.linears[linear][0]), ranks, device=bert.device)  # (outputs, ranks)
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


def _matches(pattern: str | Sequence[str], module: str) -> bool:
    if isinstance(pattern, str):
        return pattern == "all-linear" or re.fullmatch(pattern, module) is not None
    return any(module == part or module.endswith(f".{part}") for part in pattern)
