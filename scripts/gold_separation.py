"""Separation of gold premises from hardest negatives, by the scores of several measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.encoders.gaussian.distributions import Gaussians, similarity
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.errors import EvaluationError
from entail.gausscse.calibration import logits
from entail.index.gaussian import GaussianRows
from entail.index.protocol import Ints, PremiseIndex
from entail.index.vectors import QueryVectors
from entail.progress import ProgressCallback
from entail.statistics.classification import Booleans, Values, auprc
from entail.statistics.ranking import resamples

GAUSSIAN, MARGIN, MEANS = "Gaussian similarity", "margin", "cosine of the means"
"""Scores of a premise by a Gaussian encoder: sim(sentence || premise), margin, cosine of the means."""

BATCH = 32
"""Samples of a bootstrap per batch."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of sentences and their gold premises or hardest negatives: arrays of shape (pairs,)."""

    sentences: tuple[str, ...]
    queries: Ints
    positions: Ints
    gold: Booleans

    def __len__(self) -> int:
        return len(self.queries)


def hardest_pairs(
    corpus: Corpus,
    trees: Iterable[ExplanationTree],
    index: PremiseIndex,
    *,
    k: int,
    progress: ProgressCallback | None = None,
) -> Pairs:
    """Return every sentence of the trees with its gold premises and the k nearest others of the corpus.

    Sentences without a gold premise in the corpus are left out; a sentence is no negative of its own.
    """
    gold_positions = {
        parent: {position for child in children if (position := corpus.position(child)) is not None}
        for parent, children in gold_children(trees).items()
    }
    gold_positions = {parent: targets for parent, targets in gold_positions.items() if targets}
    if not gold_positions or k < 1:
        raise EvaluationError(
            f"expected gold premises that are in {corpus.name!r} and at least 1 negative each, found "
            f"{len(gold_positions)} sentences with some and k = {k}"
        )
    sentences = tuple(gold_positions)
    most = max(len(targets) for targets in gold_positions.values())
    hits = index.search(sentences, k=min(k + most + 1, len(corpus)))
    queries: list[int] = []
    positions: list[int] = []
    gold: list[bool] = []
    for query, (sentence, targets) in enumerate(gold_positions.items()):
        own = corpus.position(sentence)
        negatives = [p for p in hits.positions[query].tolist() if p not in targets and p != own][:k]
        positions += [*sorted(targets), *negatives]
        gold += [True] * len(targets) + [False] * len(negatives)
        queries += [query] * (len(targets) + len(negatives))
    return Pairs(sentences, np.array(queries), np.array(positions), np.array(gold))


@dataclass(frozen=True, eq=False)
class Separation:
    """Separation of gold premises from hardest negatives by the scores of several measures."""

    pairs: Pairs
    scores: Mapping[str, Values]

    @cached_property
    def auprc(self) -> Mapping[str, float]:
        """Measure -> area under precision over recall, over all pairs together."""
        return {name: float(auprc(values, self.pairs.gold) or 0) for name, values in self.scores.items()}

    def differences(
        self, first: str, *, samples: int = 1000, seed: int = 0, level: float = 0.95
    ) -> dict[str, tuple[float, float]]:
        """Return measure -> interval of its AUPRC less that of the first: a bootstrap over sentences."""
        batches: dict[str, list[Values]] = {name: [] for name in self.scores}
        ranked = {name: self._ranked(values) for name, values in self.scores.items()}
        for counts in resamples(len(self.pairs.sentences), samples=samples, seed=seed):
            for start in range(0, len(counts), BATCH):
                for name, (order, ends) in ranked.items():
                    batches[name].append(self._areas(counts[start : start + BATCH], order, ends))
        areas = {name: np.concatenate(parts) for name, parts in batches.items()}
        edges = [(1 - level) / 2, (1 + level) / 2]
        intervals = {
            name: np.quantile(values - areas[first], edges).tolist()
            for name, values in areas.items()
            if name != first
        }
        return {name: (low, high) for name, (low, high) in intervals.items()}

    def _ranked(self, values: Values) -> tuple[Ints, Ints]:
        """Return the pairs by falling score, and where in that order groups of equal scores end."""
        order = np.argsort(-values, kind="stable")
        return order, np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)

    def _areas(self, counts: Values, order: Ints, ends: Ints) -> Values:
        """Return the AUPRC of samples in which sentences are drawn so often, shape (samples,)."""
        weights = counts[:, self.pairs.queries[order]]  # (samples, pairs)
        called = weights.cumsum(axis=1)[:, ends]
        hits = (weights * self.pairs.gold[order]).cumsum(axis=1)[:, ends]
        precision = np.divide(hits, called, out=np.zeros_like(hits), where=called > 0)
        areas: Values = (np.diff(hits, axis=1, prepend=0) * precision).sum(axis=1) / hits[:, -1]
        return areas

    def to_json(self, *, first: str) -> dict[str, Any]:
        """Return the figures, of JSON's types: every measure beside the first."""
        pairs = self.pairs
        return {
            "sentences": len(pairs.sentences),
            "pairs": len(pairs),
            "gold": int(pairs.gold.sum()),
            "chance": float(pairs.gold.mean()),
            "auprc": dict(self.auprc),
            "difference": {name: list(ends) for name, ends in self.differences(first).items()},
        }


def separation(
    corpus: Corpus,
    pairs: Pairs,
    encoder: GaussianEncoder,
    beside: Mapping[str, PremiseIndex],
    *,
    vectors: QueryVectors | None = None,
    progress: ProgressCallback | None = None,
) -> Separation:
    """Score pairs by an encoder of Gaussians and by other retrievers of the corpus.

    The first of `beside` is also added to the Gaussian similarity, both in standard deviations.
    """
    scores: dict[str, Values] = {}
    for name, index in beside.items():
        scores[name] = np.empty(len(pairs))
        for query, sentence in enumerate(pairs.sentences):
            rows = pairs.queries == query
            scores[name][rows] = index.scores([sentence])[0, pairs.positions[rows]]
    positions, columns = np.unique(pairs.positions, return_inverse=True)
    vectors = QueryVectors(GaussianRows(encoder)) if vectors is None else vectors
    texts = [corpus.texts[position] for position in positions]
    premises = Gaussians.of(vectors.encode(texts, progress=progress))[columns]
    sentences = Gaussians.of(vectors.encode(pairs.sentences, progress=progress))[pairs.queries]
    forward = similarity(sentences, premises, kind=encoder.kind)
    backward = similarity(premises, sentences, kind=encoder.kind)
    lengths = np.linalg.norm(sentences.mean, axis=1) * np.linalg.norm(premises.mean, axis=1)
    inner = np.einsum("ij,ij->i", sentences.mean, premises.mean, dtype=np.float64)
    first = next(iter(beside))
    scores |= {
        GAUSSIAN: forward,
        MARGIN: logits(forward) - logits(backward),
        MEANS: inner / np.maximum(lengths, 1e-12),
        f"{first} and {GAUSSIAN}": _standard(scores[first]) + _standard(logits(forward)),
    }
    return Separation(pairs, scores)


def _standard(values: Values) -> Values:
    scores: Values = (values - values.mean()) / (float(values.std()) or 1.0)
    return scores
