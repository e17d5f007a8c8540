r"""Training of a re-ranker as a task of the training loop: lists of premises, softmax loss, MAP.

For a query with positives P and sampled negatives N the loss is

.. math:: L = -\frac{1}{|P|} \sum_{p \in P} \log \frac{e^{r(q, p)}}{e^{r(q, p)} + \sum_{n \in N} e^{r(q, n)}}

A constant added to all scores of a query changes nothing, so that scores of two queries do not compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from entail.aeenc.reranking.config import RerankerConfig
from entail.aeenc.reranking.lists import QueryList, RankedList
from entail.data.records import Corpus
from entail.encoders.cross.pairs import Pair, cut_pairs
from entail.index.protocol import Floats, Ints
from entail.index.reranked import combine
from entail.training.adapters.cross_tower import CrossTower
from entail.training.loop.batches import BatchTask

if TYPE_CHECKING:
    from torch import Tensor


class RerankTask(BatchTask):
    """Task of a re-ranker."""

    def __init__(
        self,
        config: RerankerConfig,
        corpus: Corpus,
        lists: Sequence[QueryList],
        tower: CrossTower,
        *,
        dev: Sequence[RankedList] = (),
    ) -> None:
        self.config, self.corpus, self.lists, self.tower, self.dev = config, corpus, lists, tower, dev
        super().__init__(config, [len(ids) for ids in tower.tokenize([one.query for one in lists])])

    def sample(self, at: int) -> Ints:
        """Return the negatives of a list in the current epoch, the same for the same seed."""
        some = self.lists[at].negatives
        draw = np.random.default_rng((self.config.seed, self._epoch, at))
        drawn: Ints = draw.choice(some, size=min(self.config.negatives, len(some)), replace=False)
        return drawn

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the mean loss of some lists, and the share whose positives all lead."""
        import torch

        queries: list[str] = []
        positions: list[int] = []
        sizes = []
        for at in batch.tolist():
            one, negatives = self.lists[at], self.sample(at)
            positions += [*one.positives.tolist(), *negatives.tolist()]
            queries += [one.query] * (len(one.positives) + len(negatives))
            sizes.append((len(one.positives), len(negatives)))
        outputs = self.tower.outputs(self._pairs(queries, positions))[:, 0]  # (premises of all lists,)
        losses, leading, start = [], 0, 0
        for count, others in sizes:
            positive = outputs[start : start + count]
            negative = outputs[start + count : start + count + others]
            losses.append(list_loss(positive, negative))
            leading += bool(positive.detach().min() > negative.detach().max())
            start += count + others
        return torch.stack(losses).mean(), {"all lead": leading / len(sizes)}

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Evaluate the current weights by the MAP of the dev lists, beside the retriever's score."""
        if not self.dev:
            return None
        scores = self.read(self.dev)
        weight = self.config.weight
        both = [combine(a.scores, b, weight=weight) for a, b in zip(self.dev, scores, strict=True)]
        figures = {
            "MAP": mean_precision(self.dev, both),
            "MAP by the re-ranker alone": mean_precision(self.dev, scores),
            "MAP by the retriever": mean_precision(self.dev, [one.scores for one in self.dev]),
        }
        return figures["MAP"], figures

    def read(self, lists: Sequence[RankedList]) -> list[Floats]:
        """Return the scores of the premises of each list."""
        return [
            self.tower.values(self._pairs([one.query] * len(one.positions), one.positions.tolist()))[:, 0]
            for one in lists
        ]

    def _pairs(self, queries: Sequence[str], positions: Sequence[int]) -> list[Pair]:
        texts = [self.corpus.texts[place] for place in positions]
        tower = self.tower
        return cut_pairs(tower.tokenize, tower.frame, texts, queries, max_length=tower.max_length)[0]


def list_loss(positives: Tensor, negatives: Tensor) -> Tensor:
    """Return L of one list from its scores: positives (p,), negatives (n,).

    >>> import torch
    >>> round(list_loss(torch.tensor([0.0]), torch.tensor([0.0])).item(), 4)
    0.6931
    """
    import torch

    others = torch.logsumexp(negatives, dim=0)
    return torch.nn.functional.softplus(others - positives).mean()


def mean_precision(lists: Sequence[RankedList], scores: Sequence[Floats]) -> float:
    """Return the mean average precision of lists in the order of some scores."""
    return float(np.mean([one.average_precision(s) for one, s in zip(lists, scores, strict=True)]))
