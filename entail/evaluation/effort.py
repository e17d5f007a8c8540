"""The author's effort: how many candidates are read for each premise that is accepted.

A simulated author builds each gold tree with a retriever at hand and knows the tree by heart (the oracle).
The rules:

1. The author walks the tree depth-first from the hypothesis, children in the order of the proof, and opens
   every node that has children in the gold tree. Each sentence is opened once, also where a proof
   uses it in several steps.
2. An opened node's text (folded) is the query. The candidates are the corpus in rank order, without
   those that are already in the tree; the node's own text and its ancestors' always are. What is not
   offered is neither read nor counted.
3. Candidates are read one after another; each that is a gold child is accepted and is in the tree
   from then on. The node is done at its last gold child, or after `limit` (100) candidates when one is
   missing, or when the corpus has no more.
4. A gold child whose text is already in the tree (a sentence used twice, a child with its parent's words)
   is linked, not looked for: it counts as neither accepted nor missing. If all children of a node are
   such, nothing is read there.
5. A gold child that was not found is missing. A missing intermediate conclusion is written by hand, is in
   the tree from then on and is walked all the same. A missing premise (leaf) stays out of the tree and
   may still be found below another parent.

Measured is total reads / total accepted over all trees, and missing / (accepted + missing), the share that
was never found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entail.data.records import HYPOTHESIS, Corpus, ExplanationTree
from entail.data.text import fold
from entail.errors import DataError, RetrievalError
from entail.evaluation.premises import require_same_corpus
from entail.index.protocol import Ints, PremiseIndex
from entail.progress import Meter, ProgressCallback

DEFAULT_LIMIT = 100
"""Candidates after which the author gives a node up."""

_QUERIES_AT_ONCE = 128


@dataclass(frozen=True, slots=True)
class Effort:
    """What it took to build the trees; sums over nodes, so that efforts can be added.

    Attributes:
        reads: Candidates read.
        accepted: Gold children found and accepted.
        missing: Gold children that were looked for and not found.
        linked: Gold children that were already in the tree.
        nodes: Nodes opened.
        limit: Candidates after which a node was given up.
    """

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
        return Effort(
            self.reads + other.reads,
            self.accepted + other.accepted,
            self.missing + other.missing,
            self.linked + other.linked,
            self.nodes + other.nodes,
            self.limit,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the sums and both figures, of JSON's types."""
        return {
            "reads_per_accepted": self.reads_per_accepted,
            "missing_share": self.missing_share,
            "reads": self.reads,
            "accepted": self.accepted,
            "missing": self.missing,
            "linked": self.linked,
            "nodes": self.nodes,
            "limit": self.limit,
        }


def measure_effort(
    corpus: Corpus,
    trees: Sequence[ExplanationTree],
    index: PremiseIndex,
    *,
    limit: int = DEFAULT_LIMIT,
    rankings: Mapping[str, Ints] | None = None,
    progress: ProgressCallback | None = None,
) -> Effort:
    """Let the simulated author of this module build every tree, and sum up the effort.

    All nodes are searched first, in batches; the walk itself only looks ranks up.

    Args:
        corpus: The candidates.
        trees: Gold trees.
        index: The retriever.
        limit: Candidates after which a node is given up.
        rankings: What the index answers to every node, to `reading_depth`, where it was searched already.
        progress: Told how far the search is.

    Raises:
        ManifestMismatchError: If the index was made from another corpus.
        RetrievalError: If `limit` is below 1.
        DataError: If no tree has a proof.
    """
    if limit < 1:
        raise RetrievalError(f"an author reads at least 1 candidate a node, found a limit of {limit}")
    require_same_corpus(corpus, index)
    queries = list(dict.fromkeys(fold(parent) for tree in trees for parent, _ in tree.pairs))
    if not queries:
        raise DataError("no tree has a proof, so there is nothing to build")

    known = rankings
    if known is None:
        known = dict[str, Ints]()
        depth = reading_depth(trees, limit=limit)
        meter = Meter(len(queries), f"searching with {index.name}", unit="queries", report=progress)
        for start in range(0, len(queries), _QUERIES_AT_ONCE):
            some = queries[start : start + _QUERIES_AT_ONCE]
            known.update(zip(some, index.search(some, k=depth).positions, strict=True))
            meter.add(len(some))

    return sum(
        (author_effort(corpus, tree, known, limit=limit) for tree in trees), Effort(0, 0, 0, 0, 0, limit)
    )


def reading_depth(trees: Iterable[ExplanationTree], *, limit: int = DEFAULT_LIMIT) -> int:
    """Return how many hits a node needs: what is in a tree is skipped, and `limit` are still left."""
    return limit + max((len({fold(tree.text(s)) for s in _sentences(tree)}) for tree in trees), default=0)


def author_effort(
    corpus: Corpus, tree: ExplanationTree, rankings: Mapping[str, Ints], *, limit: int = DEFAULT_LIMIT
) -> Effort:
    """Let the simulated author build one tree.

    Args:
        corpus: The candidates.
        tree: The gold tree; without a proof the effort is zero.
        rankings: Folded text of each node with children -> positions in the corpus, best first; at
            least `limit` more than the tree has sentences, or all there are.
        limit: Candidates after which a node is given up.
    """
    reads = accepted = missing = linked = nodes = 0
    in_tree = {fold(tree.hypothesis)}
    opened: set[str] = set()
    waiting = [HYPOTHESIS]
    while waiting:
        sentence = waiting.pop()
        children = tree.children(sentence)
        if sentence in opened or not children:
            continue
        opened.add(sentence)
        nodes += 1
        waiting.extend(reversed(children))

        texts = dict.fromkeys(fold(tree.text(child)) for child in children)
        wanted = [text for text in texts if text not in in_tree]
        linked += len(texts) - len(wanted)
        taken = [p for text in in_tree if (p := corpus.position(text)) is not None]
        ranking = rankings[fold(tree.text(sentence))]
        offered = ranking[~np.isin(ranking, taken)][:limit]
        found = {text: place for text in wanted if (place := _place(corpus, text, offered))}
        reads += max(found.values(), default=0) if len(found) == len(wanted) else len(offered)
        accepted += len(found)
        missing += len(wanted) - len(found)
        in_tree.update(found)
        in_tree.update(fold(tree.text(child)) for child in children if child not in tree.sentences)
    return Effort(reads, accepted, missing, linked, nodes, limit)


def _place(corpus: Corpus, text: str, offered: Ints) -> int | None:
    """Return how many candidates are read until this text is reached, None if it is not offered."""
    position = corpus.position(text)
    places = np.flatnonzero(offered == position) if position is not None else np.empty(0)
    return int(places[0]) + 1 if places.size else None


def _sentences(tree: ExplanationTree) -> Iterable[str]:
    return (HYPOTHESIS, *tree.intermediates, *tree.leaves)
