"""Adapter of author effort: candidates that a simulated author reads for each premise accepted.

A model is a retriever of the catalogue; `NAME>RERANKER` re-ranks its first candidates. Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from entail.data.records import gold_children
from entail.encoders.cross.reranker import Reranker
from entail.evaluation.retrieval.effort import measure_effort
from entail.index.factory import rerank, retriever
from lab.adapters import Measures
from lab.data import DataFolder

_NOTHING = 1e-6
"""Weight of a tree without an accepted premise: what was read for it still counts."""


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure the candidates read per accepted premise over all trees, and over unseen ones.

    A tree is unseen if no tree of `train` has one of its conclusions.
    """
    corpus, trained = data.corpus(sets["corpus"]), gold_children(data.trees(sets["train"]))
    name, _, reranker = model.partition(">")
    index = retriever(name, corpus, cache_dir=cache / "vectors")
    if reranker:
        index = rerank(index, corpus, Reranker(reranker))
    trees = [tree for tree in data.trees(sets["trees"]) if tree.pairs]
    efforts = [measure_effort(corpus, [tree], index) for tree in trees]
    accepted = np.array([effort.accepted or _NOTHING for effort in efforts])
    values = np.array([effort.reads for effort in efforts]) / accepted
    unseen = np.array([not gold_children([tree]).keys() & trained.keys() for tree in trees])
    return {"reads": (values, accepted), "reads, unseen": (values, accepted * unseen)}
