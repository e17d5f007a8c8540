"""Retrievers that are told what to rank first, and trees of texts."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from entail.data.records import HYPOTHESIS, Corpus, ExplanationTree, Step
from entail.index.protocol import Floats, Hits, Manifest


class ListedIndex:
    """A retriever told what to rank first: for each query some texts, the rest by position behind them."""

    def __init__(self, corpus: Corpus, first: Mapping[str, Sequence[str]], *, name: str = "listed") -> None:
        self.name, self.corpus, self.first = name, corpus, first
        self.manifest = Manifest(f"{name}@1", 0, "listed", len(corpus), corpus.hash)
        self.batches: list[int] = []

    def scores(self, queries: Sequence[str]) -> Floats:
        self.batches.append(len(queries))
        scores = np.zeros((len(queries), len(self.corpus)), dtype=np.float32)
        for row, query in zip(scores, queries, strict=True):
            for rank, text in enumerate(self.first.get(query, ())):
                row[self.corpus.position(text)] = 1000 - rank
        return scores

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        scores = self.scores(queries)
        positions = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return Hits(positions, np.take_along_axis(scores, positions, axis=1))


def make_tree(
    hypothesis: str, steps: Sequence[tuple[Sequence[str], str]], *, distractors: Sequence[str] = ()
) -> ExplanationTree:
    """Make a tree of (premise texts, conclusion text) steps; what no step concludes is a leaf."""
    inner = [conclusion for _, conclusion in steps if conclusion != hypothesis]
    ids = {hypothesis: HYPOTHESIS} | {text: f"int{i}" for i, text in enumerate(inner, start=1)}
    leaves = dict.fromkeys(p for premises, _ in steps for p in premises if p not in ids)
    ids |= {text: f"sent{i}" for i, text in enumerate([*leaves, *distractors], start=1)}
    return ExplanationTree(
        id="tree",
        hypothesis=hypothesis,
        sentences={name: text for text, name in ids.items() if name.startswith("sent")},
        intermediates={name: text for text, name in ids.items() if name.startswith("int")},
        steps=tuple(Step(tuple(ids[p] for p in premises), ids[c]) for premises, c in steps),
        distractors=tuple(ids[text] for text in distractors),
    )


FACTS = Corpus.of("facts", [*(f"f{i}" for i in range(150)), "h", "mid", "a", "b", "c"])
"""f0 ... f149, and the texts of the nodes of `SOLAR` between them."""

SOLAR = make_tree("h", [(["b", "c"], "mid"), (["a", "mid"], "h")])
"""h <- a & mid; mid <- b & c."""


@pytest.fixture
def list_first(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Give a function that lets every corpus be a large one, of which so many premises are listed."""

    def change(listed: int) -> None:
        for module in ("index.ranking", "evaluation.retrieval.premises", "evaluation.retrieval.comparison"):
            monkeypatch.setattr(f"entail.{module}.ALL_SCORED", 1)
            monkeypatch.setattr(f"entail.{module}.LISTED", listed)
        monkeypatch.setattr("entail.evaluation.retrieval.split_comparison.ALL_SCORED", 1)

    return change
