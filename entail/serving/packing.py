"""Vectors as JSON holds them: lists of numbers, or all in one base64 text."""

from __future__ import annotations

import base64
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Packed = list[list[float]] | str

NUMBERS = "<f4"
"""Numbers as base64 holds them: 32-bit floats, the least significant byte first, row by row."""


def pack(vectors: Floats, form: Literal["floats", "base64"]) -> Packed:
    """Put vectors, shape (n, d), into one of the two forms.

    >>> pack(np.ones((1, 2), dtype=np.float32), "floats"), pack(np.ones((1, 2), dtype=np.float32), "base64")
    ([[1.0, 1.0]], 'AACAPwAAgD8=')
    """
    if form == "base64":
        return base64.b64encode(np.ascontiguousarray(vectors, dtype=NUMBERS).tobytes()).decode("ascii")
    rows: list[list[float]] = vectors.tolist()
    return rows


def unpack(packed: Packed, dimension: int) -> Floats:
    """Return the vectors again, shape (n, d), whichever form they have.

    >>> unpack("AACAPwAAgD8=", 2)
    array([[1., 1.]], dtype=float32)
    """
    if isinstance(packed, str):
        numbers = np.frombuffer(base64.b64decode(packed, validate=True), dtype=NUMBERS)
        return numbers.astype(np.float32).reshape(-1, dimension)
    return np.asarray(packed, dtype=np.float32).reshape(-1, dimension)
