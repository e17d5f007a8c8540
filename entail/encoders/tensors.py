"""Tensors out of a safetensors file, each of the name and the shape that its reader expects."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.errors import EncoderError

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class TensorFile:
    """An open safetensors file; see `open_tensors`."""

    def __init__(self, handle: Any, label: str, prefix: str, device: str, dtype: torch.dtype) -> None:  # noqa: ANN401 - safetensors has no types
        self._handle, self._label = handle, label
        self._device, self._dtype = device, dtype
        self._raw = {name.removeprefix(prefix): name for name in handle.keys()}  # noqa: SIM118 - not a dict

    @property
    def names(self) -> frozenset[str]:
        """The names of the tensors, without the prefix."""
        return frozenset(self._raw)

    def get(self, name: str, *shape: int | None) -> Tensor:
        """Return a tensor of a shape, in which None stands for any size.

        Raises:
            EncoderError: If there is none of this name, or it has another shape.
        """
        tensor = self.whole(name)
        found = tuple(tensor.shape)
        if len(found) != len(shape) or any(e not in (None, f) for e, f in zip(shape, found, strict=True)):
            expected = ", ".join("any" if size is None else str(size) for size in shape)
            raise EncoderError(f"{self._label}: expected {name!r} of shape ({expected}), found {found}")
        return tensor

    def whole(self, name: str) -> Tensor:
        """Return a tensor of whatever shape.

        Raises:
            EncoderError: If there is none of this name.
        """
        if name not in self._raw:
            raise EncoderError(f"{self._label}: expected the tensor {name!r}, found none of that name")
        # A copy: the file may be written anew while this is in use, and a mapped page would go with it.
        tensor: Tensor = self._handle.get_tensor(self._raw[name])
        return tensor.to(self._device, self._dtype, copy=True)


def require_finite(path: Path, *, name: str) -> None:
    """Check that every number of a safetensors file is one.

    Args:
        path: The file.
        name: What messages call the encoder it belongs to.

    Raises:
        EncoderError: If a tensor holds NaN or infinity, or the file is torn.
    """
    import torch

    with open_tensors(path, name=name, device="cpu", dtype=torch.float32) as tensors:
        for tensor in sorted(tensors.names):
            wrong = int((~tensors.whole(tensor).isfinite()).sum())
            if wrong:
                raise EncoderError(
                    f"{name}: {path.name}: expected numbers in the tensor {tensor!r}, found {wrong} that are "
                    "none (NaN or infinite); get it anew, or train it anew"
                )


@contextlib.contextmanager
def open_tensors(
    path: Path, *, name: str, device: str, dtype: torch.dtype, prefix: str = ""
) -> Iterator[TensorFile]:
    """Open a safetensors file to read tensors onto a device, in a precision.

    Args:
        path: The file.
        name: What messages call the encoder it belongs to.
        device: Where tensors are put.
        dtype: What they are converted to.
        prefix: Left out of the names that have it.

    Raises:
        EncoderError: If the file is torn or no safetensors file.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt", device="cpu") as handle:
            yield TensorFile(handle, f"{name}: {path.name}", prefix, device, dtype)
    except (SafetensorError, OSError) as error:
        raise EncoderError(
            f"{name}: cannot be loaded, {path.name} is torn or no safetensors file ({error}); get it anew"
        ) from error
