"""Who works here: names, each typed once or signed in under, and who is looking at what right now."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from entail.errors import ActError, LockedDatabaseError, UnknownTreeError
from entail.trees import schema
from entail.trees.database import GLANCE, Database
from entail.trees.identity import LONGEST_NAME, Identity, SignedIn, vouched

_JOINERS = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Presence:
    """An author who was on a tree a moment ago.

    Attributes:
        tree_id: The tree.
        author: Their name.
        node: The node they had selected.
        at: When they were last seen there, in UTC.
        verified: Whether they had signed in.
    """

    tree_id: str
    author: str
    node: str
    at: datetime
    verified: bool = False


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

    def sign_in(self, identity: Identity, *, adopt: bool = False) -> SignedIn:
        """Return the name that somebody who signed in works under: the same ever since they did so first.

        Another person's name is never given away: the second Ada is "Ada (2)". Who is called otherwise by
        their provider now keeps their trees, and is shown under the new name (`called`). In a database that
        can only be read nothing is kept.

        Args:
            identity: Who they are.
            adopt: Let them take over what was done under their name by somebody who only typed it (see
                `typed_before`); what was done so far stays marked as it is.

        Raises:
            LockedDatabaseError: If somebody else is writing now.
        """
        known = self._row(identity)
        if known is not None and (known.called == identity.name or _numbered(known.called, identity.name)):
            return SignedIn(known.name)
        if self._database.read_only:
            return SignedIn(known.name if known is not None else identity.name)
        with self._database.writing() as connection:
            return SignedIn(_sign_in(connection, identity, adopt=adopt))

    def typed_before(self, identity: Identity) -> str | None:
        """Return the name of theirs that somebody typed and worked under, before they first signed in."""
        table = schema.authors
        query = sa.select(table.c.name).where(
            table.c.folded == fold_name(identity.name), table.c.subject.is_(None)
        )
        with self._database.reading() as connection:
            found: str | None = connection.scalar(query)
        return found if found is not None and self._row(identity) is None else None

    def called(self) -> Mapping[str, str]:
        """Return how those who signed in are called now, by the names that they work under."""
        table = schema.authors
        with self._database.reading() as connection:
            rows = connection.execute(
                sa.select(table.c.name, table.c.called).where(table.c.called.is_not(None))
            )
            return {row.name: row.called for row in rows}

    def _row(self, identity: Identity) -> sa.Row[Any, Any] | None:
        with self._database.reading() as connection:
            return _row_of(connection, identity)

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
            sa.select(table.c.tree_id, table.c.author, table.c.node, table.c.at, table.c.verified)
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
    values = {"node": node[:40], "at": datetime.now(UTC), "verified": vouched(author)}
    name = enter(connection, author)
    here = sa.update(table).where(table.c.tree_id == tree_id, table.c.author == name).values(values)
    if connection.execute(here).rowcount:
        return
    try:
        with connection.begin_nested():
            connection.execute(sa.insert(table).values(tree_id=tree_id, author=name, **values))
    except sa.exc.IntegrityError:  # the same author, in another tab, at the same moment
        connection.execute(here)


def _row_of(connection: sa.Connection, identity: Identity) -> sa.Row[Any, Any] | None:
    table = schema.authors
    query = sa.select(table.c.name, table.c.called).where(
        table.c.issuer == identity.issuer, table.c.subject == identity.subject
    )
    found: sa.Row[Any, Any] | None = connection.execute(query).first()
    return found


def _sign_in(connection: sa.Connection, identity: Identity, *, adopt: bool) -> str:
    table = schema.authors
    known = _row_of(connection, identity)
    if known is not None:
        called = _free(connection, identity.name, besides=known.name)
        connection.execute(sa.update(table).where(table.c.name == known.name).values(called=called))
        return str(known.name)
    vouch = {"issuer": identity.issuer, "subject": identity.subject}
    if adopt:
        typed = connection.scalar(
            sa.select(table.c.name).where(
                table.c.folded == fold_name(identity.name), table.c.subject.is_(None)
            )
        )
        if typed is not None:
            called = _free(connection, identity.name, besides=typed)
            connection.execute(sa.update(table).where(table.c.name == typed).values(**vouch, called=called))
            return str(typed)
    name = _free(connection, identity.name)
    row = {"name": name, "folded": fold_name(name), "entered_at": datetime.now(UTC), "called": name, **vouch}
    try:
        with connection.begin_nested():
            connection.execute(sa.insert(table).values(row))
    except sa.exc.IntegrityError:  # the same person in another tab, or a namesake, at the same moment
        return _sign_in(connection, identity, adopt=adopt)
    return name


def _free(connection: sa.Connection, name: str, *, besides: str | None = None) -> str:
    """Return the name, numbered where another author has it already, or is called so."""
    table = schema.authors
    taken: set[str] = set()
    for own, called in connection.execute(sa.select(table.c.name, table.c.called)):
        if own != besides:
            taken |= {fold_name(own), fold_name(called or own)}
    free, number = name, 1
    while fold_name(free) in taken:
        number += 1
        free = f"{name[: LONGEST_NAME - len(str(number)) - 3]} ({number})"
    return free


def _numbered(called: str, name: str) -> bool:
    """Say whether somebody is called by this name, with the number that tells them from others."""
    return re.sub(r" \(\d+\)$", "", called) == name
