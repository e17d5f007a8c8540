"""One step of ARCF: the samples of some prefixes, the loss of each; how dev is measured meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from entail.arcf.config import ArcfConfig
from entail.arcf.losses import loss_of
from entail.arcf.sampling import BARE, Sample, Sampler
from entail.encoders.cross.pairs import Pair
from entail.evaluation.chains import ap
from entail.index.protocol import Floats

if TYPE_CHECKING:
    from torch import Tensor

Batch = tuple[Sample, ...]


class LearningScorer(Protocol):
    """Protocol of a scorer in training."""

    def scores(self, pairs: Sequence[Pair], evidence: Floats | None = None, /) -> Tensor:
        """Return a score a pair with its gradient, shape (pairs,)."""
        ...

    def score(self, pairs: Sequence[Pair], evidence: Floats | None = None, /) -> Floats:
        """Return a score a pair, shape (pairs,)."""
        ...


class ArcfTask:
    """ARCF as a task of the training loop.

    Args:
        config: The settings.
        sampler: What is learnt from.
        scorer: What learns.
        dev: Where and on what the best weights are chosen, see `step_figures`; None keeps the last.
    """

    def __init__(
        self,
        config: ArcfConfig,
        sampler: Sampler,
        scorer: LearningScorer,
        *,
        dev: tuple[Sampler, Sequence[Sample]] | None,
    ) -> None:
        self.config, self.sampler, self.scorer = config, sampler, scorer
        self._dev = dev
        self._drawn: tuple[int, list[Batch]] | None = None

    def begin_epoch(self, epoch: int) -> None:
        """Nothing depends on the weights."""

    def batches(self, epoch: int) -> list[Batch]:
        """Return an epoch's batches; with a token budget, as many as its share of it comes to."""
        if self._drawn is None or self._drawn[0] != epoch:
            size, samples = self.config.prefixes_a_step, self.sampler.epoch(epoch)
            dealt = [tuple(samples[at : at + size]) for at in range(0, len(samples), size)]
            if self.config.token_budget:
                tokens = np.cumsum([sum(sample.tokens for sample in batch) for batch in dealt])
                share = self.config.token_budget / self.config.epochs
                dealt = dealt[: max(1, int(np.searchsorted(tokens, share, side="right")))]
            self._drawn = (epoch, dealt)
        return self._drawn[1]

    def steps(self, epochs: int) -> int:
        """Return about how many batches there will be in all: as many an epoch as in this one."""
        drawn = self._drawn[1] if self._drawn else self.batches(0)
        return epochs * len(drawn)

    def share(self, batch: Batch, *, rank: int, size: int) -> Batch:
        """Return the prefixes of one process; with fewer prefixes than processes some learn the same."""
        return (batch[rank::size] or batch[:1]) if size > 1 else batch

    def loss(self, batch: Batch) -> tuple[Tensor, Mapping[str, float]]:
        """Return the mean loss of some prefixes, and what to watch."""
        import torch

        losses, right, margins, tokens = [], [], [], 0
        asked = [self.sampler.asked(sample) for sample in batch]
        known = [evidence for _, evidence in asked if evidence is not None]
        # At once: what is computed for a step as a whole, such as weights in bf16, is computed once.
        together = self.scorer.scores(
            [pair for pairs, _ in asked for pair in pairs], np.concatenate(known) if known else None
        )
        parts = torch.split(together, [len(pairs) for pairs, _ in asked])  # each (samples,)
        for sample, scores in zip(batch, parts, strict=True):
            positive = torch.arange(len(scores), device=scores.device) < sample.positives
            losses.append(loss_of(scores, positive, kind=self.config.loss))
            tokens += sample.tokens
            with torch.no_grad():
                ahead = scores[positive][:, None] - scores[~positive][None]
                right.append(float((ahead > 0).float().mean()))
                margins.append(float(ahead.mean()))
        terms = {
            "pairs in order": float(np.mean(right)),
            "margin": float(np.mean(margins)),
            "tokens": float(tokens),
            "samples": float(sum(len(sample.candidates) for sample in batch)),
        }
        return torch.stack(losses).mean(), terms

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Measure the weights as they are, by the steps of dev."""
        if self._dev is None:
            return None
        found = step_figures(self.scorer, *self._dev)
        return found["step MAP"], found

    def state(self) -> Mapping[str, Any]:
        """Return nothing: batches and draws depend on seed and epoch alone."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back nothing."""


def step_figures(scorer: LearningScorer, sampler: Sampler, samples: Sequence[Sample]) -> dict[str, float]:
    """Measure single steps after given prefixes: far cheaper than whole chains, and what chains are made of.

    Args:
        scorer: What is measured.
        sampler: Whose samples they are.
        samples: Prefixes with all that is visible after them.

    Returns:
        `step MAP`: average precision of the gold facts still to be found, among what is visible;
        `step P@1`: how often the best is one of them; `stop`: how often the bare prefix is where it belongs,
        on top if nothing is left, else below the best gold fact.
    """
    values, first, stops = [], [], []
    for sample in samples:
        scores = scorer.score(*sampler.asked(sample))
        bare = sample.candidates.index(BARE) if BARE in sample.candidates else None
        gold = [at for at in range(sample.positives) if sample.candidates[at] != BARE]
        if bare is not None:
            stops.append(float(scores[bare] < scores[gold].max() if gold else scores.argmax() == bare))
        if gold:
            facts = np.array([at for at, fact in enumerate(sample.candidates) if fact != BARE])
            order = facts[np.argsort(-scores[facts], kind="stable")]
            ranks = np.array([float(np.flatnonzero(order == at)[0]) + 1 for at in gold])
            values.append(ap(ranks))
            first.append(float(order[0] in gold))
    found = {"step MAP": float(np.mean(values)) if values else 0.0}
    found["step P@1"] = float(np.mean(first)) if first else 0.0
    if stops:
        found["stop"] = float(np.mean(stops))
    return found
