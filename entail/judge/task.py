"""Training of a judge as a task of the training loop: batches of pairs, cross-entropy, accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from entail.data.nli.pairs import NliPair
from entail.encoders.cross.pairs import Pair, cut_pairs
from entail.index.protocol import Ints
from entail.judge.config import JudgeConfig
from entail.judge.evaluation import evaluate_outputs, gold_labels
from entail.training.adapters.cross_tower import CrossTower
from entail.training.loop.batches import BatchTask

if TYPE_CHECKING:
    from torch import Tensor


class JudgeTask(BatchTask):
    """Task of a judge."""

    def __init__(
        self,
        config: JudgeConfig,
        pairs: Sequence[NliPair],
        tower: CrossTower,
        *,
        dev: Sequence[NliPair] = (),
    ) -> None:
        self.config, self.tower = config, tower
        self._rows, self.cut = tokenize_pairs(tower, pairs)
        self._gold = gold_labels(pairs)
        super().__init__(config, [len(first) + len(second) for first, second in self._rows])
        self._dev = (tokenize_pairs(tower, dev)[0], dev) if dev else None

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the mean cross-entropy of pairs, and their accuracy."""
        import torch

        outputs = self.tower.outputs([self._rows[i] for i in batch])  # (pairs, 3)
        gold = torch.from_numpy(self._gold[batch]).to(outputs.device)
        loss = torch.nn.functional.cross_entropy(outputs, gold, label_smoothing=self.config.smoothing)
        with torch.no_grad():
            right = float((outputs.argmax(dim=1) == gold).float().mean())
        return loss, {"accuracy": right}

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Evaluate the current weights by the accuracy on dev."""
        if self._dev is None:
            return None
        rows, pairs = self._dev
        result = evaluate_outputs(self.tower.values(rows), pairs)
        figures = {"accuracy": result.accuracy, "entailment or not": result.entailment_accuracy}
        return result.accuracy, figures


def tokenize_pairs(tower: CrossTower, pairs: Sequence[NliPair]) -> tuple[list[Pair], int]:
    """Return pairs as token ids of the maximum length, and the number of truncated ones."""
    return cut_pairs(
        tower.tokenize,
        tower.frame,
        [pair.premise for pair in pairs],
        [pair.hypothesis for pair in pairs],
        max_length=tower.max_length,
    )
