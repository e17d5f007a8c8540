"""Under which licences everything here stands: packages, encoders, corpora, what ships."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any, Literal

from entail.encoders.catalogue import catalogue

UNKNOWN = "not said"

_LONGEST = 60
_CLASSIFIER = "License :: OSI Approved :: "
_TERMS = re.compile(
    r"(?<!L)GPL|(?<!Lesser )General Public|SSPL|BUSL|-NC\b|non-?commercial|proprietary|NVIDIA", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Licence:
    """What stands under which licence.

    Attributes:
        kind: What it is.
        name: How it is called.
        version: Its version or revision; empty where there is none.
        licence: As it says itself, in short.
        look: Whether somebody should look at it before it is passed on: nothing is said, or the words speak
            of terms for whoever passes it on. No lawyer's word.
    """

    kind: Literal["package", "encoder", "corpus", "sample"]
    name: str
    version: str
    licence: str
    look: bool

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return asdict(self)


def package_licences() -> list[Licence]:
    """Return every installed package with its licence, by name; vis-network comes within pyvis."""
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
    """Return the encoders in reach with the licences on their cards."""
    return [
        _of("encoder", entry.name, (entry.revision or "").rpartition("@")[2], entry.licence or UNKNOWN)
        for entry in catalogue()
    ]


def data_licences(corpora: Iterable[tuple[str, int, str]]) -> list[Licence]:
    """Return the sample that ships, and corpora (name, version, licence) as their owners said.

    >>> [found.licence for found in data_licences([("ours", 3, "")])]
    ['Apache-2.0; facts CC BY-SA 4.0 (WorldTree)', 'not said']
    """
    sample = Licence(
        "sample",
        "EntailmentBank sample, as it ships",
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
    """Return what a package's metadata say, the most exact of it, on one short line.

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
