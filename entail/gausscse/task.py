"""GaussCSE as a task of the training loop: batches of triplets, each distinct sentence encoded once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from entail.data.nli.triplets import NliTriplets
from entail.gausscse.config import GausscseConfig
from entail.gausscse.losses import (
    contrastive,
    direction_loss,
    distillation_loss,
    paired_similarities,
    parameters_of,
    ranking_loss,
    similarity_logits,
)
from entail.gausscse.teachers import Teachers
from entail.gausscse.tower import GaussianTower
from entail.index.protocol import Ints
from entail.training.loop.batches import BatchTask, match_lengths

if TYPE_CHECKING:
    from torch import Tensor


class GausscseTask(BatchTask):
    """Task of GaussCSE."""

    def __init__(
        self,
        config: GausscseConfig,
        triplets: NliTriplets,
        tower: GaussianTower,
        *,
        evaluate: Callable[[], tuple[float, dict[str, float]] | None],
        teachers: Teachers | None = None,
    ) -> None:
        self.config, self.triplets, self.tower, self.teachers = config, triplets, tower, teachers
        self._evaluate = evaluate
        self._rows: list[tuple[str, str, str | None]] = []
        self._unentailed: list[int] = []
        premises = tower.lengths([triplet.premise for triplet in triplets.triplets])
        entailed = tower.lengths([triplet.entailed for triplet in triplets.triplets])
        super().__init__(config, [max(pair) for pair in zip(premises, entailed, strict=True)])
        other_pairs = triplets.unentailed if config.ranking else ()
        lengths = [tower.lengths([pair[side] for pair in other_pairs]) for side in (0, 1)]
        self._other_lengths = [max(pair) for pair in zip(*lengths, strict=True)]

    def batches(self, epoch: int) -> list[Ints]:
        """Return batches of similar length; a batch of a single triplet joins the first one."""
        if not self._rows or epoch != self._epoch:
            self._rows = list(self.triplets.draw(seed=self.config.seed, epoch=epoch))
            self._unentailed = self._draw_unentailed(epoch)
        dealt = super().batches(epoch)
        whole = [batch for batch in dealt if len(batch) > 1]
        single = [batch for batch in dealt if len(batch) == 1]
        if not single or not whole:
            return dealt
        return [np.concatenate([whole[0], *single]), *whole[1:]]

    def _draw_unentailed(self, epoch: int) -> list[int]:
        """Return an unentailed pair of similar length for each triplet."""
        rows = self.triplets.draw_unentailed(seed=self.config.seed, epoch=epoch)
        if not self._other_lengths or not rows:
            return []
        alike = match_lengths(self._lengths, [self._other_lengths[row] for row in rows])
        return [rows[position] for position in alike]

    def steps(self, epochs: int) -> int:
        """Return the number of batches in all."""
        return epochs * len(self.batches(self._epoch))

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the loss of triplets (eq. 3), and diagnostics."""
        import torch

        config, examples = self.config, [self._rows[i] for i in batch]
        contradicted = [c for _, _, c in examples if c is not None] if "con" in config.sets else []
        other_pairs = (
            [self.triplets.unentailed[self._unentailed[i]] for i in batch] if self._unentailed else []
        )
        parts = [
            [p for p, _, _ in examples],
            [e for _, e, _ in examples],
            contradicted,
            [p for p, _ in other_pairs],
            [h for _, h in other_pairs],
        ]
        texts = list(dict.fromkeys(text for part in parts for text in part))
        row = {text: number for number, text in enumerate(texts)}
        rows = [torch.tensor([row[text] for text in part], dtype=torch.long) for part in parts]
        mean, log_variance = parameters_of(self.tower.vectors(texts), tanh=config.tanh)
        premises, entailed, negatives, *unentailed = ((mean[r], log_variance[r]) for r in rows)
        device = mean.device
        weights = self._weights(examples).to(device)
        kind, temperature = config.similarity, config.temperature
        loss, terms = contrastive(
            premises,
            entailed,
            negatives if contradicted else None,
            kind=kind,
            temperature=temperature,
            reversed_set="rev" in config.sets,
            reversal=config.reversal,
            same_premise=(rows[0][:, None] == rows[0][None]).to(device),
            same_entailed=(rows[1][:, None] == rows[1][None]).to(device),
            weights=weights,
        )
        if other_pairs or config.direction:
            forward = paired_similarities(entailed, premises, kind=kind)
            backward = paired_similarities(premises, entailed, kind=kind)
        if other_pairs:
            below = [paired_similarities(unentailed[1], unentailed[0], kind=kind)]
            if "rev" in config.sets:
                below.append(backward)
            order = ranking_loss(forward, torch.cat(below), temperature=temperature)
            terms["ranking"] = float(order.detach())
            loss = loss + config.ranking * order
        if config.direction:
            apart = direction_loss(forward, backward, temperature=temperature, weights=weights)
            terms["directed"] = float(apart.detach())
            loss = loss + config.direction * apart
        if self.teachers is not None:
            logits = similarity_logits((mean, log_variance), kind=kind)
            first, second = torch.cat([rows[0], rows[3]]), torch.cat([rows[1], rows[4]])
            taught = self.teachers.logits(texts, turn=int(batch[0])).to(device)
            taught = distillation_loss(logits, taught, first, second)
            terms["taught"] = float(taught.detach())
            loss = (1 - config.distillation) * loss + config.distillation * taught
        with torch.no_grad():
            terms["variance"] = float(log_variance.exp().mean())
        return loss, terms

    def _weights(self, examples: Sequence[tuple[str, str, str | None]]) -> Tensor:
        import torch

        longer = torch.tensor([len(entailed) > len(premise) for premise, entailed, _ in examples])
        return 1 + (self.config.longer - 1) * longer.float()

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Evaluate the current weights."""
        return self._evaluate()
