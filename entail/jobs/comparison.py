"""Comparison of a trained model with the active one, on queries that neither was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from entail.aeenc.method import evaluate
from entail.aeenc.source import TrainingData
from entail.data.records import Corpus, ExplanationTree
from entail.encoders.catalogue import seen_by
from entail.errors import JobError
from entail.evaluation.retrieval.paired import PairedComparison, QueryFigures, compare_paired
from entail.progress import ProgressCallback
from entail.registry import active
from entail.training.method import Method


def active_counterpart(method: Method, corpus: str | None = None) -> str | None:
    """Return the active model of a method's role; None where there is none.

    Args:
        method: The method.
        corpus: Name of the corpus, for a method whose models rank; None for the default.
    """
    return active(corpus, role=method.role).encoder or None


def compare_on(
    encoder: str | Path,
    premises: Corpus,
    trees: Sequence[ExplanationTree],
    *,
    corpus: str | None = None,
    progress: ProgressCallback | None = None,
) -> PairedComparison:
    """Compare any encoder with the active one: ranks of the children of every parent of some trees.

    Args:
        encoder: Name or folder.
        premises: Premises to rank.
        trees: Gold trees.
        corpus: Name of the corpus whose active encoder to compare with; None for the default.
        progress: Callback for progress.

    Raises:
        EntailError: If an encoder cannot be loaded, or no tree has a proof.
    """
    data = TrainingData(premises, premises, (), None, tuple(trees))
    measured = evaluate(encoder, data, progress)
    now = active(corpus).encoder
    present = evaluate(now, data, progress)
    if measured is None or present is None:
        raise JobError("expected trees to compare encoders on, found none")
    return compare_on_unseen(present, measured, names=(now, str(encoder)))


def compare_on_unseen(
    present: QueryFigures, candidate: QueryFigures, *, names: tuple[str, str]
) -> PairedComparison:
    """Compare two models on the queries that neither was trained on.

    If that leaves none, all queries are compared and `PairedComparison.seen` is set.

    Args:
        present: Figures of the active model.
        candidate: Figures of the other one.
        names: Names or folders of the two.

    Raises:
        RetrievalError: If the two were not measured on the same queries.
    """
    seen = frozenset().union(*(seen_by(name, candidate.queries) for name in names))
    if not seen:
        return compare_paired(present, candidate)
    if len(seen) == len(candidate.queries):
        return replace(compare_paired(present, candidate), seen=len(seen))
    found = compare_paired(present.without(seen), candidate.without(seen))
    return replace(
        found, split=f"{found.split}, without the {len(seen):,} claims that one of the two was trained on"
    )
