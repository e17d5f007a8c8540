"""Author explanation trees over your own corpus, with retrieval that learns what entails.

The names below load their modules when first used, so that ``import entail`` costs almost nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from entail.version import __version__

if TYPE_CHECKING:
    from entail.data.records import Corpus, ExplanationTree, Premise, Step
    from entail.data.text import fold
    from entail.errors import EntailError

_HOMES = {
    "Corpus": "entail.data.records",
    "EntailError": "entail.errors",
    "ExplanationTree": "entail.data.records",
    "Premise": "entail.data.records",
    "Step": "entail.data.records",
    "fold": "entail.data.text",
}

__all__ = [
    "Corpus",
    "EntailError",
    "ExplanationTree",
    "Premise",
    "Step",
    "__version__",
    "fold",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attributes are of any type
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'entail' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
