"""Author effort: candidates read for each premise that is accepted.

A simulated author builds each gold tree with a retriever at hand and knows the tree (the oracle). The rules:

1. The author walks the tree depth-first from the hypothesis, children in the order of the proof, and opens
   every node that has children in the gold tree, each sentence once.
2. An opened node's text (folded) is the query. The candidates are the corpus in rank order, without
   those that are already in the tree, the node's own text and its ancestors' among them.
3. Candidates are read one after another; each that is a gold child is accepted and is in the tree
   from then on. The node is done at its last gold child, or after `limit` (100) candidates when one is
   missing, or when the corpus has no more.
4. A gold child whose text is already in the tree (a sentence used twice, a child with its parent's words)
   is linked: it counts as neither accepted nor missing.
5. A gold child that was not found is missing. A missing intermediate conclusion is written by hand, is in
   the tree from then on and is opened all the same. A missing premise (leaf) stays out of the tree and
   may still be found below another parent.

Figures are total reads / total accepted over all trees, and missing / (accepted + missing).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from entail.data.records import HYPOTHESIS, Corpus, ExplanationTree
from entail.data.text import fold
from entail.errors import DataError, RetrievalError
from entail.evaluation.retrieval.premises import require_same_corpus
from entail.index.protocol import Floats, PremiseIndex
from entail.index.ranking import scores_of, top_k
from entail.progress import Meter, ProgressCallback

DEFAULT_LIMIT = 100
"""Candidates after which the author gives a node up."""


@dataclass(frozen=True, slots=True)
class Effort:
    """Effort to build trees, in terms of the rules of this module; efforts can be added."""

    reads: int
    accepted: int
    missing: int
    linked: int
    nodes: int
    limit: int = DEFAULT_LIMIT

    @property
    def reads_per_accepted(self) -> float | None:
        """Candidates read for each accepted premise, None if nothing was accepted."""
        return self.reads / self.accepted if self.accepted else None

    @property
    def missing_share(self) -> float:
        """Share of the gold children looked for that were never found."""
        looked_for = self.accepted + self.missing
        return self.missing / looked_for if looked_for else 0.0

    def __add__(self, other: Effort) -> Effort:
        sums = {name: count + getattr(other, name) for name, count in asdict(self).items()}
        return Effort(**sums | {"limit": self.limit})

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        ratios = {"reads_per_accepted": self.reads_per_accepted, "missing_share": self.missing_share}
        return ratios | asdict(self)


def measure_effort(
    corpus: Corpus,
    trees: Sequence[ExplanationTree],
    index: PremiseIndex,
    *,
    limit: int = DEFAULT_LIMIT,
    scores: Callable[[Sequence[str]], Floats] | None = None,
    progress: ProgressCallback | None = None,
) -> Effort:
    """Let the simulated author build every tree, and sum up the effort.

    Nodes, as folded texts, are scored by `scores`, by default `scores_of` the index.

    Raises:
        ManifestMismatchError: If the index was made from another corpus.
        RetrievalError: If `limit` is below 1.
        DataError: If no tree has a proof.
    """
    if limit < 1:
        raise RetrievalError(f"an author reads at least 1 candidate a node, found a limit of {limit}")
    require_same_corpus(corpus, index)
    if not any(tree.pairs for tree in trees):
        raise DataError("no tree has a proof, so there is nothing to build")
    total = Effort(0, 0, 0, 0, 0, limit)
    meter = Meter(len(trees), f"searching with {index.name}", unit="trees", report=progress)
    for tree in trees:
        opened = list(_walk(tree))
        rows = (scores or partial(scores_of, index))([fold(tree.text(sentence)) for sentence, _ in opened])
        total += _author(corpus, tree, opened, rows, limit)
        meter.add(1)
    return total


def _author(
    corpus: Corpus,
    tree: ExplanationTree,
    opened: Sequence[tuple[str, tuple[str, ...]]],
    scores: Floats,
    limit: int,
) -> Effort:
    """Let the simulated author build one tree by the scores of its opened nodes."""
    reads = accepted = missing = linked = 0
    in_tree = {fold(tree.hypothesis)}
    for (_, children), row in zip(opened, scores, strict=True):
        texts = {fold(tree.text(child)) for child in children}
        looked_for = texts - in_tree
        linked += len(texts) - len(looked_for)
        count = 0
        # Those in the tree are passed over: so many more may be needed.
        for position in top_k(row[None], limit + len(in_tree)).positions[0].tolist():
            if not looked_for or count == limit or row[position] == -np.inf:
                break
            text = corpus.premises[position].folded
            if text not in in_tree:
                count += 1
            if text in looked_for:
                looked_for.remove(text)
                in_tree.add(text)
                accepted += 1
        reads += count
        missing += len(looked_for)
        in_tree.update(fold(tree.text(child)) for child in children if child not in tree.sentences)
    return Effort(reads, accepted, missing, linked, len(opened), limit)


def _walk(tree: ExplanationTree) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the sentences with children, and these, in the order in which the author opens them."""
    opened: set[str] = set()
    waiting = [HYPOTHESIS]
    while waiting:
        sentence = waiting.pop()
        children = tree.children(sentence)
        if children and sentence not in opened:
            opened.add(sentence)
            waiting.extend(reversed(children))
            yield sentence, children
