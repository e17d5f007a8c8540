"""One step of masked hypothesis prediction: a batch of prompts, some tokens hidden, the loss on these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.index.protocol import Ints
from entail.training.loop.batches import batches
from entail.tuning.config import TuningConfig
from entail.tuning.masking import Masked, Prompt, Prompts
from entail.tuning.tower import MaskedTower

if TYPE_CHECKING:
    from torch import Tensor


class MaskedTask:
    r"""Entailment tuning as a task of the training loop.

    .. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log P(t_i \mid \text{prompt without } M)

    M are the hidden tokens of a batch. Which they are depends on seed, epoch and pair alone.

    Args:
        config: The settings.
        form: What made the prompts.
        prompts: What is learnt from.
        tower: What learns.
        dev: Prompts to choose the best weights on; none keeps the last.
    """

    def __init__(
        self,
        config: TuningConfig,
        form: Prompts,
        prompts: Sequence[Prompt],
        tower: MaskedTower,
        *,
        dev: Sequence[Prompt] = (),
    ) -> None:
        self.config, self.form, self.prompts, self.tower = config, form, prompts, tower
        self._lengths = [len(prompt.ids) for prompt in prompts]
        self._epoch = 0
        # Hidden once, the same for every seed, so that evaluations and seeds can be compared.
        self._dev = [
            form.masked(prompt, beta=config.share, draw=np.random.default_rng((0, row)))
            for row, prompt in enumerate(dev)
        ]

    def begin_epoch(self, epoch: int) -> None:
        """Nothing depends on the weights."""

    def batches(self, epoch: int) -> list[Ints]:
        """Return batches of like length."""
        self._epoch = epoch
        return batches(self._lengths, batch_size=self.config.batch_size, seed=self.config.seed, epoch=epoch)

    def steps(self, epochs: int) -> int:
        """Return how many batches there will be in all."""
        return epochs * -(-len(self.prompts) // self.config.batch_size)

    def share(self, batch: Ints, *, rank: int, size: int) -> Ints:
        """Return the prompts of one process; with fewer prompts than processes some learn the same."""
        return (batch[rank::size] if len(batch) > rank else batch[:1]) if size > 1 else batch

    def hidden(self, batch: Ints) -> list[Masked]:
        """Return some prompts as this epoch hides them."""
        seed, beta = self.config.seed, self.config.share
        return [
            self.form.masked(
                self.prompts[row], beta=beta, draw=np.random.default_rng((seed, self._epoch, row))
            )
            for row in batch.tolist()
        ]

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the mean loss of the hidden tokens, and what to watch."""
        surprise, right, tokens = self._surprise(self.hidden(batch))
        if not len(surprise):  # nothing was hidden, which short hypotheses and a small beta bring about
            return surprise.sum(), {"accuracy": 0.0, "hidden": 0.0, "tokens": float(tokens)}
        terms = {
            "accuracy": float(right.float().mean()),
            "hidden": float(len(surprise)),
            "tokens": float(tokens),
        }
        return surprise.mean(), terms

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Measure how surprising hidden tokens of dev are; the score is the loss below 0."""
        import torch

        if not self._dev:
            return None
        order = sorted(range(len(self._dev)), key=lambda row: len(self._dev[row].ids))
        total, count, hits = 0.0, 0, 0
        self.tower.model.eval()
        self.tower.head.eval()
        try:
            with torch.inference_mode():
                for at in range(0, len(order), self.config.batch_size):
                    some = [self._dev[row] for row in order[at : at + self.config.batch_size]]
                    surprise, right, _ = self._surprise(some)
                    total += float(surprise.sum())
                    count, hits = count + len(surprise), hits + int(right.sum())
        finally:
            self.tower.model.train()
            self.tower.head.train()
        if not count:
            return None
        return -total / count, {"loss": total / count, "accuracy": hits / count}

    def state(self) -> Mapping[str, Any]:
        """Return nothing: batches and masks depend on seed, epoch and pair alone."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back nothing."""

    def _surprise(self, rows: Sequence[Masked]) -> tuple[Tensor, Tensor, int]:
        import torch

        ids, there, hidden, labels = self.form.padded(rows)
        on = self.tower.device
        surprise, right = self.tower.surprise(
            *(torch.from_numpy(part).to(on) for part in (ids, there, hidden, labels))
        )
        return surprise, right, int(there.sum())
