"""One step of a judge in training: pairs of like length, the cross-entropy of their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.encoders.cross.pairs import Pair, cut_pairs
from entail.index.protocol import Ints
from entail.judge.config import JudgeConfig
from entail.judge.evaluation import JudgeEvaluation, gold_labels
from entail.training.adapters.cross_tower import CrossTower
from entail.training.loop.batches import batches

if TYPE_CHECKING:
    from torch import Tensor


class JudgeTask:
    """Training of a judge as a task of the training loop.

    Args:
        config: The settings.
        pairs: What is learnt from.
        tower: What learns, with three outputs.
        dev: Pairs to choose the best weights on; none keeps the last.
    """

    def __init__(
        self,
        config: JudgeConfig,
        pairs: Sequence[NliPair],
        tower: CrossTower,
        *,
        dev: Sequence[NliPair] = (),
    ) -> None:
        self.config, self.tower = config, tower
        self._rows, self.cut = pairs_of(tower, pairs)
        self._gold = gold_labels(pairs)
        self._lengths = [len(first) + len(second) for first, second in self._rows]
        self._dev = (pairs_of(tower, dev)[0], gold_labels(dev)) if dev else None

    def begin_epoch(self, epoch: int) -> None:
        """Nothing depends on the weights."""

    def batches(self, epoch: int) -> list[Ints]:
        """Return batches of like length."""
        size = self.config.batch_size
        return batches(self._lengths, batch_size=size, seed=self.config.seed, epoch=epoch)

    def steps(self, epochs: int) -> int:
        """Return how many batches there will be in all."""
        return epochs * -(-len(self._rows) // self.config.batch_size)

    def share(self, batch: Ints, *, rank: int, size: int) -> Ints:
        """Return the pairs of one process; with fewer pairs than processes some learn the same."""
        return (batch[rank::size] if len(batch) > rank else batch[:1]) if size > 1 else batch

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the mean cross-entropy of some pairs, and the share that is right."""
        import torch

        outputs = self.tower.outputs([self._rows[i] for i in batch])  # (pairs, 3)
        gold = torch.from_numpy(self._gold[batch]).to(outputs.device)
        loss = torch.nn.functional.cross_entropy(outputs, gold, label_smoothing=self.config.smoothing)
        with torch.no_grad():
            right = float((outputs.argmax(dim=1) == gold).float().mean())
        return loss, {"accuracy": right}

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Measure the weights as they are, by the accuracy on dev."""
        if self._dev is None:
            return None
        rows, gold = self._dev
        found = JudgeEvaluation(softmax(self.tower.values(rows)), gold)
        return found.accuracy, {"accuracy": found.accuracy, "entailment or not": found.entailment_accuracy}

    def state(self) -> Mapping[str, Any]:
        """Return nothing: batches depend on seed and epoch alone."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back nothing."""


def pairs_of(tower: CrossTower, pairs: Sequence[NliPair]) -> tuple[list[Pair], int]:
    """Return pairs as token ids no longer than what is read, and how many were cut."""
    return cut_pairs(
        tower.tokenize,
        tower.frame,
        [pair.premise for pair in pairs],
        [pair.hypothesis for pair in pairs],
        max_length=tower.max_length,
    )


def softmax(outputs: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return outputs as probabilities, row by row, shape (pairs, outputs).

    >>> softmax(np.zeros((1, 2))).tolist()
    [[0.5, 0.5]]
    """
    powers = np.exp(outputs.astype(np.float64) - outputs.max(axis=1, keepdims=True))
    found: np.ndarray[Any, np.dtype[np.float64]] = powers / powers.sum(axis=1, keepdims=True)
    return found
