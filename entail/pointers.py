"""The pointers to what is in use, a role each, and every move of them: one file, replaced whole.

It stands in the data folder as `active.json`. Whoever reads it looks at the file's stamp first, so that a
change is seen by every session of every process at its next look, for the cost of one `stat`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from entail.data.writing import write_text
from entail.errors import DataError, PromotionError
from entail.settings import load_settings, refuse_in_demo

Role = Literal["retriever", "direction", "chains"]
ROLES: tuple[Role, ...] = get_args(Role)
"""What ranks premises; the encoder of Gaussians that tells directions; the scorer of facts in chains."""

_FILE = "active.json"
_FORMAT = 1
_TIMEOUT = 20.0


@dataclass(frozen=True)
class Pointer:
    """One move of a pointer, or where it stands of itself.

    Attributes:
        number: 1, 2 ... in order of time; 0 for the packaged encoder, which nobody promoted.
        corpus: Name of the corpus it is for; None for all that have none of their own.
        encoder: Name of the encoder; None where a roll back left the corpus without a pointer of its own.
        revision: Its weights.
        premise_revision: What the premise vectors of its index are bound to; empty where it makes none.
        by: Who moved it.
        at: When, in UTC.
        evaluation: The encoder's figures beside those of the one that was active (`Beside.to_json`).
        previous: Number of the pointer that is in force again after a roll back; 0 for none.
        rolled_back: Number of the pointer that this one took back.
        role: What it is in use for; only retrievers have corpora of their own.
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
        """Return it of JSON's types; the role of a retriever goes without saying, as it always did."""
        told = asdict(self) | {"at": self.at.isoformat()}
        if self.role == "retriever":
            del told["role"]
        return told


class Moves:
    """All moves of all pointers, in order."""

    def __init__(self, made: tuple[Pointer, ...]) -> None:
        self.made = made
        self._last = {(pointer.role, pointer.corpus): pointer for pointer in made}

    @property
    def next(self) -> int:
        """The number of the move that comes next."""
        return len(self.made) + 1

    def of(self, role: Role) -> tuple[Pointer, ...]:
        """Return the moves of a role's pointers."""
        return tuple(pointer for pointer in self.made if pointer.role == role)

    def by_number(self, number: int) -> Pointer | None:
        """Return a move, None for 0."""
        return self.made[number - 1] if number else None

    def in_force(self, corpus: str | None = None, role: Role = "retriever") -> Pointer | None:
        """Return the pointer of a role, of what ranks one of a corpus; None where there is none."""
        last = self._last.get((role, corpus))
        return last if last is not None and last.encoder is not None else None

    def beneath(self, pointer: Pointer) -> Pointer | None:
        """Return what taking a pointer back puts in force again, None where that is none."""
        earlier = self.by_number(pointer.previous)
        return earlier if earlier is not None and earlier.encoder is not None else None

    def move(self, pointer: Pointer) -> Pointer:
        """Write one move more.

        Raises:
            PromotionError: If it cannot be written: then nothing was moved.
        """
        told = {"format": _FORMAT, "moves": [move.to_json() for move in (*self.made, pointer)]}
        try:
            write_text(_file(), json.dumps(told, indent=1, ensure_ascii=False) + "\n")
        except DataError as error:
            raise PromotionError(f"the pointer stays where it is: {error}") from error
        return pointer

    def put_back(self, present: Pointer, *, by: str) -> Pointer:
        """Put in force what was before a pointer was moved there.

        Raises:
            PromotionError: If it cannot be written: then nothing was moved.
        """
        before = self.by_number(present.previous)
        back = before or replace(present, encoder=None, revision="", premise_revision="", previous=0)
        return self.move(
            replace(
                back,
                number=self.next,
                by=by,
                at=datetime.now(UTC),
                evaluation=back.evaluation if before else None,
                rolled_back=present.number,
            )
        )


class Moving:
    """Keeps everybody else from moving a pointer, and gives all moves as they are."""

    def __enter__(self) -> Moves:
        from filelock import FileLock, Timeout

        refuse_in_demo("what is in use cannot be changed")
        file = _file()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(file.with_suffix(".lock"), timeout=_TIMEOUT)
            self._lock.acquire()
        except Timeout as error:
            raise PromotionError("another process is promoting at this moment; try again") from error
        except OSError as error:
            raise PromotionError(f"the pointer cannot be moved: {error}") from error
        try:
            return read_moves()
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, *raised: object) -> None:
        self._lock.release()


def require_unmoved(present: Pointer | None, number: int | None) -> None:
    """Check that a pointer is where it was when somebody decided to move it.

    Args:
        present: What is in force.
        number: What was, 0 for none; None where nobody looked.

    Raises:
        PromotionError: If somebody else moved it meanwhile.
    """
    if number is None or number == (present.number if present else 0):
        return
    who = (
        f"{present.by} made {present.encoder!r} the active one meanwhile" if present else "it was rolled back"
    )
    raise PromotionError(f"{who}, so nothing was changed; look at what is active now, then decide again")


_seen: dict[Path, tuple[tuple[int, int, int], Moves]] = {}


def _file() -> Path:
    return load_settings().data_dir / _FILE


def read_moves() -> Moves:
    """Return all moves; the file is read again only after it changed.

    Raises:
        PromotionError: If it cannot be read.
    """
    file = _file()
    try:
        at = file.stat()
    except FileNotFoundError:
        return Moves(())
    except OSError as error:
        raise PromotionError(f"the pointers to active encoders cannot be read: {error}") from error
    stamp = (at.st_mtime_ns, at.st_ino, at.st_size)
    known = _seen.get(file)
    if known is not None and known[0] == stamp:
        return known[1]
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        if told["format"] != _FORMAT:
            raise ValueError(f"format {told['format']}, of another version of entail")
        made = tuple(Pointer(**{**move, "at": datetime.fromisoformat(move["at"])}) for move in told["moves"])
        if strange := {move.role for move in made} - {*ROLES}:
            raise ValueError(f"role {strange.pop()!r}, of another version of entail")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PromotionError(
            f"{file.name} in the data folder cannot be read ({error}); put it back from a backup, or remove "
            "it: then the packaged encoder is active"
        ) from error
    moves = Moves(made)
    _seen[file] = (stamp, moves)
    return moves
