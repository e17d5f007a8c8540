"""Training task of AE-Enc: a batch of queries, their candidate premises, labels, loss terms.

With `single` the premise tower is frozen: premise vectors are constants, a step encodes only queries, and all
their positives and hard negatives are candidates. With `siamese` and `dual` a step also encodes premises,
at most `premises_per_step`. All texts are folded, as in an index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.aeenc import losses
from entail.aeenc.config import AeencConfig
from entail.aeenc.pairs import TrainingPairs, sort_positions
from entail.aeenc.sampling import Sample
from entail.data.judgements import Judgements
from entail.data.records import Corpus
from entail.errors import TrainingError
from entail.index.protocol import Floats, Ints
from entail.training.adapters.tower import Tower
from entail.training.loop.batches import BatchTask

if TYPE_CHECKING:
    from torch import Tensor

Evaluate = Callable[[], tuple[float, Mapping[str, float]] | None]


class AeencTask(BatchTask):
    """Task of AE-Enc.

    Pairs are those of the first round; ACS with the current weights (`resample`) adds to them. The tower
    `premises` is that of queries for siamese, another one for dual, None for single. `base_premises` and
    `base_queries` give unit vectors at the start.
    """

    def __init__(
        self,
        config: AeencConfig,
        corpus: Corpus,
        pairs: TrainingPairs,
        judgements: Judgements,
        *,
        queries: Tower,
        premises: Tower | None,
        base_premises: Floats,
        base_queries: Callable[[Sequence[str]], Floats],
        resample: Callable[[], Sample],
        evaluate: Evaluate,
    ) -> None:
        import torch

        super().__init__(config, ())
        self.config, self.corpus, self.judgements = config, corpus, judgements
        self.queries, self.premises = queries, premises
        self.resample, self.evaluate, self._base_queries = resample, evaluate, base_queries
        self.base_premises = torch.from_numpy(base_premises).to(queries.device)
        self._texts = [premise.folded for premise in corpus.premises]
        self._equals: dict[str, list[str]] = defaultdict(list)
        for text in self._texts:
            self._equals[text.casefold()].append(text)
        self._round = -1
        self.samples: list[Mapping[str, int]] = []
        self._set_pairs(pairs)

    def _set_pairs(self, pairs: TrainingPairs) -> None:
        import torch

        self.pairs = pairs
        self._lengths = self.queries.lengths(pairs.queries)
        self._base: Tensor | None = None
        if self.config.alpha:
            self._base = torch.from_numpy(self._base_queries(pairs.queries)).to(self.queries.device)
        self._spared = [self._positions(self._never_negative(query)) for query in pairs.queries]
        self._weights = [self._weights_of(*row) for row in zip(pairs.queries, pairs.positives, strict=True)]
        self._rejected = [self._positions(self.judgements.rejected.get(q, ())) for q in pairs.queries]

    def _never_negative(self, query: str) -> Iterator[str]:
        """Yield texts that are no negatives of a query: what explains it or may, and what equals these."""
        accepted = self.judgements.accepted.get(query, ())
        yield from accepted
        yield from (premise for of, premise in self.judgements.contradictions if of == query)
        if self.config.spare_equals and self.judgements.closed:
            for text in (query, *accepted):
                yield from self._equals.get(text.casefold(), ())

    def _weights_of(self, query: str, positives: Ints) -> Tensor:
        import torch

        weights = self.judgements.weights.get(query, {})
        return torch.tensor([weights.get(self._texts[at], 1.0) for at in positives.tolist()])

    def _positions(self, texts: Iterable[str]) -> Ints:
        return sort_positions({p for text in texts if (p := self.corpus.position(text)) is not None})

    def begin_epoch(self, epoch: int) -> None:
        """Sample at the start of a round; pairs accumulate.

        Raises:
            TrainingError: If no query has both a positive and a negative, and none will follow.
        """
        self._epoch = epoch
        current = epoch // self.config.epochs
        if self.config.rounds and current != self._round:
            acs = self.resample()
            self._round = current
            self.samples.append(acs.counts)
            self._set_pairs(self.pairs.join(acs.pairs))
        require_both_classes(self.pairs, self.config, closed=self.judgements.closed, sampled=True)

    def loss(self, batch: Ints) -> tuple[Tensor, dict[str, float]]:
        """Return the loss of some queries, regularised by eq. 2, and its terms."""
        import torch

        vectors = self.queries.vectors([self.pairs.queries[i] for i in batch])  # (queries, d)
        columns, labels = self._candidates(batch, vectors.detach())
        if self.premises is None:
            premises = self.base_premises[columns]
        else:
            premises = self.premises.vectors([self._texts[i] for i in columns.tolist()])
        loss = losses.LOSSES[self.config.loss]
        total, active = loss(vectors @ premises.T, labels, self.config)  # cosines: (queries, premises)
        terms = {self.config.loss: float(total.detach()), "active": float(active)}
        if self._base is not None:
            drift = losses.drift(vectors, self._base[torch.from_numpy(batch).to(vectors.device)])
            if self.premises is not None:
                base = self.base_premises[columns]
                # Footnote 2 of the paper: one mean over query and premise where pairs are contrasted.
                is_contrastive = self.config.loss == "contrastive"
                for mask in (labels != 0,) if is_contrastive else (labels > 0, labels < 0):
                    side = mask.any(dim=0)
                    if side.any():
                        drift = drift + losses.drift(premises[side], base[side])
            total = total + self.config.alpha * drift
            terms["drift"] = float(drift.detach())
        return total, terms

    def state(self) -> dict[str, Any]:
        """Return results of earlier weights: pairs and reports."""
        return {
            "epoch": self._epoch,
            "round": self._round,
            "pairs": self.pairs.to_json(),
            "samples": self.samples,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self._epoch, self._round = state["epoch"], state["round"]
        self.samples = list(state["samples"])
        self._set_pairs(TrainingPairs.from_json(state["pairs"]))

    def _candidates(self, batch: Ints, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Return the positions of the candidates of a step, and labels of shape (queries, candidates)."""
        import torch

        dtype = torch.float32 if self.judgements.weights else torch.int8
        labels = torch.zeros((len(batch), len(self.corpus)), dtype=dtype)
        for row, i in enumerate(batch):
            labels[row, self.pairs.negatives[i]] = -1
        labels = labels.to(vectors.device)
        if self.config.live_k:
            self._add_live(batch, vectors, labels)
        for row, i in enumerate(batch):
            labels[row, self._spared[i]] = 0  # a child is never a negative, even if it is in no pair
            labels[row, self.pairs.positives[i]] = self._weights[i].to(labels)
        columns = (labels != 0).any(dim=0).nonzero()[:, 0]
        if self.premises is not None:
            columns = self._draw(labels, columns, seed=int(batch[0]))
        return columns, labels[:, columns]

    def _add_live(self, batch: Ints, vectors: Tensor, labels: Tensor) -> None:
        """Label the nearest premises under the current weights that do not explain the query."""
        import torch

        similarities = vectors @ self.base_premises.T
        for row, i in enumerate(batch):
            if self.judgements.closed:
                similarities[row, self._spared[i]] = float("-inf")
            else:
                excluded = torch.ones(len(self.corpus), dtype=torch.bool, device=vectors.device)
                excluded[self._rejected[i]] = False
                similarities[row].masked_fill_(excluded, float("-inf"))
        nearest = similarities.topk(min(self.config.live_k, len(self.corpus)), dim=1)
        marks = torch.where(torch.isfinite(nearest.values), -1, 0).to(labels.dtype)
        labels.copy_(torch.minimum(labels, torch.zeros_like(labels).scatter_(1, nearest.indices, marks)))

    def _draw(self, labels: Tensor, columns: Tensor, *, seed: int) -> Tensor:
        """Draw the premises to encode: positives first, but a quarter of negatives."""
        import torch

        # Depends on seed, epoch and batch alone, so that a resumed training draws the same.
        draw = np.random.default_rng((self.config.seed, 1, self._epoch, seed))
        is_positive = (labels[:, columns] > 0).any(dim=0).cpu().numpy()
        candidates = columns.cpu().numpy()
        positives, negatives = candidates[is_positive], candidates[~is_positive]
        room = self.config.premises_per_step
        count = min(len(negatives), max(room - len(positives), room // 4))
        negatives = draw.permutation(negatives)[:count]
        positives = draw.permutation(positives)[: room - count]
        return torch.from_numpy(np.sort(np.concatenate([positives, negatives]))).to(columns.device)


def require_both_classes(
    pairs: TrainingPairs, config: AeencConfig, *, closed: bool, sampled: bool = False
) -> None:
    """Check that there are positives, and negatives or settings by which some follow.

    None follow where other premises are not rejected (`closed`), or the round was `sampled` already.

    Raises:
        TrainingError: If there is no positive, or no query has a negative and none will follow.
    """
    counts = pairs.counts
    if not counts["positives"]:
        raise TrainingError("expected premises that explain a query, found none; accept some first")
    follow = closed and (config.live_k or (config.rounds and not sampled))
    if counts["triplets"] or follow:
        return
    raise TrainingError(
        f"expected hard negatives, found none with {counts['positives']} positives, and "
        f"{pairs.dropped['without_positive']} rejected for queries of which nothing is accepted; reject some "
        "candidates of the same queries, give trees with distractors (task 2), or sample by ACS (rounds, "
        "live_k)"
    )
