"""LoRA adapters on a shared BERT, applied as texts are encoded: y = W x + b + s B A x (Hu et al. 2021).

A has shape (r, inputs), B (outputs, r); s is alpha / r, or alpha / sqrt(r) where it is rank-stabilised. The
base's own weights stay as they are, so that any number of adapters share one copy of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

from entail.encoders.bert.folder import BertConfig
from entail.encoders.bert.model import ATTENTION, INNER, OUTER, OUTPUT, Bert, LowRank
from entail.encoders.tensors import open_tensors
from entail.encoders.weights import read_json
from entail.errors import EncoderError

if TYPE_CHECKING:
    from torch import Tensor

_PREFIX = "base_model.model."
_TENSOR = re.compile(r"(.+)\.lora_[AB]\.weight")
_UNUSED = "pooler.dense"
_NO_MATTER = frozenset(
    {
        "auto_mapping",
        "base_model_name_or_path",
        "exclude_modules",
        "inference_mode",
        "layers_pattern",
        "layers_to_transform",
        "lora_dropout",
        "megatron_core",
        "peft_version",
        "qalora_group_size",
        "rank_pattern",
        "revision",
        "target_modules",
        "task_type",
    }
)
"""Fields of `adapter_config.json` that ask for nothing more than the tensors say."""


@dataclass(frozen=True)
class LoraConfig:
    """A plain LoRA adapter.

    Attributes:
        folder: Where `adapter_model.safetensors` is.
        rank: r; None if it differs from module to module.
        alpha: Scale of what is added.
        stabilised: Whether alpha is divided by the root of r.
        targets: The modules it is on: last parts of their names, or a pattern.
        excluded: Those of them it is not on.
    """

    folder: Path
    rank: int | None
    alpha: float
    stabilised: bool
    targets: str | Sequence[str]
    excluded: str | Sequence[str] = ()

    def covers(self, module: str) -> bool:
        """Whether PEFT puts the adapter on a module of this name."""
        return _names(self.targets, module) and not _names(self.excluded, module)

    def scale(self, rank: int) -> float:
        """Return s for a module's rank."""
        return self.alpha / (sqrt(rank) if self.stabilised else rank)


def read_lora_config(folder: Path) -> LoraConfig | None:
    """Return what an adapter's configuration says, None if it is anything but plain LoRA on linear layers.

    Raises:
        EncoderError: If the configuration is not JSON.
    """
    config = read_json(folder / "adapter_config.json")
    if not isinstance(config, dict):
        return None
    told = {key: value for key, value in config.items() if value and key not in _NO_MATTER}
    rank, alpha = told.pop("r", None), told.pop("lora_alpha", None)
    stabilised = told.pop("use_rslora", False) is True
    plain = told.pop("peft_type", None) == "LORA" and told.pop("bias", "none") == "none"
    # Other ways to begin an adapter change the base's weights too.
    plain = plain and told.pop("init_lora_weights", True) in (True, "gaussian")
    if not plain or told or type(rank) is not int or rank < 1 or not isinstance(alpha, int | float):
        return None
    # Where only some layers are adapted, the tensors alone say which.
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
    """Return an adapter's tensors where and in what precision the base is, None if it is not on layers alone.

    Args:
        config: What its folder says.
        bert: The base.
        name: What messages call the adapter.

    Raises:
        EncoderError: If the file is torn, a tensor is missing, or one does not fit the base.
    """
    import torch

    modules = _modules(bert.config)
    parts: dict[str, list[tuple[slice, Tensor, Tensor]]] = {}
    path = config.folder / "adapter_model.safetensors"
    with open_tensors(path, name=name, device=bert.device, dtype=torch.float32, prefix=_PREFIX) as tensors:
        matches = [_TENSOR.fullmatch(tensor) for tensor in tensors.names]
        found = {match[1] if match else "" for match in matches} - {_UNUSED}
        unknown = sorted(found - modules.keys())
        if any(not module.startswith("encoder.layer.") for module in unknown):
            return None
        if unknown:
            raise EncoderError(
                f"{name}: expected an adapter of a base of {bert.config.layers} layers, found tensors of "
                f"{unknown[0]!r}: it was trained on another base"
            )
        for module in sorted(found | {module for module in modules if config.covers(module)}):
            linear, rows, inputs = modules[module]
            down = tensors.get(f"{module}.lora_A.weight", config.rank, inputs)  # (r, inputs)
            up = tensors.get(f"{module}.lora_B.weight", rows.stop - rows.start, len(down))  # (outputs, r)
            parts.setdefault(linear, []).append((rows, down, up * config.scale(len(down))))
    return {linear: _joined(some, bert, linear) for linear, some in parts.items()}


def merged(bert: Bert, adapter: LowRank) -> dict[str, tuple[Tensor, Tensor]]:
    """Return a BERT's linear maps with an adapter added to their weights."""
    found = dict(bert.linears)
    for name, (down, up) in adapter.items():
        weight, bias = found[name]
        found[name] = (weight + up @ down, bias)
    return found


def _joined(parts: Sequence[tuple[slice, Tensor, Tensor]], bert: Bert, linear: str) -> tuple[Tensor, Tensor]:
    """Return A and s B of adapters on different outputs of one linear map, as if they were one."""
    import torch

    ranks = sum(len(down) for _, down, _ in parts)
    up = torch.zeros(len(bert.linears[linear][0]), ranks, device=bert.device)  # (outputs, ranks)
    at = 0
    for rows, down, some in parts:
        up[rows, at : at + len(down)] = some
        at += len(down)
    return torch.cat([down for _, down, _ in parts]).to(bert.dtype), up.to(bert.dtype)


def _modules(config: BertConfig) -> dict[str, tuple[str, slice, int]]:
    """Layers that an adapter may be on: the map of `Bert` each is in, its rows there, its inputs."""
    d, found = config.dimension, {}
    for at in config.places:
        for number, part in enumerate(("query", "key", "value")):
            found[f"{at}{ATTENTION}.{part}"] = (at + ATTENTION, slice(number * d, (number + 1) * d), d)
        found[f"{at}{OUTPUT}.dense"] = (at + OUTPUT, slice(0, d), d)
        found[f"{at}{INNER}.dense"] = (at + INNER, slice(0, config.inner), d)
        found[f"{at}{OUTER}.dense"] = (at + OUTER, slice(0, d), config.inner)
    return found


def _names(pattern: str | Sequence[str], module: str) -> bool:
    if isinstance(pattern, str):
        return pattern == "all-linear" or re.fullmatch(pattern, module) is not None
    return any(module == part or module.endswith(f".{part}") for part in pattern)
