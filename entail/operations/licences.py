"""Licences of packages, encoders, corpora and the packaged sample."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
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
    """Licence of one component, by its own statement; `look` where it is unknown or may set terms."""

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
    licences: dict[str, Licence] = {}
    for package in metadata.distributions():
        about: Mapping[str, Any] = package.metadata.json
        words = about.get("license_expression"), about.get("classifier", ()), about.get("license", "")
        if name := about.get("name"):
            licences.setdefault(name.lower(), _of("package", name, package.version, _licence(*words)))
    return [licences[name] for name in sorted(licences)]


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
    terms = "Apache-2.0; facts CC BY-SA 4.0 (WorldTree)"
    own = (_of("corpus", name, str(version), licence or UNKNOWN) for name, version, licence in corpora)
    return [Licence("sample", "EntailmentBank sample, packaged", "", terms, False), *own]


def _of(kind: Literal["package", "encoder", "corpus"], name: str, version: str, licence: str) -> Licence:
    return Licence(kind, name, version, licence, licence == UNKNOWN or bool(_TERMS.search(licence)))


def _licence(expression: str | None, classifiers: Iterable[str], text: str) -> str:
    """Return the most specific licence statement of a package on one short line.

    >>> _licence(None, ["License :: OSI Approved :: BSD License"], "")
    'BSD License'
    """
    named = [kind.removeprefix(_CLASSIFIER) for kind in classifiers if kind.startswith(_CLASSIFIER)]
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    first = lines[0] if lines and lines[0].upper() != "UNKNOWN" else ""
    # A name in the free field is more exact than its class; a whole licence there is not.
    name = first if len(lines) == 1 and len(first) <= _LONGEST else ""
    licence = expression or name or ", ".join(named) or first or UNKNOWN
    return licence if len(licence) <= _LONGEST else licence[: _LONGEST - 1].rstrip() + "…"
