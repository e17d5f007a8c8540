"""Alembic migrations of the database, run when it is opened.

To change the tables: change `schema.py` and its `REVISION`, write `versions/rNNNN_what.py` with the previous
revision as `down_revision`, and change no migration that was released. A test compares both.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from entail.errors import DatabaseError
from entail.trees.store.schema import REVISION

MIGRATIONS = Path(__file__).parent

_LOCK = 0x656E7461696C  # "entail", as PostgreSQL's advisory lock number


def schema_revision(connection: sa.Connection) -> str | None:
    """Return the revision of the tables, None if there are none."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    version = sa.table("alembic_version", sa.column("version_num"))
    revision: str | None = connection.scalar(sa.select(version.c.version_num))
    return revision


def migrate(connection: sa.Connection, revision: str = "head") -> None:
    """Migrate the tables to a revision in the caller's transaction; `DatabaseError` if they are newer."""
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    revisions = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL lock_timeout = 0")  # another's migration takes what it takes
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    current_revision = schema_revision(connection)
    for revision_id in (current_revision, revision):
        if revision_id not in {None, "head", *revisions}:
            raise DatabaseError(
                f"these tables are of revision {revision_id}, newer than this version of entail knows "
                f"({REVISION}); update entail (nothing was changed)"
            )
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
