"""Who an identity provider says that somebody is, and names that were only typed."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from entail.errors import ActError

LONGEST_NAME = 60
"""Characters of an author's name."""

LONGEST_SUBJECT = 255
"""Characters of a subject, as OpenID Connect Core has it (section 2)."""


class SignedIn(str):
    """An author's name that an identity provider vouches for; a plain `str` is one that somebody typed.

    It is a `str`, so that it goes wherever a name goes; whatever makes another text of it makes a typed name.

    >>> vouched(SignedIn("Ada")), vouched("Ada"), vouched(str(SignedIn("Ada")))
    (True, False, False)
    """

    __slots__ = ()


def vouched(author: str) -> bool:
    """Say whether somebody signed in under this name."""
    return isinstance(author, SignedIn)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a provider's claims say of a person.

    Attributes:
        issuer: The provider (`iss`).
        subject: What it calls the person, the same for ever and of nobody else (`sub`).
        name: How people call them.
        email: Their address, where the provider says that it is theirs.
    """

    issuer: str
    subject: str
    name: str
    email: str | None = None


def identity_of(claims: Mapping[str, object]) -> Identity:
    """Return who the claims of an ID token speak of; the name is the first usable one of those told.

    >>> identity_of({"iss": "https://id.example", "sub": "17", "name": "Ada Lovelace"}).name
    'Ada Lovelace'

    Raises:
        ActError: If they name no issuer or no subject, without which nobody could be told apart.
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
    """Return what can be an author's name of a name: what can be seen, with single spaces, not too long.

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
