"""Who works here: names, each entered once, and who is looking at what right now."""

from __future__ import annotations

import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from entail.errors import ActError, LockedDatabaseError, UnknownTreeError
from entail.trees import schema
from entail.trees.database import GLANCE, Database

LONGEST_NAME = 60
"""Characters of an author's name."""

_JOINERS = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Presence:
    """An author who was on a tree a moment ago.

    Attributes:
        tree_id: The tree.
        author: Their name.
        node: The node they had selected.
        at: When they were last seen there, in UTC.
    """

    tree_id: str
    author: str
    node: str
    at: datetime


def clean_name(name: str) -> str:
    """Return an author's name with single spaces and none around.

    Raises:
        ActError: If nothing is left, it is too long, or it has characters that cannot be seen.

    >>> clean_name("  Ada   Lovelace ")
    'Ada Lovelace'
    """
    for char in name:
        if unicodedata.category(char)[0] == "C" and char not in _JOINERS and not char.isspace():
            raise ActError(f"an author's name cannot hold the invisible character U+{ord(char):04X}")
    clean = " ".join(name.split())
    if not 1 <= len(clean) <= LONGEST_NAME:
        raise ActError(f"an author's name has 1 to {LONGEST_NAME} characters, found {len(clean)}")
    return clean


def fold_name(name: str) -> str:
    """Return the form under which two names are the same name: case, width and joiners aside.

    >>> fold_name("ADA") == fold_name("ada")
    True
    """
    plain = "".join(char for char in name if char not in _JOINERS)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", plain).casefold())


def enter(connection: sa.Connection, name: str) -> str:
    """Return the name as it was first entered, entering it if it is new, in the caller's transaction.

    Raises:
        ActError: If the name cannot be used, see `clean_name`.
    """
    clean = clean_name(name)
    folded = fold_name(clean)
    known = sa.select(schema.authors.c.name).where(schema.authors.c.folded == folded)
    found: str | None = connection.scalar(known)
    if found is not None:
        return found
    try:
        with connection.begin_nested():
            connection.execute(
                sa.insert(schema.authors).values(name=clean, folded=folded, entered_at=datetime.now(UTC))
            )
    except sa.exc.IntegrityError:  # somebody entered it at the same moment
        return str(connection.scalar(known))
    return clean


class Authors:
    """The authors of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def enter(self, name: str) -> str:
        """Return the name to work under: as it was first entered, whatever the case typed now.

        In a database that can only be read, or that somebody else is writing to now, an unknown name is
        returned, but not kept; the first act of that author enters it.

        Raises:
            ActError: If the name cannot be used, see `clean_name`.
        """
        clean = clean_name(name)
        with self._database.reading() as connection:
            found: str | None = connection.scalar(
                sa.select(schema.authors.c.name).where(schema.authors.c.folded == fold_name(clean))
            )
        if found is not None or self._database.read_only:
            return found or clean
        try:
            with self._database.writing() as connection:
                return enter(connection, clean)
        except LockedDatabaseError:
            return clean

    def names(self) -> list[str]:
        """Return all names, in alphabetical order."""
        with self._database.reading() as connection:
            return list(
                connection.scalars(sa.select(schema.authors.c.name).order_by(schema.authors.c.folded))
            )

    def seen(self, tree_id: str, author: str, node: str) -> None:
        """Note that an author is on a node of a tree now.

        Nothing is noted in a read-only database, nor while somebody else is writing: it is noted again soon.

        Raises:
            UnknownTreeError: If there is no such tree.
        """
        if self._database.read_only:
            return
        with suppress(LockedDatabaseError), self._database.writing(wait_seconds=GLANCE) as connection:
            _note(connection, tree_id, author, node)

    def here(self, *, within_seconds: float = 60) -> list[Presence]:
        """Return who was seen within the last seconds, the latest first."""
        table = schema.presence
        since = datetime.now(UTC) - timedelta(seconds=within_seconds)
        rows = (
            sa.select(table.c.tree_id, table.c.author, table.c.node, table.c.at)
            .where(table.c.at >= since)
            .order_by(table.c.at.desc(), table.c.author)
        )
        with self._database.reading() as connection:
            return [Presence(*row) for row in connection.execute(rows)]


def _note(connection: sa.Connection, tree_id: str, author: str, node: str) -> None:
    table = schema.presence
    known = sa.select(schema.trees.c.id).where(schema.trees.c.id == tree_id)
    if not tree_id.isascii() or connection.scalar(known) is None:
        raise UnknownTreeError(f"there is no tree {tree_id!r}")
    values = {"node": node[:40], "at": datetime.now(UTC)}
    name = enter(connection, author)
    here = sa.update(table).where(table.c.tree_id == tree_id, table.c.author == name).values(values)
    if connection.execute(here).rowcount:
        return
    try:
        with connection.begin_nested():
            connection.execute(sa.insert(table).values(tree_id=tree_id, author=name, **values))
    except sa.exc.IntegrityError:  # the same author, in another tab, at the same moment
        connection.execute(here)
