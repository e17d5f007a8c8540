"""Marks of retrievers: the same retriever has the same colour, shape and dash in every chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

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
from entail.ui.shared.resources import retriever_name

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
        marks.append(Mark(retriever_name(name), colour, shape, (6, 4) if more else ()))
    return tuple(marks)
