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

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from entail.data.records import HYPOTHESIS, Corpus, ExplanationTree
from entail.data.text import fold
from entail.errors import DataError, RetrievalError
from entail.evaluation.retrieval.premises import require_same_corpus, score_batches
from entail.index.protocol import Floats, PremiseIndex
from entail.progress import ProgressCallback
from entail.statistics.ranking import NOT_THERE, Positions, ranks_of

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
    ranks: Mapping[str, Mapping[int, float]] | None = None,
    progress: ProgressCallback | None = None,
) -> Effort:
    """Let the simulated author build every tree, and sum up the effort.

    All nodes are scored first, unless `ranks` has those of `rank_sentences`; the walk only looks ranks up.

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
    if ranks is None:
        positions = sentence_positions(corpus, trees)
        queries = tuple(positions)
        batches = score_batches(index, queries, description=f"searching with {index.name}", progress=progress)
        ranked = [rank_sentences(positions, queries[batch], scores) for batch, scores in batches]
        ranks = {node: row for part in ranked for node, row in part.items()}
    efforts = (author_effort(corpus, tree, ranks, limit=limit) for tree in trees)
    return sum(efforts, Effort(0, 0, 0, 0, 0, limit))


def sentence_positions(corpus: Corpus, trees: Iterable[ExplanationTree]) -> dict[str, Positions]:
    """Return node -> positions of its children and of all that may be in a tree before it is opened.

    Nodes are folded texts of parents; a text outside the corpus has the position `NOT_THERE`.
    """
    positions: dict[str, dict[int, None]] = {}
    for tree in trees:
        located = locate_texts(corpus, tree)
        in_tree = {located[fold(tree.hypothesis)]: None}
        for parent, _ in tree.pairs:
            positions.setdefault(fold(parent), {}).update(in_tree)
        for sentence, children in walk_sentences(tree):
            in_tree |= dict.fromkeys(located[fold(tree.text(child))] for child in children)
            positions[fold(tree.text(sentence))].update(in_tree)
    return {parent: np.array(list(nodes), dtype=np.int64) for parent, nodes in positions.items()}


def rank_sentences(
    node_positions: Mapping[str, Positions], nodes: Sequence[str], scores: Floats
) -> dict[str, Mapping[int, float]]:
    """Return node -> position -> rank of `sentence_positions`, by scores of shape (nodes, premises)."""
    positions = [node_positions[node].tolist() for node in nodes]
    ranks = ranks_of(scores, positions)
    parts = np.split(ranks.ranks, ranks.offsets[1:-1])
    return {
        node: dict(zip(row, part.tolist(), strict=True))
        for node, row, part in zip(nodes, positions, parts, strict=True)
    }


def author_effort(
    corpus: Corpus,
    tree: ExplanationTree,
    ranks: Mapping[str, Mapping[int, float]],
    *,
    limit: int = DEFAULT_LIMIT,
) -> Effort:
    """Let the simulated author build one tree.

    The reads until a child are its rank in the whole corpus (`rank_sentences`), less those before it that are
    in the tree. Without a proof the effort is zero.
    """
    reads = accepted = missing = linked = nodes = 0
    located = locate_texts(corpus, tree)
    in_tree = {fold(tree.hypothesis)}
    for sentence, children in walk_sentences(tree):
        nodes += 1
        texts = dict.fromkeys(fold(tree.text(child)) for child in children)
        targets = [text for text in texts if text not in in_tree]
        linked += len(texts) - len(targets)
        ranking = ranks[fold(tree.text(sentence))]
        tree_ranks = sorted(ranking[located[text]] for text in in_tree if located[text] != NOT_THERE)
        target_ranks = {text: ranking[located[text]] for text in targets}
        until = {text: rank - bisect_left(tree_ranks, rank) for text, rank in target_ranks.items()}
        hits = {text: int(count) for text, count in until.items() if count <= limit}
        offered = min(limit, len(corpus) - len(tree_ranks))
        reads += max(hits.values(), default=0) if len(hits) == len(targets) else offered
        accepted += len(hits)
        missing += len(targets) - len(hits)
        in_tree.update(hits)
        in_tree.update(fold(tree.text(child)) for child in children if child not in tree.sentences)
    return Effort(reads, accepted, missing, linked, nodes, limit)


def walk_sentences(tree: ExplanationTree) -> Iterator[tuple[str, tuple[str, ...]]]:
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


def locate_texts(corpus: Corpus, tree: ExplanationTree) -> dict[str, int]:
    """Return folded text of each sentence of a tree -> where it stands in the corpus, or `NOT_THERE`."""
    texts = dict.fromkeys(fold(tree.text(s)) for s in (HYPOTHESIS, *tree.intermediates, *tree.leaves))
    positions = {text: corpus.position(text) for text in texts}
    return {text: NOT_THERE if position is None else position for text, position in positions.items()}
