"""Display names of models, and marks of retrievers: colour, shape and dash, the same in every chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from entail.runtime.models import SHARED_WORDS
from entail.ui.shared.chart_marks import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    SKY,
    VERMILION,
    VIOLET,
    Mark,
)

LABELS: Final[Mapping[str, str]] = {
    "minilm": "MiniLM (meaning)",
    "aeenc-minilm": "AE-Enc MiniLM (debiased)",
    "aeenc-dual-minilm": "AE-Enc dual MiniLM",
    "gausscse-minilm": "GaussCSE MiniLM (direction)",
    "arcf-minilm": "ARCF MiniLM (chains)",
    "dpr-minilm": "DPR MiniLM",
    "dpr-minilm-tuned": "DPR MiniLM tuned",
    "nli-minilm": "NLI MiniLM (judge)",
    "reranker-minilm": "Re-ranker MiniLM",
    "tfidf": "TF-IDF (keywords)",
    "bm25": "BM25 (keywords)",
}
"""Display names of what ships, by name; in brackets an explanation for a list."""

RETRIEVERS: Final[Mapping[str, tuple[str, str]]] = {
    "minilm": (BLUE, "circle"),
    "aeenc-minilm": (VERMILION, "square"),
    "gausscse-minilm": (GREEN, "triangle-up"),
    "arcf-minilm": (PURPLE, "diamond"),
    "tfidf": (GREY, "triangle-down"),
    "bm25": (AMBER, "cross"),
    "dpr-minilm": (SKY, "triangle-left"),
    "dpr-minilm-tuned": (VIOLET, "triangle-right"),
}
"""Colour and shape of the known retrievers, by name."""


_COMMIT = 40


def model_label(name: str) -> str:
    """Return the display name of a model or retriever; others keep the name of their folder or on the Hub.

    >>> model_label("minilm+bm25")
    'MiniLM (meaning) + keywords'
    >>> model_label("mine"), model_label("org/model@0123456789012345678901234567890123456789")
    ('mine', 'org/model@0123456')
    """
    if name.endswith(SHARED_WORDS):
        return f"{model_label(name.removesuffix(SHARED_WORDS))} + keywords"
    hub_id, _, commit = name.partition("@")
    if "/" in hub_id and len(commit) == _COMMIT:
        return f"{hub_id}@{commit[:7]}"
    return LABELS.get(name, name)


def model_name(name: str) -> str:
    """Return the display name without the explanation in brackets, for a sentence.

    >>> model_name("minilm+bm25")
    'MiniLM + keywords'
    """
    name_only = model_label(name.removesuffix(SHARED_WORDS)).partition(" (")[0]
    return f"{name_only} + keywords" if name.endswith(SHARED_WORDS) else name_only


def retriever_marks(names: Sequence[str]) -> tuple[Mark, ...]:
    """Return the marks of the retrievers of one chart, named as on the screen.

    With keyword match or a re-ranker, an encoder keeps its colour and is dashed. Other retrievers take the
    colours that are left over in the chart.
    """
    bases = {name.partition("+")[0] for name in names}
    free = [style for name, style in RETRIEVERS.items() if name not in bases] or [*RETRIEVERS.values()]
    styles = {name: free[at % len(free)] for at, name in enumerate(sorted(bases - set(RETRIEVERS)))}
    styles.update(RETRIEVERS)
    marks = []
    for name in names:
        base, _, more = name.partition("+")
        colour, shape = styles[base]
        marks.append(Mark(model_name(name), colour, shape, (6, 4) if more else ()))
    return tuple(marks)
