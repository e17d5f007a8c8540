"""Pointers to the active models: one record per move, a row each in the database.

Moves are read again after `FRESH` seconds, so that pages and requests can look as often as they like. The
file `active.json` of earlier versions, and of their backups, is read into the database once.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from entail.data.stored import parse_as, read_json
from entail.errors import DatabaseError, PromotionError
from entail.settings import is_demo, load_settings, refuse_in_demo
from entail.training.method import Role
from entail.trees.store.restoration import ACTIVE
from entail.trees.store.state import add_moves, lock_moves, open_state, read_moves

FRESH = 1.0
"""Seconds for which moves count as present."""

_FORMAT = 1
_REMEDY = "restore it from a backup, or remove it to use the packaged models"
_cache: dict[str, tuple[float, tuple[Pointer, ...]]] = {}


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
    """Content of the file of earlier versions."""

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
        PromotionError: If the pointers cannot be read.
    """
    last = next(iter(history(corpus, role=role)), None)
    return last if last is not None and last.encoder is not None else None


def rollback_target(pointer: Pointer) -> Pointer | None:
    """Return the pointer that a rollback would restore; None where it leaves none."""
    before = _read_moves()[pointer.previous - 1] if pointer.previous else None
    return before if before is not None and before.encoder is not None else None


@contextlib.contextmanager
def locked_moves() -> Iterator[Callable[[Pointer], Pointer]]:
    """Keep other processes from moving a pointer meanwhile; give what numbers and writes a move.

    Raises:
        PromotionError: If the pointers cannot be read or written: they stay as they are.
    """
    refuse_in_demo("the active models cannot be changed")
    _read_moves()  # imports those of a file
    try:
        with open_state().writing() as connection:
            lock_moves(connection)
            _cache.clear()

            def append(move: Pointer) -> Pointer:
                move = replace(move, number=1 + len(read_moves(connection)))
                add_moves(connection, {move.number: json.dumps(move.to_json())})
                return move

            yield append
    except DatabaseError as error:
        raise PromotionError(f"the active model was not changed: {error}") from error
    finally:
        _cache.clear()


def require_unmoved(present: Pointer | None, number: int | None) -> None:
    """Raise `PromotionError` if a pointer moved since the move of this number; None allows every move."""
    if number is not None and number != (present.number if present else 0):
        change = f"{present.by} activated {present.encoder!r}" if present else "another author rolled it back"
        raise PromotionError(f"nothing was changed: {change} meanwhile; look at what is active, decide again")


def _read_moves() -> tuple[Pointer, ...]:
    """Return all moves in order."""
    settings = load_settings()
    file, url = settings.data_dir / ACTIVE, settings.database_url
    imported = _import_file(file) if file.exists() else None
    cached = _cache.get(url)
    if imported is None and cached is not None and time.monotonic() - cached[0] < FRESH:
        return cached[1]
    try:
        moves = tuple(parse_as(Pointer, text) for text in open_state().moves()) or imported or ()
    except ValueError as error:
        raise PromotionError(f"a move of the active models cannot be read ({error}); {_REMEDY}") from error
    except DatabaseError as error:
        if cached is None:
            raise PromotionError(f"the active models cannot be read: {error}") from error
        moves = cached[1]  # those of before serve until the database answers
    _cache[url] = (time.monotonic(), moves)
    return moves


def _import_file(file: Path) -> tuple[Pointer, ...]:
    """Read the file of an earlier version into the database, unless that has moves; return its moves."""
    content = read_json(file, _Moves, error=PromotionError, remedy=_REMEDY) or _Moves(_FORMAT, ())
    if content.format != _FORMAT:
        raise PromotionError(
            f"{file.name} is of another version of entail (format {content.format}); {_REMEDY}"
        )
    with contextlib.suppress(DatabaseError, OSError):  # one that can only be read counts as it is
        if not is_demo():
            with open_state().writing() as connection:
                lock_moves(connection)
                if not read_moves(connection):
                    rows = enumerate((json.dumps(move.to_json()) for move in content.moves), start=1)
                    add_moves(connection, dict(rows))
            file.replace(file.with_name(f"{file.stem}.imported.json"))
    return content.moves
