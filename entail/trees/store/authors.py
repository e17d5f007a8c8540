"""Authors: typed names or signed-in identities, and their presence on trees."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, count
from typing import Any

import sqlalchemy as sa

from entail.errors import ActError, LockedDatabaseError, UnknownTreeError
from entail.trees.store.copies import hides
from entail.trees.store.database import GLANCE, Database
from entail.trees.store.schema import authors, presence, trees

LONGEST_NAME, LONGEST_SUBJECT = 60, 255
"""Most characters of an author's name, and of a subject by OpenID Connect Core (section 2)."""

_JOINERS = "\u200c\u200d"
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u200c\u200d\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Marks and letters that are not drawn (Unicode: Default_Ignorable_Code_Point), and the blank of Braille."""


class SignedIn(str):
    """Name of a signed-in author; a plain `str` is a typed name, also one converted from this.

    >>> is_signed_in(SignedIn("Ada")), is_signed_in("Ada"), is_signed_in(str(SignedIn("Ada")))
    (True, False, False)
    """

    __slots__ = ()


def is_signed_in(author: str) -> bool:
    """Return whether a name is that of a signed-in author."""
    return isinstance(author, SignedIn)


@dataclass(frozen=True, slots=True)
class Identity:
    """Identity of a person: the permanent id (`subject`) at the `issuer`, name, and verified email."""

    issuer: str
    subject: str
    name: str
    email: str | None = None


@dataclass(frozen=True, slots=True)
class Presence:
    """Recent presence of an author on a node of a tree."""

    tree_id: str
    author: str
    node: str
    at: datetime
    verified: bool = False


def _is_invisible(char: str) -> bool:
    return unicodedata.category(char)[0] == "C" and char not in _JOINERS and not char.isspace()


def clean_name(name: str) -> str:
    """Return an author's name with white space normalised; `ActError` if it cannot be seen or is too long."""
    if hidden := next(filter(_is_invisible, name), ""):
        raise ActError(f"an author's name cannot contain the invisible character U+{ord(hidden):04X}")
    clean = " ".join(name.split())
    length = len(clean) if fold_name(clean) else 0
    if not 1 <= length <= LONGEST_NAME:
        raise ActError(f"an author's name has 1 to {LONGEST_NAME} characters, found {length}")
    return clean


def _usable_name(name: str) -> str:
    clean = " ".join("".join(char for char in name if not _is_invisible(char)).split())
    clean = clean[:LONGEST_NAME].rstrip()
    return clean if fold_name(clean) else ""


def fold_name(name: str) -> str:
    """Return a name folded for comparison: without case, width and characters that cannot be seen."""
    plain = " ".join(_UNSEEN.sub("", name).split())
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", plain).casefold())


def identity_of(claims: Mapping[str, object]) -> Identity:
    """Return the identity in the claims of an ID token, with the first usable name among them.

    >>> identity_of({"iss": "https://id.example", "sub": "17", "name": "Ada Lovelace"}).name
    'Ada Lovelace'
    """
    issuer, subject = (str(claims.get(claim) or "").strip() for claim in ("iss", "sub"))
    if not issuer or not subject or len(subject) > LONGEST_SUBJECT:
        raise ActError("expected an issuer and a subject (the claims iss and sub); see docs/operate.md")
    texts = {claim: value.strip() for claim, value in claims.items() if isinstance(value, str)}
    email = texts.get("email", "") if claims.get("email_verified") is not False else ""
    candidates = (
        texts.get("name", ""),
        f"{texts.get('given_name', '')} {texts.get('family_name', '')}",
        texts.get("preferred_username", "").partition("@")[0],
        texts.get("nickname", ""),
        email.partition("@")[0],
        f"author {subject}",
    )
    name = next(filter(None, map(_usable_name, candidates)))
    return Identity(issuer=issuer, subject=subject, name=name, email=email.lower() or None)


def enter(connection: sa.Connection, name: str) -> str:
    """Return the name as it was first entered; insert a new one. Raises as `clean_name`."""
    clean = clean_name(name)
    if (stored_name := _find_name(connection, clean)) is not None:
        return stored_name
    row = {"name": clean, "folded": fold_name(clean), "entered_at": datetime.now(UTC)}
    return clean if _insert(connection, authors, row) else str(_find_name(connection, clean))


def _insert(connection: sa.Connection, table: sa.Table, row: Mapping[str, object]) -> bool:
    """Insert a row; return False if another transaction inserted its key at the same moment."""
    try:
        with connection.begin_nested():
            connection.execute(sa.insert(table).values(row))
    except sa.exc.IntegrityError:
        return False
    return True


def _find_name(connection: sa.Connection, name: str, *, typed: bool = False) -> str | None:
    """Return the name of an author as `fold_name` compares them; with `typed`, of one who never signed in."""
    same = authors.c.name == name
    query = sa.select(authors.c.name).where(sa.or_(same, authors.c.folded == fold_name(name)))
    if typed:
        query = query.where(authors.c.subject.is_(None))
    # Earlier versions stored keys with some characters that cannot be seen, so the name itself comes first.
    return connection.scalar(query.order_by(same.desc()).limit(1))


class Authors:
    """Authors of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def enter(self, name: str) -> str:
        """Return the name as it was first entered, regardless of case; insert a new one.

        In a read-only or locked database the author's first act inserts it. Raises as `clean_name`.
        """
        clean = clean_name(name)
        with self._database.reading() as connection:
            stored_name = _find_name(connection, clean)
        if stored_name is not None or self._database.read_only:
            return stored_name or clean
        try:
            with self._database.writing(wait_seconds=GLANCE) as connection:
                return enter(connection, clean)
        except LockedDatabaseError:
            return clean

    def sign_in(self, identity: Identity, *, adopt: bool = False) -> SignedIn:
        """Return the permanent name of a signed-in author; a read-only database is not changed.

        Names are unique: the second Ada is "Ada (2)". An author whom the provider has renamed keeps their
        trees and is shown under the new name (`called`). With `adopt`, they take over the typed name of an
        unverified author (see `typed_before`), whose acts keep their mark.
        """
        with self._database.reading() as connection:
            author = _row_of(connection, identity)
        if author is not None and author.email == identity.email:
            names = (author.called, re.sub(r" \(\d+\)$", "", author.called))
            if identity.name in names:
                return SignedIn(author.name)
        if self._database.read_only:
            return SignedIn(author.name if author is not None else identity.name)
        with self._database.writing() as connection:
            return SignedIn(_sign_in(connection, identity, adopt=adopt))

    def typed_before(self, identity: Identity) -> str | None:
        """Return the unverified author of the same name, before the identity's first sign-in; else None."""
        with self._database.reading() as connection:
            author = _row_of(connection, identity)
            return _find_name(connection, identity.name, typed=True) if author is None else None

    def display_names(self) -> Mapping[str, str]:
        """Return permanent name -> current name of the signed-in authors."""
        query = sa.select(authors.c.name, authors.c.called).where(authors.c.called.is_not(None))
        with self._database.reading() as connection:
            return {row.name: row.called for row in connection.execute(query)}

    def names(self) -> list[str]:
        """Return the permanent names of all authors, in alphabetical order."""
        with self._database.reading() as connection:
            return list(connection.scalars(sa.select(authors.c.name).order_by(authors.c.folded)))

    def record_presence(self, tree_id: str, author: str, node: str) -> None:
        """Record that an author is on a node of a tree; skipped in a read-only or locked database."""
        if self._database.read_only:
            return
        values = {"node": node[:40], "at": datetime.now(UTC), "verified": is_signed_in(author)}
        with suppress(LockedDatabaseError), self._database.writing(wait_seconds=GLANCE) as connection:
            query = sa.select(trees.c.id).where(trees.c.id == tree_id)
            if not tree_id.isascii() or connection.scalar(query) is None:
                raise UnknownTreeError(f"there is no tree {tree_id!r}")
            name = enter(connection, author)
            own = (presence.c.tree_id == tree_id) & (presence.c.author == name)
            if not connection.execute(sa.update(presence).where(own).values(values)).rowcount:
                # It fails for the same author in another tab, who was there at the same moment.
                _insert(connection, presence, {"tree_id": tree_id, "author": name, **values})

    def list_presences(self, viewer: str | None = None) -> list[Presence]:
        """Return the presences of the last minute on trees that a viewer sees, the latest first."""
        since = datetime.now(UTC) - timedelta(seconds=60)
        query = sa.select(*(presence.c[name] for name in Presence.__slots__)).where(presence.c.at >= since)
        enforced = viewer is not None and is_signed_in(viewer)
        query = query.where(~hides(presence.c.tree_id, viewer, enforced=enforced))
        query = query.order_by(presence.c.at.desc(), presence.c.author)
        with self._database.reading() as connection:
            return [Presence(*row) for row in connection.execute(query)]


def _row_of(connection: sa.Connection, identity: Identity) -> sa.Row[Any, Any, Any] | None:
    same = (authors.c.issuer == identity.issuer) & (authors.c.subject == identity.subject)
    columns = (authors.c.name, authors.c.called, authors.c.email)
    return connection.execute(sa.select(*columns).where(same)).first()


def _sign_in(connection: sa.Connection, identity: Identity, *, adopt: bool) -> str:
    author = _row_of(connection, identity)
    typed = _find_name(connection, identity.name, typed=True) if adopt else None
    name = str(author.name) if author is not None else typed
    called = _free(connection, identity.name, exempt=name)
    email = identity.email if len(identity.email or "") <= LONGEST_SUBJECT else None
    vouch = {"issuer": identity.issuer, "subject": identity.subject, "called": called, "email": email}
    if name is not None:
        connection.execute(sa.update(authors).where(authors.c.name == name).values(vouch))
        return name
    row = {"name": called, "folded": fold_name(called), "entered_at": datetime.now(UTC), **vouch}
    if _insert(connection, authors, row):
        return called
    return _sign_in(connection, identity, adopt=adopt)  # the same person in another tab, or a namesake


def _free(connection: sa.Connection, name: str, *, exempt: str | None) -> str:
    """Return the name, numbered if another author has it."""
    folded_names: set[str] = set()
    for own, called in connection.execute(sa.select(authors.c.name, authors.c.called)):
        if own != exempt:
            folded_names |= {fold_name(own), fold_name(called or own)}
    numbered = (f"{name[: LONGEST_NAME - len(str(n)) - 3]} ({n})" for n in count(2))
    return next(free for free in chain([name], numbered) if fold_name(free) not in folded_names)
