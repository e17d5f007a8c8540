"""Authors: typed names or signed-in identities, and their presence on trees."""

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
from entail.trees.store import schema
from entail.trees.store.database import GLANCE, Database

_JOINERS = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Presence:
    """Recent presence of an author on a tree.

    Attributes:
        tree_id: Tree.
        author: Name of the author.
        node: Selected node.
        at: Time of the last sign of presence, in UTC.
        verified: Whether the author was signed in.
    """

    tree_id: str
    author: str
    node: str
    at: datetime
    verified: bool = False


def clean_name(name: str) -> str:
    """Return an author's name with white space normalised.

    Raises:
        ActError: If it is empty, too long, or has invisible characters.

    >>> clean_name("  Ada   Lovelace ")
    'Ada Lovelace'
    """
    for char in name:
        if unicodedata.category(char)[0] == "C" and char not in _JOINERS and not char.isspace():
            raise ActError(f"an author's name cannot contain the invisible character U+{ord(char):04X}")
    clean = " ".join(name.split())
    if not 1 <= len(clean) <= LONGEST_NAME:
        raise ActError(f"an author's name has 1 to {LONGEST_NAME} characters, found {len(clean)}")
    return clean


def fold_name(name: str) -> str:
    """Return a name folded for comparison: without case, width and joiners.

    >>> fold_name("ADA") == fold_name("ada")
    True
    """
    plain = "".join(char for char in name if char not in _JOINERS)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", plain).casefold())


def enter(connection: sa.Connection, name: str) -> str:
    """Return the name as it was first entered; insert a new one in the caller's transaction.

    Raises:
        ActError: If the name is invalid, see `clean_name`.
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
    """Authors of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def enter(self, name: str) -> str:
        """Return the name as it was first entered, regardless of case; insert a new one.

        In a read-only or locked database a new name is not inserted; the author's first act inserts it.

        Raises:
            ActError: If the name is invalid, see `clean_name`.
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
        """Return the permanent name of a signed-in author.

        Names are unique: the second Ada is "Ada (2)". An author whom the provider has renamed keeps their
        trees and is shown under the new name (`called`). A read-only database is not changed.

        Args:
            identity: Identity of the author.
            adopt: Take over the typed name of an unverified author (see `typed_before`); earlier acts keep
                their
                mark.

        Raises:
            LockedDatabaseError: If the database is locked by another write.
        """
        known = self._row(identity)
        if known is not None and (known.called == identity.name or _numbered(known.called, identity.name)):
            return SignedIn(known.name)
        if self._database.read_only:
            return SignedIn(known.name if known is not None else identity.name)
        with self._database.writing() as connection:
            return SignedIn(_sign_in(connection, identity, adopt=adopt))

    def typed_before(self, identity: Identity) -> str | None:
        """Return the unverified author of the same name, before the identity's first sign-in; else None."""
        table = schema.authors
        query = sa.select(table.c.name).where(
            table.c.folded == fold_name(identity.name), table.c.subject.is_(None)
        )
        with self._database.reading() as connection:
            found: str | None = connection.scalar(query)
        return found if found is not None and self._row(identity) is None else None

    def called(self) -> Mapping[str, str]:
        """Return permanent name -> current name of the signed-in authors."""
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
        """Record that an author is on a node of a tree; skipped in a read-only or locked database.

        Raises:
            UnknownTreeError: If there is no such tree.
        """
        if self._database.read_only:
            return
        with suppress(LockedDatabaseError), self._database.writing(wait_seconds=GLANCE) as connection:
            _note(connection, tree_id, author, node)

    def here(self, *, within_seconds: float = 60) -> list[Presence]:
        """Return the presences of the last seconds, the latest first."""
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
    """Return the name, numbered if another author has it."""
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
    """Return whether `called` is `name`, with or without a number."""
    return re.sub(r" \(\d+\)$", "", called) == name


LONGEST_NAME = 60
"""Most characters of an author's name."""

LONGEST_SUBJECT = 255
"""Most characters of a subject, by OpenID Connect Core (section 2)."""


class SignedIn(str):
    """Name of a signed-in author; a plain `str` is a typed name.

    It can be used as any name; a conversion to `str` makes a typed name of it.

    >>> vouched(SignedIn("Ada")), vouched("Ada"), vouched(str(SignedIn("Ada")))
    (True, False, False)
    """

    __slots__ = ()


def vouched(author: str) -> bool:
    """Return whether a name is that of a signed-in author."""
    return isinstance(author, SignedIn)


@dataclass(frozen=True, slots=True)
class Identity:
    """Identity of a person from a provider's claims.

    Attributes:
        issuer: Provider (`iss`).
        subject: Permanent unique id of the person at the provider (`sub`).
        name: Name of the person.
        email: Verified address.
    """

    issuer: str
    subject: str
    name: str
    email: str | None = None


def identity_of(claims: Mapping[str, object]) -> Identity:
    """Return the identity in the claims of an ID token, with the first usable name among them.

    >>> identity_of({"iss": "https://id.example", "sub": "17", "name": "Ada Lovelace"}).name
    'Ada Lovelace'

    Raises:
        ActError: If there is no issuer or no subject.
    """
    issuer, subject = (str(claims.get(claim) or "").strip() for claim in ("iss", "sub"))
    if not issuer or not subject or len(subject) > LONGEST_SUBJECT:
        raise ActError(
            "expected an identity with an issuer and a subject (the claims iss and sub), found none; the "
            "provider has to be one of OpenID Connect, see docs/operating.md"
        )
    email = _text(claims, "email") if claims.get("email_verified") is not False else ""
    whole = " ".join(filter(None, (_text(claims, "given_name"), _text(claims, "family_name"))))
    told = (
        _text(claims, "name"),
        whole,
        _text(claims, "preferred_username").partition("@")[0],
        _text(claims, "nickname"),
        email.partition("@")[0],
        f"author {subject}",
    )
    name = next(name for name in map(usable_name, told) if name)
    return Identity(issuer=issuer, subject=subject, name=name, email=email.lower() or None)


def usable_name(name: str) -> str:
    """Return a name without invisible characters, white space normalised, truncated.

    >>> usable_name("  Ada" + chr(7) + "  Lovelace ")
    'Ada Lovelace'
    """
    seen = "".join(
        char
        for char in name
        if char.isspace() or char in "\u200c\u200d" or unicodedata.category(char)[0] != "C"
    )
    return " ".join(seen.split())[:LONGEST_NAME].rstrip()


def _text(claims: Mapping[str, object], claim: str) -> str:
    found = claims.get(claim)
    return found.strip() if isinstance(found, str) else ""
