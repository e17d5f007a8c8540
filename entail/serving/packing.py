"""Vectors in JSON: lists of numbers, or one base64 text."""

from __future__ import annotations

import base64
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Packed = list[list[float]] | str

NUMBERS = "<f4"
"""Type of the numbers in base64: little-endian 32-bit floats, row by row."""


def pack(vectors: Floats, form: Literal["floats", "base64"]) -> Packed:
    """Return vectors, shape (n, d), in one of the two forms.

    >>> pack(np.ones((1, 2), dtype=np.float32), "floats"), pack(np.ones((1, 2), dtype=np.float32), "base64")
    ([[1.0, 1.0]], 'AACAPwAAgD8=')
    """
    if form == "base64":
        return base64.b64encode(np.ascontiguousarray(vectors, dtype=NUMBERS).tobytes()).decode("ascii")
    rows: list[list[float]] = vectors.tolist()
    return rows


def unpack(packed: Packed, dimension: int) -> Floats:
    """Return vectors, shape (n, d), from either form.

    >>> unpack("AACAPwAAgD8=", 2)
    array([[1., 1.]], dtype=float32)
    """
    if isinstance(packed, str):
        numbers = np.frombuffer(base64.b64decode(packed, validate=True), dtype=NUMBERS)
        return numbers.astype(np.float32).reshape(-1, dimension)
    return np.asarray(packed, dtype=np.float32).reshape(-1, dimension)
