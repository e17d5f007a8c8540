"""Cache of the process: values of all kinds, bounded in bytes, the least recently used evicted first."""

from __future__ import annotations

import gc
import itertools
import sys
import threading
import time
import weakref
from collections import Counter, OrderedDict
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Final, Generic, TypeVar, cast

_Value = TypeVar("_Value")
_Key = TypeVar("_Key", bound=Hashable)

LARGEST_BUDGET: Final = 8 * 2**30
"""Most bytes that the process's cache takes; a quarter of the machine's memory where that is less."""

ENTRY_BYTES: Final = 1024
"""Size of an entry without a value: its key, its lock and its place in the cache."""

_SAMPLE: Final = 64
"""Elements of a container that are measured; the others are taken to be as large on average."""

_CGROUP = Path("/sys/fs/cgroup")
_MEMORY_LIMITS = (
    (_CGROUP / "memory.max", _CGROUP / "memory.current"),
    (_CGROUP / "memory/memory.limit_in_bytes", _CGROUP / "memory/memory.usage_in_bytes"),
)


@dataclass
class Entry(Generic[_Value]):
    """A value in the cache; `since` and `used` are the times it was put and last used, seconds since 1970."""

    value: _Value | None = None
    size: int = ENTRY_BYTES
    since: float = field(default_factory=time.time)
    used: float = field(default_factory=time.time)

    @property
    def is_evictable(self) -> bool:
        """Whether it can be evicted."""
        return True

    @property
    def bytes(self) -> int:
        """Bytes now: those that the value states, which may grow, or those measured when it was made."""
        stated = getattr(self.value, "size_bytes", None)
        return ENTRY_BYTES + stated if isinstance(stated, int) else self.size

    @property
    def last_use(self) -> float:
        """Time of the last use of the entry or, if it states that, of its value."""
        return max(self.used, getattr(self.value, "used", 0.0))


@dataclass(frozen=True, slots=True)
class Usage:
    """Entries of one kind in the cache, their bytes, and how often one was found or missed."""

    kind: str
    entries: int
    bytes: int
    hits: int
    misses: int


class MemoryCache:
    """Entries by kind and key, bounded in bytes.

    The least recently used are evicted when all together exceed the budget; the one just made is not. One
    that is larger than the budget stays next to the others until another as large is made: otherwise it would
    be made again at every use.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.entries: OrderedDict[tuple[str, Hashable], Entry[object]] = OrderedDict()
        """Kind and key -> entry, the least recently used first."""
        self._hits: Counter[str] = Counter()
        self._misses: Counter[str] = Counter()

    @cached_property
    def budget(self) -> int:
        """Bytes that the values may take, as `size_in_bytes` measures them."""
        return min(LARGEST_BUDGET, machine_memory()[0] // 4)

    def get(self, kind: str, key: Hashable) -> Entry[object] | None:
        """Return an entry as the one last used, None if there is none."""
        with self.lock:
            entry = self.entries.get((kind, key))
            if entry is None:
                self._misses[kind] += 1
            else:
                self._hits[kind] += 1
                self.entries.move_to_end((kind, key))
                entry.used = time.time()
            return entry

    def evict(self, just_made: tuple[str, Hashable]) -> None:
        """Evict entries until the others fit into the budget."""
        with self.lock:
            while _ended:
                ended = _ended.pop()
                for kind, key in list(self.entries):
                    if kind == ended[0] and isinstance(key, tuple) and key[0] == ended[1]:
                        del self.entries[kind, key]
            sizes = {key: entry.bytes for key, entry in self.entries.items()}
            total = sum(sizes.values())
            if total <= self.budget:
                return
            # Those larger than the budget first, of them and of the others the least recently used.
            order = sorted(sizes, key=lambda key: (sizes[key] <= self.budget, self.entries[key].last_use))
            large = [key for key in order if sizes[key] > self.budget]
            spared = large[-1] if large and just_made not in large else just_made
            total -= sizes.get(spared, 0) if large else 0
            for key in order:
                if total <= self.budget:
                    return
                if key not in (just_made, spared) and self.entries[key].is_evictable:
                    total -= sizes[key]
                    del self.entries[key]

    def usage(self) -> list[Usage]:
        """Return what each kind takes, the largest first."""
        sizes: dict[str, list[int]] = {}
        with self.lock:
            for (kind, _), entry in self.entries.items():
                sizes.setdefault(kind, []).append(entry.bytes)
            rows = [Usage(k, len(s), sum(s), self._hits[k], self._misses[k]) for k, s in sizes.items()]
        return sorted(rows, key=lambda usage: -usage.bytes)


CACHE: Final = MemoryCache()
"""The process's cache."""

_numbers = itertools.count()
_ended: list[tuple[str, int]] = []  # owners; their entries are removed by `evict`, not at any time


class Cache(Generic[_Key, _Value]):
    """Values of one kind and owner in the process's cache; they end with the owner."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._number = next(_numbers)
        weakref.finalize(self, _ended.append, (kind, self._number))

    def get(self, key: _Key) -> _Value | None:
        """Return the value of a key, None if there is none."""
        entry = CACHE.get(self.kind, (self._number, key))
        return cast("_Value | None", entry.value) if entry is not None else None

    def put(self, key: _Key, value: _Value, *, size: int | None = None) -> None:
        """Keep a value, of a size that is measured by default."""
        full_key = (self.kind, (self._number, key))
        entry = Entry[object](value, ENTRY_BYTES + (size_in_bytes(value) if size is None else size))
        with CACHE.lock:
            CACHE.entries[full_key] = entry
            CACHE.entries.move_to_end(full_key)
        CACHE.evict(full_key)

    def items(self) -> list[tuple[_Key, _Value]]:
        """Return keys and values."""
        with CACHE.lock:
            return [
                (key[1], cast(_Value, entry.value))
                for (kind, key), entry in CACHE.entries.items()
                if kind == self.kind and isinstance(key, tuple) and key[0] == self._number
            ]


def machine_memory() -> tuple[int, int]:
    """Return the bytes of the machine or container, and those that are free."""
    import psutil

    memory = psutil.virtual_memory()
    total, free = int(memory.total), int(memory.available)
    for most, now in _MEMORY_LIMITS:
        with suppress(OSError, ValueError):
            limit, used = int(most.read_text()), int(now.read_text())
            return (limit, max(0, min(free, limit - used))) if limit < total else (total, free)
    return total, free


def size_in_bytes(value: object, *, without: Sequence[object] = ()) -> int:
    """Return an estimate of the bytes that a value takes.

    An object that states its size is believed: `nbytes` of arrays and tensors, or `size_bytes`. Of other
    objects all that they refer to is added up, each object once. Of a long container `_SAMPLE` elements stand
    for the others. Modules and classes count nothing, of a function counts what it closes over. What several
    values share, such as the base of two adapters, counts for each of them, but for the objects of `without`.

    >>> import numpy as np
    >>> size_in_bytes(np.zeros((10, 4), dtype=np.float32))
    160
    """
    return round(_measure(value, set(map(id, without))))


def _measure(value: object, visited_ids: set[int]) -> float:
    if id(value) in visited_ids or isinstance(value, (type, ModuleType)):
        return 0
    visited_ids.add(id(value))
    for name in ("nbytes", "size_bytes"):
        stated = getattr(value, name, None)
        if isinstance(stated, int):
            return stated
    if isinstance(value, FunctionType):
        parts: list[object] = list(value.__closure__ or ())
    else:
        parts = gc.get_referents(value)
    share = max(1.0, len(parts) / _SAMPLE)
    own: float = sys.getsizeof(value, ENTRY_BYTES)
    return own + share * sum(_measure(part, visited_ids) for part in parts[:_SAMPLE])
