"""Which licence weights may have, by those of the base and of the data they learnt from."""

from __future__ import annotations

from collections.abc import Sequence

OTHER = "other"
"""What the Hub calls a licence that it does not list, and this project one that nobody has decided."""

_PERMISSIVE = ("apache-2.0", "mit", "bsd-2-clause", "bsd-3-clause", "cc0-1.0", "unlicense")
_STRICTER = (
    "cc-by-4.0",
    "cc-by-sa-3.0",
    "cc-by-sa-4.0",
    "cc-by-nc-4.0",
    "cc-by-nc-sa-3.0",
    "cc-by-nc-sa-4.0",
)

KNOWN = (*_PERMISSIVE, *_STRICTER)
"""Licences in the Hub's words, from the most permissive to the strictest."""


def proposed_licence(licences: Sequence[str | None]) -> str:
    """Return the strictest of some licences; `other` where one of them is unknown, or there is none.

    A proposal of the cautious kind: whether weights are a work derived from their data is for lawyers.

    >>> proposed_licence(["apache-2.0", "mit"]), proposed_licence(["apache-2.0", "cc-by-sa-4.0"])
    ('apache-2.0', 'cc-by-sa-4.0')
    >>> proposed_licence(["apache-2.0", None])
    'other'
    """
    known = [licence.lower() if licence else OTHER for licence in licences]
    if not known or any(licence not in _PERMISSIVE and licence not in _STRICTER for licence in known):
        return OTHER
    strict = [licence for licence in known if licence in _STRICTER]
    if strict:
        return max(strict, key=_STRICTER.index)
    return min(known, key=_PERMISSIVE.index)
