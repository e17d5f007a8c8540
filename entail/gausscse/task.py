"""GaussCSE as a task of the training loop: batches of triplets, each distinct sentence encoded once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from entail.data.nli.triplets import NliTriplets
from entail.gausscse.config import GausscseConfig
from entail.gausscse.distillation import Teachers, distillation_loss
from entail.gausscse.losses import (
    contrastive_loss,
    direction_loss,
    parameters_of,
    ranking_loss,
    similarities,
)
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
        pairs = [(triplet.premise, triplet.entailed) for triplet in triplets.triplets]
        super().__init__(config, _lengths(tower, pairs))
        self._other_lengths = _lengths(tower, triplets.unentailed if config.ranking else ())

    def batches(self, epoch: int) -> list[Ints]:
        """Return batches of similar length; every epoch draws other contradictions and unentailed pairs."""
        if not self._rows or epoch != self._epoch:
            self._rows = list(self.triplets.draw(seed=self.config.seed, epoch=epoch))
            self._unentailed = self._draw_unentailed(epoch)
        return super().batches(epoch)

    def _draw_unentailed(self, epoch: int) -> list[int]:
        """Return an unentailed pair of similar length for each triplet."""
        if not self._other_lengths:
            return []
        rows = self.triplets.draw_unentailed(seed=self.config.seed, epoch=epoch)
        matched = match_lengths(self._lengths, [self._other_lengths[row] for row in rows])
        return [rows[position] for position in matched]

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the loss of triplets (eq. 3 and the further terms of the settings), and diagnostics."""
        import torch

        config, temperature = self.config, self.config.temperature
        examples = [self._rows[i] for i in batch]
        others = [self.triplets.unentailed[self._unentailed[i]] for i in batch] if self._unentailed else []
        parts = [
            [premise for premise, _, _ in examples],
            [entailed for _, entailed, _ in examples],
            [text for _, _, text in examples if text is not None] if "con" in config.sets else [],
            [premise for premise, _ in others],
            [hypothesis for _, hypothesis in others],
        ]
        texts = list(dict.fromkeys(text for part in parts for text in part))
        row = {text: number for number, text in enumerate(texts)}
        mean, log_variance = parameters_of(self.tower.vectors(texts), tanh=config.tanh)
        p, e, c, other_p, other_h = (
            torch.tensor([row[text] for text in part], dtype=torch.long, device=mean.device) for part in parts
        )
        sim = similarities(mean, log_variance, kind=config.similarity)  # sim(a || b) at (a, b)
        forward, backward = sim[e, p], sim[p, e]
        sets = [sim[c[None], p[:, None]]]
        if "rev" in config.sets:
            sets.append(sim[p[None], e[:, None]])
        longer = [len(entailed) > len(premise) for premise, entailed, _ in examples]
        weights = 1 + (config.longer - 1) * torch.tensor(longer, dtype=mean.dtype, device=mean.device)
        same = (p[:, None] == p[None]) | (e[:, None] == e[None])
        loss = contrastive_loss(
            sim[e[None], p[:, None]], sets, same=same, temperature=temperature, weights=weights
        )
        terms = {
            "similarity": forward.mean(),
            "similarity reversed": backward.mean(),
            "direction": (forward > backward).float().mean(),
            "log variance premises": log_variance[p].mean(),
            "log variance entailed": log_variance[e].mean(),
            "variance": log_variance.exp().mean(),
        }
        if others:
            below = [sim[other_h, other_p], *([backward] if "rev" in config.sets else [])]
            terms["ranking"] = ranking_loss(forward, torch.cat(below), temperature=temperature)
            loss = loss + config.ranking * terms["ranking"]
        if config.direction:
            terms["directed"] = direction_loss(forward, backward, temperature=temperature, weights=weights)
            loss = loss + config.direction * terms["directed"]
        if self.teachers is not None:
            taught = self.teachers.similarities(texts, turn=int(batch[0])).to(mean.device)
            first, second = torch.cat([p, other_p]), torch.cat([e, other_h])
            terms["taught"] = distillation_loss(sim, taught, first, second)
            loss = (1 - config.distillation) * loss + config.distillation * terms["taught"]
        return loss, {name: float(value.detach()) for name, value in terms.items()}

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Evaluate the current weights."""
        return self._evaluate()


def _lengths(tower: GaussianTower, pairs: Sequence[tuple[str, str]]) -> list[int]:
    """Return the number of tokens of the longer text of each pair."""
    sides = [tower.lengths([pair[side] for pair in pairs]) for side in (0, 1)]
    return [max(pair) for pair in zip(*sides, strict=True)]
