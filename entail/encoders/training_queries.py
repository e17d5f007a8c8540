"""Queries that an encoder was trained on; figures on them are optimistic.

A folder keeps them in `seen.json` as keys, not as texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from entail.data.text import premise_key
from entail.encoders.catalogue import resolve
from entail.encoders.weights import read_json
from entail.errors import EncoderError

SEEN = "seen.json"


def write_seen(folder: Path, keys: Iterable[str]) -> None:
    """Write keys of queries beside the weights.

    Raises:
        OSError: If the folder cannot be written.
    """
    told = {"queries": sorted(set(keys))}
    (folder / SEEN).write_text(json.dumps(told, indent=0) + "\n", encoding="utf-8")


def read_seen(folder: Path) -> frozenset[str]:
    """Return the keys of the queries that a folder's encoder was trained on; none where it does not say."""
    file = folder / SEEN
    if not file.is_file():
        return frozenset()
    return _read(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _read(file: Path, modified: int) -> frozenset[str]:
    try:
        told = read_json(file)
    except EncoderError:  # torn: it says nothing
        told = None
    keys = told.get("queries") if isinstance(told, dict) else None
    return frozenset(key for key in keys if isinstance(key, str)) if isinstance(keys, list) else frozenset()


def seen_by(name: str, queries: Iterable[str]) -> frozenset[str]:
    """Return those of some queries that an encoder was trained on.

    Args:
        name: A retriever; lexical ones, and encoders that do not say, have seen none.
        queries: Texts.
    """
    try:
        place = resolve(name).path
    except EncoderError:
        return frozenset()
    keys = read_seen(place) if place is not None else frozenset()
    return frozenset(query for query in queries if premise_key(query) in keys) if keys else frozenset()
