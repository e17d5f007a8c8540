"""Licences of packages, encoders, corpora and the packaged sample."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any, Literal

from entail.encoders.catalogue import catalogue

UNKNOWN = "unknown"

_LONGEST = 60
_CLASSIFIER = "License :: OSI Approved :: "
_TERMS = re.compile(
    r"(?<!L)GPL|(?<!Lesser )General Public|SSPL|BUSL|-NC\b|non-?commercial|proprietary|NVIDIA", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Licence:
    """Licence of one component.

    Attributes:
        kind: Kind of component.
        name: Its name.
        version: Version or revision; empty where there is none.
        licence: Licence by its own statement, shortened.
        look: Whether to review it before redistribution: the licence is unknown or may set terms for that.
            No legal advice.
    """

    kind: Literal["package", "encoder", "corpus", "sample"]
    name: str
    version: str
    licence: str
    look: bool

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)


def package_licences() -> list[Licence]:
    """Return the licences of all installed packages, by name; pyvis includes vis-network."""
    found: dict[str, Licence] = {}
    for package in metadata.distributions():
        about = package.metadata
        name = about["Name"]
        if name is None or name.lower() in found:
            continue
        licence = _licence(
            about["License-Expression"], about.get_all("Classifier") or (), about["License"] or ""
        )
        found[name.lower()] = _of("package", name, package.version, licence)
    return [found[name] for name in sorted(found)]


def encoder_licences() -> list[Licence]:
    """Return the licences of available encoders, from their cards."""
    return [
        _of("encoder", entry.name, (entry.revision or "").rpartition("@")[2], entry.licence or UNKNOWN)
        for entry in catalogue()
    ]


def data_licences(corpora: Iterable[tuple[str, int, str]]) -> list[Licence]:
    """Return the licences of the packaged sample and of corpora (name, version, licence).

    >>> [found.licence for found in data_licences([("ours", 3, "")])]
    ['Apache-2.0; facts CC BY-SA 4.0 (WorldTree)', 'unknown']
    """
    sample = Licence(
        "sample",
        "EntailmentBank sample, packaged",
        "",
        "Apache-2.0; facts CC BY-SA 4.0 (WorldTree)",
        False,
    )
    return [
        sample,
        *(_of("corpus", name, str(version), licence or UNKNOWN) for name, version, licence in corpora),
    ]


def _of(kind: Literal["package", "encoder", "corpus"], name: str, version: str, licence: str) -> Licence:
    return Licence(kind, name, version, licence, licence == UNKNOWN or bool(_TERMS.search(licence)))


def _licence(expression: str | None, classifiers: Iterable[str], text: str) -> str:
    """Return the most specific licence statement of a package on one short line.

    >>> _licence(None, ["License :: OSI Approved :: BSD License"], "")
    'BSD License'
    """
    named = [kind.removeprefix(_CLASSIFIER) for kind in classifiers if kind.startswith(_CLASSIFIER)]
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    told = next(_told(expression, named, lines), UNKNOWN)
    return told if len(told) <= _LONGEST else told[: _LONGEST - 1].rstrip() + "…"


def _told(expression: str | None, named: list[str], lines: list[str]) -> Iterator[str]:
    if expression:
        yield expression
    # A name in the free field is more exact than its class; a whole licence there is not.
    if len(lines) == 1 and len(lines[0]) <= _LONGEST and lines[0].upper() != "UNKNOWN":
        yield lines[0]
    if named:
        yield ", ".join(named)
    if lines and lines[0].upper() != "UNKNOWN":
        yield lines[0]
