"""Pointers to the active models: one record per move, all in `active.json`, which is replaced whole."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from entail.data.stored import read_json
from entail.data.writing import write_text
from entail.errors import DataError, PromotionError
from entail.settings import load_settings, refuse_in_demo
from entail.training.method import Role

FILE = "active.json"
"""Name of the file in the data folder."""

_FORMAT = 1
_TIMEOUT = 20.0
_cache: dict[Path, tuple[tuple[int, int, int] | None, tuple[Pointer, ...]]] = {}


@dataclass(frozen=True)
class Pointer:
    """One move of a pointer.

    Attributes:
        number: 1, 2 ... in order of time, over all roles.
        corpus: Name of the corpus; None for the default.
        encoder: Name of the model; None where a rollback left no pointer.
        premise_revision: Revision of the premise vectors that the index is made of; empty outside retrieval.
        evaluation: Comparison with the model that was active (`PairedComparison.to_json`).
        previous: Number of the move that a rollback restores; 0 for none.
        rolled_back: Number of the move that this rollback took back.
    """

    number: int
    corpus: str | None
    encoder: str | None
    revision: str
    premise_revision: str
    by: str
    at: datetime
    evaluation: Mapping[str, Any] | None = None
    previous: int = 0
    rolled_back: int | None = None
    role: Role = "retriever"

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict; the role of a retriever is left out, as in the first format."""
        fields = asdict(self) | {"at": self.at.isoformat()}
        if self.role == "retriever":
            del fields["role"]
        return fields


@dataclass(frozen=True)
class _Moves:
    """Content of the file."""

    format: int
    moves: tuple[Pointer, ...]


def history(corpus: str | None = None, *, role: Role = "retriever") -> tuple[Pointer, ...]:
    """Return the moves of one pointer, newest first: of a corpus, of the default, or of a role."""
    return tuple(move for move in list_moves(role) if move.corpus == corpus)


def list_moves(*roles: Role) -> tuple[Pointer, ...]:
    """Return the moves of all pointers of some roles, by default of all, newest first."""
    return tuple(move for move in reversed(_read_moves()) if not roles or move.role in roles)


def list_pointers() -> tuple[Pointer, ...]:
    """Return the pointers of retrievers: the default first, then those of corpora by name."""
    corpora = sorted({move.corpus or "" for move in _read_moves()})
    return tuple(pointer for corpus in corpora if (pointer := current_pointer(corpus or None)) is not None)


def current_pointer(corpus: str | None = None, *, role: Role = "retriever") -> Pointer | None:
    """Return the pointer of exactly this corpus or role; None where nothing is promoted.

    Raises:
        PromotionError: If the file of pointers cannot be read.
    """
    last = next(iter(history(corpus, role=role)), None)
    return last if last is not None and last.encoder is not None else None


def rollback_target(pointer: Pointer) -> Pointer | None:
    """Return the pointer that a rollback would restore; None where it leaves none."""
    before = _read_moves()[pointer.previous - 1] if pointer.previous else None
    return before if before is not None and before.encoder is not None else None


@contextlib.contextmanager
def locked_moves() -> Iterator[int]:
    """Keep other processes from moving a pointer meanwhile; give the number of the last move."""
    from filelock import FileLock, Timeout

    refuse_in_demo("the active models cannot be changed")
    file = load_settings().data_dir / FILE
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file.with_suffix(".lock"), timeout=_TIMEOUT).acquire()
    except Timeout as error:
        raise PromotionError("another process is promoting a model; try again") from error
    except OSError as error:
        raise PromotionError(f"the active model cannot be changed: {error}") from error
    with lock:
        yield len(_read_moves())


def append_move(move: Pointer) -> Pointer:
    """Write one more move; only under `locked_moves`.

    Raises:
        PromotionError: If it cannot be written: the pointers stay as they are.
    """
    content = {"format": _FORMAT, "moves": [pointer.to_json() for pointer in (*_read_moves(), move)]}
    try:
        write_text(load_settings().data_dir / FILE, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    except DataError as error:
        raise PromotionError(f"the active model was not changed: {error}") from error
    return move


def require_unmoved(present: Pointer | None, number: int | None) -> None:
    """Raise `PromotionError` if a pointer moved since the move of this number; None allows every move."""
    if number is not None and number != (present.number if present else 0):
        change = f"{present.by} activated {present.encoder!r}" if present else "another author rolled it back"
        raise PromotionError(f"nothing was changed: {change} meanwhile; look at what is active, decide again")


def _read_moves() -> tuple[Pointer, ...]:
    """Return all moves in order; the file is read again only after it changed."""
    file = load_settings().data_dir / FILE
    try:
        stat = file.stat()
        stamp = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
        if (cached := _cache.get(file)) is not None and cached[0] == stamp:
            return cached[1]
    except OSError:
        stamp = None
    remedy = "restore it from a backup, or remove it to use the packaged models"
    content = read_json(file, _Moves, error=PromotionError, remedy=remedy) or _Moves(_FORMAT, ())
    if content.format != _FORMAT:
        raise PromotionError(
            f"{file.name} is of another version of entail (format {content.format}); {remedy}"
        )
    _cache[file] = (stamp, content.moves)
    return content.moves
