"""Device and precision of an encoder."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from entail.errors import SettingsError
from entail.settings import load_settings

if TYPE_CHECKING:
    import torch

Precision = Literal["auto", "fp32", "fp16", "bf16", "openvino"]
"""Of weights and arithmetic; `openvino`: in bf16 by OpenVINO, see `entail.encoders.bert.openvino`."""


@dataclass(frozen=True)
class Memory:
    """Memory of weights by the device that holds them, in bytes.

    Attributes:
        own: Of this encoder alone.
        shared: Of a base that is held once for every encoder on it.
    """

    own: int
    shared: int = 0


def device_name(asked: str | None = None) -> str:
    """Return the device asked for, by default `ENTAIL_DEVICE`; `auto` is a GPU where there is one.

    Raises:
        SettingsError: If the name is no device's, or the device is not there.
    """
    import torch

    name = asked or load_settings().device
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise SettingsError(f"expected a device such as auto, cpu, cuda or cuda:1, found {name!r}") from error
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise SettingsError(
            f"device {name!r} was asked for, torch sees {torch.cuda.device_count()} GPUs; use cpu"
        )
    return name


def dtype_of(precision: Precision, device: str) -> torch.dtype:
    """Return the precision in which torch holds weights; `auto` is fp32 on a processor and fp16 on a GPU.

    Raises:
        SettingsError: If OpenVINO is asked for on another device than the processor.
    """
    import torch

    if precision == "openvino":
        if not device.startswith("cpu"):
            raise SettingsError(
                f"precision openvino runs on the processor, found device {device!r}; take device cpu "
                "(ENTAIL_DEVICE=cpu), or precision fp16 or bf16"
            )
        return torch.float32  # OpenVINO rounds them itself
    if precision == "auto":
        precision = "fp16" if device.startswith("cuda") else "fp32"
    return {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[precision]


def device_in_words(device: str) -> str:
    """Return what a device is, and for a GPU how much of its memory is taken, by whomever.

    >>> device_in_words("cpu")
    'the processor'
    """
    if not device.startswith("cuda"):
        return "the processor" if device == "cpu" else device
    import torch

    free, total = torch.cuda.mem_get_info(torch.device(device))
    name = torch.cuda.get_device_name(torch.device(device))
    return f"{name} ({device}), {(total - free) / 1e9:.1f} of {total / 1e9:.0f} GB taken"


def give_back_memory() -> None:
    """Return to the GPU what was let go of; nothing where there is none, or torch was never loaded."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
