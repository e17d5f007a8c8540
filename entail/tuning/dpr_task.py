r"""One step of dense passage retrieval (DPR): questions against the passages of a batch.

.. math:: L_q = -\log \frac{e^{\cos(q, p^+)/t}}{e^{\cos(q, p^+)/t} + \sum_{p^-} e^{\cos(q, p^-)/t}}

Negatives of a question are its own hard ones and every other passage of the batch that is no gold passage of
it; a passage that several questions share is encoded once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.index.protocol import Ints
from entail.training.adapters.tower import Tower
from entail.training.loop.batches import batches
from entail.tuning.config import DprConfig
from entail.tuning.examples import Example, Examples, excerpt

if TYPE_CHECKING:
    from torch import Tensor


class DprTask:
    """The contrastive stage as a task of the training loop.

    Args:
        config: The settings.
        examples: What is learnt from.
        tower: What learns: one tower encodes questions and passages.
        dev: Questions to choose the best weights on, see `evaluate`; None keeps the last.
    """

    def __init__(
        self, config: DprConfig, examples: Examples, tower: Tower, *, dev: Examples | None = None
    ) -> None:
        self.config, self.examples, self.tower, self.dev = config, examples, tower, dev
        self._epoch = 0
        texts = [self._text(one.gold[0], one) for one in examples.examples]
        self._lengths = tower.lengths(texts)

    def begin_epoch(self, epoch: int) -> None:
        """Nothing depends on the weights."""

    def batches(self, epoch: int) -> list[Ints]:
        """Return batches of passages of like length."""
        self._epoch = epoch
        return batches(self._lengths, batch_size=self.config.batch_size, seed=self.config.seed, epoch=epoch)

    def steps(self, epochs: int) -> int:
        """Return how many batches there will be in all."""
        return epochs * -(-len(self.examples) // self.config.batch_size)

    def share(self, batch: Ints, *, rank: int, size: int) -> Ints:
        """Return the questions of one process; its negatives are those of its own questions."""
        return (batch[rank::size] if len(batch) > rank else batch[:1]) if size > 1 else batch

    def passages_of(self, batch: Ints) -> tuple[list[Example], dict[int, str]]:
        """Return the questions of a batch, and position -> text of every passage that takes part."""
        some = [self.examples.examples[row] for row in batch.tolist()]
        texts: dict[int, str] = {}
        for one in some:
            texts.setdefault(one.gold[0], self._text(one.gold[0], one))
        for one in some:
            for at in self._hard(one):
                texts.setdefault(at, self._text(at, None))
        return some, texts

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the mean loss of some questions, and what to watch."""
        import torch

        some, texts = self.passages_of(batch)
        place = {position: column for column, position in enumerate(texts)}
        questions = self.tower.vectors([one.question for one in some])  # (n, d)
        passages = self.tower.vectors(list(texts.values()))  # (m, d)
        scores = questions @ passages.T / self.config.temperature
        gold = torch.tensor([place[one.gold[0]] for one in some], device=scores.device)
        also = torch.zeros(scores.shape, dtype=torch.bool)
        for row, one in enumerate(some):
            also[row, [place[at] for at in one.gold[1:] if at in place and at != one.gold[0]]] = True
        scores = scores.masked_fill(also.to(scores.device), float("-inf"))
        with torch.no_grad():
            first = (scores.argmax(dim=1) == gold).float().mean()
        terms = {"first": float(first), "passages": float(len(texts))}
        return torch.nn.functional.cross_entropy(scores, gold), terms

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Measure MRR and R@1 of dev questions over the gold passages and negatives of all of them.

        It is DPR's validation by average rank, with a small pool in the place of the whole one.
        """
        if self.dev is None or not len(self.dev):
            return None
        asked = self.dev.examples
        pool = sorted({at for one in asked for at in (*one.gold, *one.negatives)})
        where = {position: column for column, position in enumerate(pool)}
        passages = self.tower.encode([self.dev.store[position].whole for position in pool])
        scores = self.tower.encode([one.question for one in asked]) @ passages.T
        ranks = np.array(
            [
                1 + (row > row[[where[at] for at in one.gold]].max()).sum()
                for row, one in zip(scores, asked, strict=True)
            ]
        )
        figures = {"MRR": float((1 / ranks).mean()), "R@1": float((ranks == 1).mean())}
        return figures["MRR"], figures

    def state(self) -> Mapping[str, Any]:
        """Return nothing: batches depend on seed and epoch alone, negatives on the epoch."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back nothing."""

    def _hard(self, one: Example) -> Sequence[int]:
        """Return this epoch's hard negatives: the hardest first, as DPR; each epoch goes on to the next."""
        several = len(one.negatives)
        taken = min(self.config.negatives, several)
        return [one.negatives[(self._epoch * taken + i) % several] for i in range(taken)]

    def _text(self, position: int, one: Example | None) -> str:
        whole = self.examples.store[position].whole
        return excerpt(whole, words=self.config.words, answers=one.answers if one else ())
