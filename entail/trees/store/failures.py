"""Errors of database drivers, translated into `DatabaseError` with the cause and the remedy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import sqlalchemy as sa

from entail.errors import DamagedDatabaseError, DatabaseError, LockedDatabaseError


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn what a driver raises into a `DatabaseError` that says what to do."""
    try:
        yield
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        raise _explain(error, url) from error
    except UnicodeEncodeError as error:
        raise DatabaseError(
            f"nothing was saved: half a character (a lone surrogate) in {error.object!r}"
        ) from error


def _explain(error: Exception, url: str) -> DatabaseError:
    original = getattr(error, "orig", None) or error
    reason = " ".join(str(original).split())
    if isinstance(original, sqlite3.Error):
        for sign, meaning in _SQLITE_MEANINGS.items():
            if sign in reason.lower():
                return _KINDS.get(sign, DatabaseError)(
                    f"the database {url} {meaning} (SQLite says: {reason})"
                )
        return DatabaseError(f"the database {url} could not answer (SQLite says: {reason})")
    if getattr(original, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
        return LockedDatabaseError(f"the database {url} {_LOCKED}")
    if isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError | sa.exc.TimeoutError):
        return DatabaseError(
            f"the database server at {url} does not answer: see that it runs, that ENTAIL_DATABASE_URL is "
            f"right, and that this user may connect ({_short(reason)})"
        )
    return DatabaseError(f"the database {url} could not answer ({_short(reason)}); see `entail doctor`")


_KINDS: Mapping[str, type[DatabaseError]] = {
    "not a database": DamagedDatabaseError,
    "malformed": DamagedDatabaseError,
    "locked": LockedDatabaseError,
}
_LOCK_NOT_AVAILABLE = "55P03"  # PostgreSQL's name for a lock that `lock_timeout` waited for in vain
_LOCKED = (
    "is locked by another process, which is writing and did not finish in time; nothing was saved, nothing "
    "was lost: try again in a moment, or close that process"
)

_SQLITE_MEANINGS = {
    "readonly": "can only be read; make the file and its folder writable for this user, then restart",
    "locked": _LOCKED,
    "not a database": (
        "is not an SQLite database or is damaged; bring back a backup with `entail restore FILE --replace`, "
        "which keeps the damaged file"
    ),
    "malformed": (
        "is damaged; bring back a backup with `entail restore FILE --replace`, which keeps the damaged file"
    ),
    "disk i/o": "could not be read or written: see that the disk works and has room",
    "full": "could not be written: the disk is full; make room and try again, nothing was lost",
    "unable to open": "cannot be opened: see that its folder exists and that this user may read and write it",
    "no such table": "does not have the tables of this version; see `entail doctor`",
    "no such column": "does not have the tables of this version; see `entail doctor`",
}


def _short(reason: str) -> str:
    return reason if len(reason) <= 300 else reason[:299] + "…"
