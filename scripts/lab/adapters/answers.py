"""Adapter of answers: a retriever measured by what the packaged reader answers from the passages it finds.

A model is a name of a retriever, or `gold`: the passage of each question, whatever k and wording are.
Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from entail.answering.answers import exact_match, f1
from entail.answering.reader import load_reader
from entail.answering.spans import TextSpan
from entail.answering.squad import MarkedQuestion, read_marked
from entail.claims import existence_claim
from entail.evaluation.passages.retrieval import search_passages
from lab.adapters import Measures
from lab.adapters.dpr import open_store, take_evenly
from lab.data import DataFolder

QUESTIONS = 500
"""Questions of `passages` that are read, evenly from all."""

DEPTHS = (1, 2, 5, 10, 20)
"""Numbers of passages that are read, k."""

Lists = Sequence[Sequence[str]]


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure exact match and F1 of the best answer in the first k passages by question, and by claim."""
    marked = [row for row in read_marked(data.path(sets["passages"])) if row.answers]
    rows: Sequence[MarkedQuestion] = take_evenly(marked, QUESTIONS)
    wordings = {
        "question": [row.question for row in rows],
        "claim": [existence_claim(row.question).text for row in rows],
    }
    lists: dict[str, Lists] = {name: [[row.passage] for row in rows] for name in wordings}
    if model != "gold":
        store = open_store(data, sets, cache)
        search = search_passages(store, model)
        for name, texts in wordings.items():
            positions = search(texts, max(DEPTHS)).tolist()
            lists[name] = [[store[at].whole for at in row if at >= 0] for row in positions]
    unions = [list(dict.fromkeys([*a, *b])) for a, b in zip(*lists.values(), strict=True)]
    spans = load_reader().read([(row.question, union) for row, union in zip(rows, unions, strict=True)])
    by_text = [dict(zip(union, listed, strict=True)) for union, listed in zip(unions, spans, strict=True)]
    measures, weights = {}, np.ones(len(rows))
    for name, ranked in lists.items():
        for k in DEPTHS:
            answers = [_best([of[text] for text in row[:k]]) for of, row in zip(by_text, ranked, strict=True)]
            pairs = [(answer, row.texts) for answer, row in zip(answers, rows, strict=True)]
            for metric, score in (("EM", exact_match), ("F1", f1)):
                measures[f"{metric}@{k}, {name}"] = (np.array([score(*pair) for pair in pairs]), weights)
    return measures


def _best(spans: Sequence[TextSpan | None]) -> str:
    best = max((span for span in spans if span is not None), key=lambda span: span.score, default=None)
    return best.text if best else ""
