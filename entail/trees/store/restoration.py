"""Swap of the models folder that belongs to the transaction which restores a database.

The folders are renamed just before the commit. A journal next to them, and a table that the transaction
makes, tell the next opening of the database whether a killed restore was committed: then the new models stay,
else the old ones come back.
"""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import sqlalchemy as sa

from entail.data.stored import read_json
from entail.data.writing import write_text
from entail.errors import DataError
from entail.settings import load_settings

JOURNAL = "restore.json"
"""Name of the journal in the data folder; it is there while a restore is between its renames and its end."""

ACTIVE = "active.json"
"""Name of the file with the moves of pointers in the data folder, and in backups, of earlier versions."""

_LOCK = 7_300_417  # PostgreSQL's advisory lock; in SQLite a write locks the whole database

_TABLE = sa.Table("restoration", sa.MetaData(), sa.Column("id", sa.Text, nullable=False))


@dataclass(frozen=True, slots=True)
class FolderSwap:
    """Replacement of the models by staged ones (None without any), in steps that can be undone.

    The old `models` are then called `before`, and stay there if the swap `keeps` them.
    """

    id: str
    models: Path
    staged: Path | None
    before: Path
    keeps: bool

    def apply(self, connection: sa.Connection) -> None:
        """Rename the folders in the transaction of the restore, as its last step."""
        _try_lock(connection)
        _TABLE.create(connection)
        connection.execute(sa.insert(_TABLE).values(id=self.id))
        _journal().parent.mkdir(parents=True, exist_ok=True)
        write_text(_journal(), json.dumps(asdict(self), indent=2, default=str) + "\n")
        try:
            if self.models.exists():
                self.models.rename(self.before)
            if self.staged is not None:
                self.staged.rename(self.models)
        except OSError as error:
            reason = (
                f"the models cannot be put into {self.models} ({error.strerror}); let this user write there"
            )
            raise DataError(f"nothing was restored: {reason}") from error

    def revert(self, why: BaseException | str) -> None:
        """Undo the steps that were done."""
        try:
            if self.staged is not None and not self.staged.exists() and self.models.exists():
                self.models.rename(self.staged)
            if self.before.exists():
                self.before.rename(self.models)
        except OSError as error:
            raise DataError(
                f"the database was not restored ({why}), and its models could not be put back "
                f"({error.strerror}): rename {self.before} to {self.models.name}"
            ) from error
        if self.staged is not None:
            shutil.rmtree(self.staged, ignore_errors=True)
        _journal().unlink(missing_ok=True)

    def finish(self, connection: sa.Connection) -> None:
        """Put the file of pointers where the registry reads it; remove the old models unless they stay."""
        with suppress(FileNotFoundError):
            (self.models / ACTIVE).replace(self.models.parent / ACTIVE)
        if not self.keeps:
            shutil.rmtree(self.before, ignore_errors=True)
        forget(connection)
        _journal().unlink(missing_ok=True)


def is_interrupted() -> bool:
    """Return whether a restore was killed, or is under way."""
    return _journal().exists()


def recover(connection: sa.Connection) -> None:
    """Finish or undo the swap of a killed restore, in a transaction that writes; leave one under way."""
    remedy = "it is of an interrupted restore: see that the models next to it are right, then delete it"
    if not _try_lock(connection) or (swap := read_json(_journal(), FolderSwap, remedy=remedy)) is None:
        return
    has_table = sa.inspect(connection).has_table(_TABLE.name)
    if has_table and connection.scalar(sa.select(_TABLE.c.id)) == swap.id:
        swap.finish(connection)
    else:
        swap.revert("it was interrupted")


def forget(connection: sa.Connection) -> None:
    """Drop the table of a restore."""
    _TABLE.drop(connection, checkfirst=True)


def _try_lock(connection: sa.Connection) -> bool:
    """Lock out other restores until the end of a transaction that writes; False if one is under way."""
    lock = sa.select(sa.func.pg_try_advisory_xact_lock(_LOCK))
    return connection.dialect.name == "sqlite" or bool(connection.scalar(lock))


def _journal() -> Path:
    return load_settings().data_dir / JOURNAL
