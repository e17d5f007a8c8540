"""One step of AE-Enc: a batch of queries, the premises they are compared with, labels, loss terms.

With `single` the premise tower is frozen: premise vectors are constants, a step encodes queries only, and
every positive and every hard negative of a query takes part. With `siamese` and `dual` the premises of a
batch are encoded with their gradient, `premises_per_step` of them.

Texts are folded wherever they are encoded, as an index does with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.aeenc import losses
from entail.aeenc.config import AeencConfig
from entail.aeenc.pairs import TrainingPairs
from entail.aeenc.sampling import SampleReport
from entail.data.judgements import Judgements
from entail.data.records import Corpus
from entail.errors import TrainingError
from entail.index.protocol import Floats, Ints
from entail.training.adapters.tower import Tower
from entail.training.loop.batches import batches
from entail.training.loop.distributed import from_first

if TYPE_CHECKING:
    from torch import Tensor

Evaluate = Callable[[], tuple[float, Mapping[str, float]] | None]
Resample = Callable[[], tuple[TrainingPairs, SampleReport]]

COLLAPSED = 0.1
"""Share of the base's variance of vectors, below which they have all but become one vector."""

_ENOUGH_TO_JUDGE = 8
_QUERIES_OF_BASE = 256


class AeencTask:
    """AE-Enc as a task of the training loop (`entail.training.loop.fit.Task`).

    Args:
        config: Losses and sampling.
        corpus: The premises.
        pairs: What is learnt from at first.
        judgements: Who says what explains what, for live negatives and for premises of other queries.
        queries: The query tower.
        premises: The premise tower: the same object for siamese, another one for dual, None for single.
        base_premises: Unit vectors of all premises under the frozen base, shape (premises, d).
        base_queries: The base's unit vectors of some texts, shape (texts, d).
        resample: An ACS pass by the weights as they are: the pairs it adds, and its report.
        evaluate: What the best weights are chosen by.

    Attributes:
        pairs: What is learnt from at present.
        samples: The report of each round's ACS pass.
        warnings: What looked wrong, in words.
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
        resample: Resample,
        evaluate: Evaluate,
    ) -> None:
        import torch

        self.config, self.corpus, self.judgements = config, corpus, judgements
        self.queries, self.premises = queries, premises
        self.resample, self._evaluate, self._base_queries = resample, evaluate, base_queries
        self.base_premises = torch.from_numpy(base_premises).to(queries.device)
        self._texts = [premise.folded for premise in corpus.premises]
        self._epoch, self._round = 0, -1
        self.samples: list[SampleReport] = []
        self.warnings: list[str] = []
        every = -(-len(pairs.queries) // _QUERIES_OF_BASE)
        self._usual_variance = _variance(base_queries(pairs.queries[:: max(every, 1)]))
        self._take(pairs)

    def _take(self, pairs: TrainingPairs) -> None:
        import torch

        self.pairs = pairs
        self._lengths = self.queries.lengths(pairs.queries)
        self._base = (
            torch.from_numpy(self._base_queries(pairs.queries)).to(self.queries.device)
            if self.config.alpha
            else None
        )
        self._accepted: list[Ints] = []
        self._rejected: list[Ints] = []
        for query in pairs.queries:
            self._accepted.append(self._positions(self.judgements.accepted.get(query, {})))
            self._rejected.append(self._positions(self.judgements.rejected.get(query, {})))
        self._pool = torch.ones(len(self.corpus), dtype=torch.bool, device=self.queries.device)
        if self.config.pool == "trees":
            told = {text for query in self.judgements.accepted for text in self.judgements.accepted[query]}
            told.update(self.judgements.queries)
            self._pool[:] = False
            self._pool[torch.from_numpy(self._positions(dict.fromkeys(told)))] = True

    def _positions(self, texts: Mapping[str, None]) -> Ints:
        found = [p for text in texts if (p := self.corpus.position(text)) is not None]
        return np.array(sorted(found), dtype=np.int64)

    # What the loop asks for.

    def begin_epoch(self, epoch: int) -> None:
        """Sample anew at the start of a round; pairs add up.

        Raises:
            TrainingError: If no query has both a positive and a negative, and none will follow.
        """
        self._epoch = epoch
        here = epoch // self.config.epochs
        if self._restarted:
            return
        if self.config.rounds and here != self._round:
            # One process samples for all: the others might see equal scores in another order.
            pairs, report = from_first(self._sampled)
            self._round = here
            self.samples.append(SampleReport.from_json(report))
            self._take(self.pairs.joined(TrainingPairs.from_json(pairs)))
        require_both_classes(self.pairs, self.config, closed=self.judgements.closed, sampled=True)

    @property
    def _restarted(self) -> bool:
        """Whether this is the last pass, with the positives alone."""
        return self.config.restart and self._epoch // self.config.epochs >= max(1, self.config.rounds)

    def _sampled(self) -> tuple[dict[str, Any], dict[str, Any]]:
        pairs, report = self.resample()
        return pairs.to_json(), report.to_json()

    def batches(self, epoch: int) -> Sequence[Ints]:
        """Deal the queries of an epoch."""
        return batches(self._lengths, batch_size=self.config.batch_size, seed=self.config.seed, epoch=epoch)

    def steps(self, epochs: int) -> int:
        """Return the steps of all epochs, as many a round as in this one."""
        return epochs * -(-len(self.pairs.queries) // self.config.batch_size)

    def share(self, batch: Ints, *, rank: int, size: int) -> Ints:
        """Return every `size`-th query; at least one, so that no process is left without work."""
        some: Ints = batch[rank::size]
        return some if len(some) else batch[:1]

    def loss(self, batch: Ints) -> tuple[Tensor, dict[str, float]]:
        """Return the loss of some queries, and its terms."""
        import torch

        vectors = self.queries.vectors([self.pairs.queries[i] for i in batch])  # (queries, d)
        columns, labels = self._candidates(batch, vectors.detach())
        if self.premises is None:
            premises = self.base_premises[columns]
        else:
            premises = self.premises.vectors([self._texts[i] for i in columns.tolist()])
        similarities = vectors @ premises.T  # (queries, premises)
        loss = losses.LOSSES[self.config.loss]
        main, active = loss(similarities, labels, self.config)
        terms = {self.config.loss: float(main.detach()), "active": float(active)}
        total = main
        if self.config.alpha and self._base is not None:
            drift = losses.drift(vectors, self._base[torch.from_numpy(batch).to(vectors.device)])
            if self.premises is not None:
                base = self.base_premises[columns]
                masks = (labels > 0, labels < 0) if loss.split_drift else (labels != 0,)
                sides = [mask.any(dim=0) for mask in masks]
                for side in sides:
                    if side.any():
                        drift = drift + losses.drift(premises[side], base[side])
            total = total + self.config.alpha * drift
            terms["drift"] = float(drift.detach())
        if len(batch) >= min(_ENOUGH_TO_JUDGE, max(2, len(self.pairs.queries))):
            terms["variance"] = losses.variance(vectors.detach())
            self._watch_collapse("queries", terms["variance"], self._usual_variance)
        if self.premises is not None and len(columns) >= min(_ENOUGH_TO_JUDGE, max(2, len(self.corpus))):
            # The premises of a step are near each other by choice: only the base tells how near is usual.
            terms["premise_variance"] = losses.variance(premises.detach())
            usual = losses.variance(self.base_premises[columns])
            self._watch_collapse("premises", terms["premise_variance"], usual)
        return total, terms

    def _watch_collapse(self, which: str, variance: float, usual: float) -> None:
        if variance < COLLAPSED * usual and not self.warnings:
            self.warnings.append(
                f"in epoch {self._epoch + 1} the {which} of a batch have collapsed into nearly one vector "
                f"(variance {variance:.4f}, under the base {usual:.4f}); lower the learning "
                "rate or raise alpha"
            )

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Measure on dev."""
        return self._evaluate()

    def state(self) -> dict[str, Any]:
        """Return what the weights of before gave: the pairs sampled so far, the reports, the warnings."""
        return {
            "epoch": self._epoch,
            "round": self._round,
            "pairs": self.pairs.to_json(),
            "samples": [report.to_json() for report in self.samples],
            "warnings": list(self.warnings),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take them back."""
        self._epoch, self._round = state["epoch"], state["round"]
        self.samples = [SampleReport.from_json(report) for report in state["samples"]]
        self.warnings = list(state["warnings"])
        self._take(TrainingPairs.from_json(state["pairs"]))

    # Candidates and labels.

    def _candidates(self, batch: Ints, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Return the positions of the premises of a step, and labels of shape (queries, premises)."""
        import torch

        size, device = len(self.corpus), vectors.device
        labels = torch.zeros((len(batch), size), dtype=torch.int8)
        if not self._restarted:
            for row, i in enumerate(batch):
                labels[row, self.pairs.negatives[i]] = -1
        labels = labels.to(device)
        if self.config.live_k and not self._restarted:
            self._add_live(batch, vectors, labels)
        for row, i in enumerate(batch):
            # A child is never a negative, also where the pairs at hand do not hold it.
            labels[row, torch.from_numpy(self._accepted[i])] = 0
            labels[row, torch.from_numpy(self.pairs.positives[i])] = 1
        columns = (labels != 0).any(dim=0).nonzero()[:, 0]
        if self.premises is not None:
            columns = self._cut(labels, columns, draw_by=int(batch[0]))
        labels = labels[:, columns]
        if (self.config.in_batch or self._restarted) and self.judgements.closed:
            labels = torch.where(labels == 0, torch.full_like(labels, -1), labels)
            for row, i in enumerate(batch):
                own = torch.from_numpy(np.setdiff1d(self._accepted[i], self.pairs.positives[i])).to(device)
                labels[row, torch.isin(columns, own)] = 0
        return columns, labels

    def _add_live(self, batch: Ints, vectors: Tensor, labels: Tensor) -> None:
        """Mark the nearest premises that do not explain the query, under the weights of this moment."""
        import torch

        similarities = vectors @ self.base_premises.T
        for row, i in enumerate(batch):
            if self.judgements.closed:
                allowed = self._pool.clone()
                allowed[torch.from_numpy(self._accepted[i]).to(allowed.device)] = False
            else:
                allowed = torch.zeros_like(self._pool)
                allowed[torch.from_numpy(self._rejected[i]).to(allowed.device)] = True
            similarities[row].masked_fill_(~allowed, float("-inf"))
        nearest = similarities.topk(min(self.config.live_k, len(self.corpus)), dim=1)
        marks = torch.where(torch.isfinite(nearest.values), -1, 0).to(labels.dtype)
        found = torch.zeros_like(labels).scatter_(1, nearest.indices, marks)
        labels[found < 0] = -1

    def _cut(self, labels: Tensor, columns: Tensor, *, draw_by: int) -> Tensor:
        """Keep as many premises as a step encodes: positives first, but for a quarter; the rest by lot."""
        import torch

        # A lot of its own for each batch of each epoch: a training that resumes draws the same again.
        draw = np.random.default_rng((self.config.seed, 1, self._epoch, draw_by))
        positive = (labels[:, columns] > 0).any(dim=0).cpu().numpy()
        chosen = columns.cpu().numpy()
        first, rest = chosen[positive], chosen[~positive]
        room = self.config.premises_per_step
        negatives = min(len(rest), max(room - len(first), room // 4))
        rest = draw.permutation(rest)[:negatives]
        first = draw.permutation(first)[: room - negatives]
        kept = np.sort(np.concatenate([first, rest]))
        return torch.from_numpy(kept).to(columns.device)


def require_both_classes(
    pairs: TrainingPairs, config: AeencConfig, *, closed: bool, sampled: bool = False
) -> None:
    """Check that there is something to learn from.

    Args:
        pairs: What is learnt from.
        config: Says whether negatives follow while training.
        closed: Whether the judgements say no to every premise they do not accept; authors reject by name,
            and all they rejected is among the pairs from the first.
        sampled: Whether the ACS pass of a round has been done.

    Raises:
        TrainingError: If there is no positive, or no query has a negative beside it and none will follow.
    """
    counts = pairs.counts
    if not counts["positives"]:
        raise TrainingError("expected premises that explain a query, found none; accept some first")
    follow = closed and (config.live_k or config.in_batch or (config.rounds and not sampled))
    if counts["triplets"] or follow:
        return
    lost = pairs.dropped.get("without_positive", 0)
    beside = f", and {lost} rejected for queries of which nothing is accepted" if lost else ""
    raise TrainingError(
        f"expected hard negatives, found none beside {counts['positives']} positives{beside}; reject some "
        "candidates of the same queries, give trees with distractors (task 2), or sample by ACS (rounds, "
        "live_k)"
    )


def _variance(vectors: Floats) -> float:
    import torch

    return losses.variance(torch.from_numpy(vectors)) if len(vectors) > 1 else 0.0
