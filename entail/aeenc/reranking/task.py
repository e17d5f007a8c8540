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
        super().__init__(
            config, [len(ids) for ids in tower.tokenize([query_list.query for query_list in lists])]
        )

    def sample(self, at: int) -> Ints:
        """Return the negatives of a list in the current epoch, the same for the same seed."""
        negatives = self.lists[at].negatives
        draw = np.random.default_rng((self.config.seed, self._epoch, at))
        sample: Ints = draw.choice(negatives, size=min(self.config.negatives, len(negatives)), replace=False)
        return sample

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the mean loss of some lists, and the share whose positives all lead."""
        import torch

        queries: list[str] = []
        positions: list[int] = []
        sizes = []
        for at in batch.tolist():
            query_list, negatives = self.lists[at], self.sample(at)
            positions += [*query_list.positives.tolist(), *negatives.tolist()]
            queries += [query_list.query] * (len(query_list.positives) + len(negatives))
            sizes.append((len(query_list.positives), len(negatives)))
        outputs = self.tower.outputs(self._pairs(queries, positions))[:, 0]  # (premises of all lists,)
        losses, leading, start = [], 0, 0
        for count, negative_count in sizes:
            positive = outputs[start : start + count]
            negative = outputs[start + count : start + count + negative_count]
            losses.append(list_loss(positive, negative))
            leading += bool(positive.detach().min() > negative.detach().max())
            start += count + negative_count
        return torch.stack(losses).mean(), {"all lead": leading / len(sizes)}

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Evaluate the current weights by the MAP of the dev lists, combined with the retriever's score."""
        if not self.dev:
            return None
        scores = self.read(self.dev)
        weight = self.config.weight
        both = [combine(a.scores, b, weight=weight) for a, b in zip(self.dev, scores, strict=True)]
        figures = {
            "MAP": mean_precision(self.dev, both),
            "MAP by the re-ranker alone": mean_precision(self.dev, scores),
            "MAP by the retriever": mean_precision(
                self.dev, [ranked_list.scores for ranked_list in self.dev]
            ),
        }
        return figures["MAP"], figures

    def read(self, lists: Sequence[RankedList]) -> list[Floats]:
        """Return the scores of the premises of each list."""
        return [
            self.tower.values(
                self._pairs([ranked_list.query] * len(ranked_list.positions), ranked_list.positions.tolist())
            )[:, 0]
            for ranked_list in lists
        ]

    def _pairs(self, queries: Sequence[str], positions: Sequence[int]) -> list[Pair]:
        texts = [self.corpus.texts[position] for position in positions]
        tower = self.tower
        return cut_pairs(tower.tokenize, tower.frame, texts, queries, max_length=tower.max_length)[0]


def list_loss(positives: Tensor, negatives: Tensor) -> Tensor:
    """Return L of one list from its scores: positives (p,), negatives (n,).

    >>> import torch
    >>> round(list_loss(torch.tensor([0.0]), torch.tensor([0.0])).item(), 4)
    0.6931
    """
    import torch

    log_sum = torch.logsumexp(negatives, dim=0)
    return torch.nn.functional.softplus(log_sum - positives).mean()


def mean_precision(lists: Sequence[RankedList], scores: Sequence[Floats]) -> float:
    """Return the mean average precision of lists in the order of some scores."""
    return float(
        np.mean([ranked_list.average_precision(s) for ranked_list, s in zip(lists, scores, strict=True)])
    )
