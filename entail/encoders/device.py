"""Device and precision of an encoder, and memory that it gives back."""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Literal

from entail.errors import SettingsError
from entail.settings import load_settings

if TYPE_CHECKING:
    import torch

Precision = Literal["auto", "fp32", "fp16", "bf16"]
"""Precision of weights and arithmetic."""


def device_name(name: str | None = None) -> str:
    """Return a device by name, by default `ENTAIL_DEVICE`; `auto` is a GPU if there is one.

    Attention on a GPU is not by cuDNN, which builds a plan, in up to a second, for each new shape of a batch.

    Raises:
        SettingsError: If the name is no device's, or the device is missing.
    """
    import torch

    name = name or load_settings().device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise SettingsError(f"expected a device such as auto, cpu, cuda or cuda:1, found {name!r}") from error
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise SettingsError(
            f"device {name!r} was asked for, torch sees {torch.cuda.device_count()} GPUs; use cpu"
        )
    if device.type == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)
    return name


def list_devices() -> list[str]:
    """Return the devices of this machine, the processor first: `cpu`, `cuda:0`, `cuda:1` ..."""
    import torch

    return ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]


def dtype_of(precision: Precision, device: str) -> torch.dtype:
    """Return the precision in which torch holds weights; `auto` is fp32 on a processor and fp16 on a GPU."""
    import torch

    if precision == "auto":
        precision = "fp16" if device.startswith("cuda") else "fp32"
    return {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[precision]


def give_back_memory() -> None:
    """Release the GPU's cached memory, if torch is loaded, and what the heap keeps of freed blocks."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
    trim_heap()


def trim_heap() -> None:
    """Return freed blocks of the heap to the system, where the C library is glibc; does nothing elsewhere.

    Batches of many shapes leave the heap in pieces, so that a training on a processor takes several times the
    memory that it needs.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
