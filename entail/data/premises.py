"""Premises in columns: texts, ids, further cells and keys of a corpus, each held once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import repeat
from typing import Any, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entail.data.stored import parse_as
from entail.data.text import fold, premise_key
from entail.errors import CorpusError

Numbers = NDArray[np.uint64]
"""Keys of premises as numbers."""

T = TypeVar("T")

_BLOCK = 4096  # records that are made at once
_MOST_CHUNKS = 64  # chunks of a table before they are joined: each costs a look-up
_KEY = re.compile(r"[0-9a-f]{16}")
_FOLDS = r"[^!-~ ]|^ | $| [ ,.;:']"
"""Pattern, for pyarrow, of the texts that `fold` may change."""

SCHEMA = pa.schema([(name, pa.large_string()) for name in ("text", "source_id", "extra")])
"""Columns of premises; `extra` is a JSON object."""


@dataclass(frozen=True, slots=True)
class Premise:
    """Fact of a file, with its id there (a WorldTree uid, a CSV column); look it up by `key`.

    `extra` has the further columns of its row, as (name, value).
    """

    text: str
    source_id: str | None = None
    extra: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """Identity across files and installations, see `premise_key`."""
        return premise_key(self.text)

    @property
    def folded(self) -> str:
        """Normalised text for look-up, see `fold`."""
        return fold(self.text)


class Column(Sequence[T]):
    """Read-only sequence whose items are made when they are read; equal to a tuple of them."""

    def __init__(self, length: int, read: Callable[[int, int], Sequence[T]]) -> None:
        self._length, self._read = length, read

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        if isinstance(at, slice):
            start, stop, step = at.indices(self._length)
            if step != 1:
                return tuple(self[i] for i in range(start, stop, step))
            return tuple(self._read(start, max(start, stop)))
        position = range(self._length)[at]  # counts from the end, and refuses what is outside
        return self._read(position, position + 1)[0]

    def __iter__(self) -> Iterator[T]:
        for start in range(0, self._length, _BLOCK):
            yield from self._read(start, min(start + _BLOCK, self._length))

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Column | tuple):
            return self is other
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self)) if self._length <= _BLOCK else f"<Column of {self._length:,}>"


class KeyPositions(Mapping[str, int]):
    """Key -> position, over the sorted numbers of a corpus."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        self._order = np.argsort(numbers)
        self._sorted = numbers[self._order]

    def __getitem__(self, key: str) -> int:
        if isinstance(key, str) and _KEY.fullmatch(key) and len(self._sorted):
            number = np.uint64(int(key, 16))
            at = min(int(np.searchsorted(self._sorted, number)), len(self._sorted) - 1)
            if self._sorted[at] == number:
                return int(self._order[at])
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(Column(len(self._numbers), lambda start, stop: keys_of(self._numbers[start:stop])))

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def has_repeats(self) -> bool:
        """Whether a key stands at more than one position."""
        return bool((self._sorted[1:] == self._sorted[:-1]).any())


class Premises(Column[Premise]):
    """Premises in order, backed by a table of `SCHEMA` and the numbers of their keys.

    Versions of a corpus share the chunks of their tables.
    """

    def __init__(self, table: pa.Table, numbers: Numbers) -> None:
        super().__init__(len(numbers), self._premises)
        if table.column(0).num_chunks > _MOST_CHUNKS:
            table = table.combine_chunks()
        self.table = table
        self.numbers = numbers
        self.numbers.flags.writeable = False

    @classmethod
    def of(cls, premises: Iterable[str | Premise]) -> Premises:
        """Return premises or texts as columns, repeats included; `CorpusError` for invalid Unicode."""
        texts: list[str] = []
        ids: dict[int, str] = {}
        extras: dict[int, str] = {}
        for at, premise in enumerate(premises):
            if isinstance(premise, str):
                texts.append(premise)
                continue
            texts.append(premise.text)
            if premise.source_id is not None:
                ids[at] = premise.source_id
            if premise.extra:
                extras[at] = json.dumps(dict(premise.extra), ensure_ascii=False)
        further = ([rows.get(at) for at in range(len(texts))] if rows else [] for rows in (ids, extras))
        try:
            table = table_of([texts, *further], rows=len(texts))
        except UnicodeEncodeError as error:
            reason = f"a premise has invalid Unicode (unpaired surrogate): {error.object!r}"
            raise CorpusError(f"{reason}; see how its file was encoded") from None
        return cls(table, _numbers(texts, table.column(0)))

    @classmethod
    def of_rows(cls, keys: Sequence[str], table: pa.Table) -> Premises:
        """Return the premises of a table whose keys are known; `CorpusError` for keys that are none."""
        try:
            numbers = np.frombuffer(bytes.fromhex("".join(keys)), dtype=">u8").astype(np.uint64)
        except ValueError:
            numbers = np.empty(0, dtype=np.uint64)
        if len(numbers) != len(table):
            raise CorpusError("keys of premises are damaged: bring back a backup with `entail restore`")
        return cls(table.cast(SCHEMA), numbers)

    @classmethod
    def joined(cls, parts: Sequence[Premises]) -> Premises:
        """Return the premises of all parts, which share their texts with it."""
        table = pa.concat_tables([part.table for part in parts])
        return cls(table, np.concatenate([part.numbers for part in parts]))

    def changed(self, added: Premises, retired: NDArray[np.int64]) -> Premises:
        """Return the premises without the `retired` positions (ascending), and with others appended."""
        if len(retired) < _MOST_CHUNKS:
            starts, ends = [0, *(retired + 1).tolist()], [*retired.tolist(), len(self)]
            runs = [self.table.slice(at, end - at) for at, end in zip(starts, ends, strict=True)]
        else:
            runs = [self.table.filter(~np.isin(np.arange(len(self)), retired, assume_unique=True))]
        table = pa.concat_tables([*runs, added.table])
        return Premises(table, np.concatenate([np.delete(self.numbers, retired), added.numbers]))

    def distinct(self) -> Premises:
        """Return the first premise of each key, in order."""
        return self.take(np.sort(np.unique(self.numbers, return_index=True)[1]))

    def take(self, positions: NDArray[np.int64]) -> Premises:
        """Return the premises at distinct positions (ascending)."""
        if len(positions) == len(self):
            return self
        rows = pa.Array.from_buffers(pa.int64(), len(positions), [None, pa.py_buffer(positions)])
        return Premises(self.table.take(rows), self.numbers[positions])

    @property
    def texts(self) -> Column[str]:
        """The texts, in order."""
        return Column(len(self), self._texts)

    @property
    def keys(self) -> Column[str]:
        """The keys, in order."""
        return Column(len(self), self._keys)

    @cached_property
    def positions(self) -> KeyPositions:
        """Key -> position."""
        return KeyPositions(self.numbers)

    def _texts(self, start: int, stop: int) -> list[str]:
        texts: list[str] = self.table.column(0).slice(start, stop - start).to_pylist()
        return texts

    def _keys(self, start: int, stop: int) -> list[str]:
        return keys_of(self.numbers[start:stop])

    def _premises(self, start: int, stop: int) -> list[Premise]:
        rows = self.table.slice(start, stop - start)
        _, ids, extras = (column if column.null_count < len(column) else None for column in rows.columns)
        columns = (repeat(None) if column is None else column.to_pylist() for column in (ids, extras))
        texts = rows.column(0).to_pylist()
        return [Premise(text, id_, _cells(extra)) for text, id_, extra in zip(texts, *columns)]  # noqa: B905 - `repeat` has no end


def keys_of(numbers: Numbers) -> list[str]:
    """Return numbers as keys.

    >>> keys_of(np.array([255], dtype=np.uint64))
    ['00000000000000ff']
    """
    return joined_keys(numbers).split() if len(numbers) else []


def joined_keys(numbers: Numbers) -> str:
    """Return numbers as keys, one a line."""
    return numbers.astype(">u8").tobytes().hex("\n", 8)


def table_of(columns: Iterable[Sequence[str | None]], *, rows: int) -> pa.Table:
    """Return the table of texts, ids and further cells; an empty column has none.

    `UnicodeEncodeError` for unpaired surrogates.
    """
    arrays = [_strings(column) if column else pa.nulls(rows, pa.large_string()) for column in columns]
    return pa.table(arrays, schema=SCHEMA)


def _strings(values: Sequence[str | None]) -> pa.Array:
    """Return texts as an array; `pa.array` would import pandas, which takes half a second."""
    cells = [b"" if value is None else value.encode() for value in values]
    ends = np.cumsum([0, *map(len, cells)], dtype=np.int64)
    present = np.packbits([value is not None for value in values], bitorder="little")
    buffers = [pa.py_buffer(present), pa.py_buffer(ends), pa.py_buffer(b"".join(cells))]
    return pa.Array.from_buffers(pa.large_string(), len(values), buffers)


def _numbers(texts: Sequence[str], column: pa.ChunkedArray) -> Numbers:
    """Return the numbers of the texts' keys; those that `fold` leaves as they are need no look-up."""
    changes = pc.match_substring_regex(column, _FOLDS).to_pylist()
    parts = (
        bytes.fromhex(premise_key(text)) if may_change else sha256(text.encode()).digest()[:8]
        for text, may_change in zip(texts, changes, strict=True)
    )
    return np.frombuffer(b"".join(parts), dtype=">u8").astype(np.uint64)


def _cells(text: str | None) -> tuple[tuple[str, Any], ...]:
    if text is not None:
        with suppress(ValueError):  # damaged: the rest of its row can be read
            cells = parse_as(dict[str, Any], text)
            return tuple(cells.items())
    return ()
