r"""Training of a scorer of premises: prefixes, losses, and single steps of dev questions.

The loss compares the scores after one prefix: positives s_p, negatives s_n.

===========  =====================================================================================
`ranknet`    mean over all pairs of :math:`-\log \sigma(s_p - s_n)`; the printed equation is garbled
`nce`        mean over positives of :math:`-\log \frac{e^{s_p - \log P}}{\sum_{j \in \{p\} \cup n}
             e^{s_j - \log P}}`; P is uniform over what is visible, and so cancels
===========  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.arcf.config import ArcfConfig, Loss
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.sampling import STOP, Sample, Sampler
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.scorer import METHOD, ScorerForm
from entail.arcf.scoring.terms import Explanations, PremiseTerms, SharedPieces, Terms, WordSimilarity
from entail.arcf.tower import BiEncoderTower, ScorerTower
from entail.data.worldtree.questions import Question, missing_gold
from entail.data.worldtree.tables import FactTables
from entail.errors import TrainingError
from entail.evaluation.chains import ap
from entail.training.adapters.saving import name_of
from entail.training.method import Run
from entail.training.run import Training, digest, prepare, sample_rows

if TYPE_CHECKING:
    from torch import Tensor

Batch = tuple[Sample, ...]


def prefix_loss(scores: Tensor, positive: Tensor, *, kind: Loss) -> Tensor:
    """Return the loss of the scores (samples,) after one prefix; `positive` masks the positives.

    >>> import torch
    >>> prefix_loss(torch.tensor([1.0, 1.0]), torch.tensor([True, False]), kind="ranknet")  # log 2
    tensor(0.6931)

    Raises:
        TrainingError: If there is no positive, or no negative.
    """
    import torch
    from torch.nn.functional import softplus

    good, bad = scores[positive], scores[~positive]
    if not len(good) or not len(bad):
        raise TrainingError(
            f"{kind} compares: expected positives and negatives after a prefix, found {len(good)} and "
            f"{len(bad)}"
        )
    if kind == "ranknet":
        return softplus(bad[None] - good[:, None]).mean()  # (positives, negatives)
    log_sum = torch.logsumexp(bad, dim=0)
    return (torch.logaddexp(good, log_sum) - good).mean()


class ArcfTask:
    """Task of ARCF; the samples of `dev` choose the best weights, see `step_figures`, None keeps the last."""

    def __init__(
        self, config: ArcfConfig, sampler: Sampler, scorer: ScorerTower, *, dev: Sampler | None
    ) -> None:
        self.config, self.sampler, self.scorer = config, sampler, scorer
        self._dev = (dev, dev.epoch(0)) if dev is not None else None
        self._drawn: tuple[int, list[Batch]] | None = None

    def begin_epoch(self, epoch: int) -> None:
        """Do nothing: no sample depends on the weights."""

    def batches(self, epoch: int) -> list[Batch]:
        """Return the batches of an epoch; with a token budget, as many as its share allows."""
        if self._drawn is None or self._drawn[0] != epoch:
            size, samples = self.config.prefixes_a_step, self.sampler.epoch(epoch)
            batches = [tuple(samples[at : at + size]) for at in range(0, len(samples), size)]
            if self.config.token_budget:
                tokens = np.cumsum([sum(sample.tokens for sample in batch) for batch in batches])
                share = self.config.token_budget / self.config.epochs
                batches = batches[: max(1, int(np.searchsorted(tokens, share, side="right")))]
            self._drawn = (epoch, batches)
        return self._drawn[1]

    def steps(self, epochs: int) -> int:
        """Return the estimated number of batches: as many in every epoch as in the present one."""
        return epochs * len(self._drawn[1] if self._drawn else self.batches(0))

    def loss(self, batch: Batch) -> tuple[Tensor, Mapping[str, float]]:
        """Return the mean loss of prefixes, and diagnostics."""
        import torch

        losses, right = [], []
        rows = [self.sampler.rows(sample) for sample in batch]
        terms = [table for _, table in rows if table is not None]
        # One call, so that what is computed once per call, such as weights in bf16, is computed once a step.
        scores = self.scorer.scores(
            [pair for pairs, _ in rows for pair in pairs], np.concatenate(terms) if terms else None
        )
        for sample, own in zip(batch, torch.split(scores, [len(pairs) for pairs, _ in rows]), strict=True):
            positive = torch.arange(len(own), device=own.device) < sample.positives
            losses.append(prefix_loss(own, positive, kind=self.config.loss))
            ahead = own.detach()[positive][:, None] > own.detach()[~positive][None]
            right.append(float(ahead.float().mean()))
        figures = {
            "pairs in order": float(np.mean(right)),
            "tokens": float(sum(sample.tokens for sample in batch)),
        }
        return torch.stack(losses).mean(), figures

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Evaluate the current weights on single steps of dev questions."""
        if self._dev is None:
            return None
        figures = step_figures(self.scorer, *self._dev)
        return figures["step MAP"], figures

    def state(self) -> Mapping[str, Any]:
        """Return no state: samples depend on seed and epoch alone."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore nothing."""


def step_figures(scorer: ScorerTower, sampler: Sampler, samples: Sequence[Sample]) -> dict[str, float]:
    """Evaluate single steps after given prefixes, which costs far less than whole chains.

    `step MAP` is the average precision of the remaining gold premises among the visible ones, `step P@1` the
    share of steps whose best premise is gold.
    """
    values, first = [], []
    for sample in samples:
        scores, candidates = scorer.score(*sampler.rows(sample)), np.array(sample.candidates)
        facts = np.flatnonzero(candidates != STOP)
        gold = facts[facts < sample.positives]
        if len(gold):
            order = facts[np.argsort(-scores[facts], kind="stable")]
            values.append(ap(1 + np.flatnonzero(np.isin(order, gold)).astype(np.float64)))
            first.append(float(order[0] in gold))
    return {
        "step MAP": float(np.mean(values)) if values else 0.0,
        "step P@1": float(np.mean(first)) if first else 0.0,
    }


def train_arcf(
    questions: Sequence[Question],
    facts: FactTables,
    config: ArcfConfig,
    *,
    dev: Sequence[Question] = (),
    run: Run | None = None,
) -> Training[ArcfConfig]:
    """Train a scorer of premises on questions with known explanations.

    The best weights are those of the highest step MAP on dev, see `step_figures`.

    Questions without gold in the tables are left out. Without dev the last weights are kept.

    Raises:
        TrainingError: If there is no training question; see `prepare`.
    """
    setup = prepare(config, run, method=METHOD)
    make_tower = BiEncoderTower if config.architecture == "bi" else ScorerTower
    tower = make_tower(setup.base, max_length=config.max_length, seed=config.seed, **setup.tower)
    near = Neighbourhoods(facts, k=config.k, metric=config.metric, progress=setup.run.progress)
    inputs = Inputs(tower.tokenize, tower.frame, max_length=tower.max_length, facts=facts.texts)
    terms = Terms(
        SharedPieces.of(inputs.candidates) if config.shared_pieces else None,
        Explanations.of(questions, facts, encoder=name_of(setup.base)) if config.power else None,
        WordSimilarity.of(facts.texts) if config.similarity else None,
    )
    tower.add_terms(terms, [w for w in (config.shared_pieces, config.power, config.similarity) if w])
    over_facts = PremiseTerms(terms, facts, inputs) if terms.names else None
    explained = [question for question in dev if question.gold]
    if dev and not explained:
        raise TrainingError(
            f"expected dev questions with explanations, found none of {len(dev)}; give a file "
            "that is not blind"
        )
    dev_questions = sample_rows(explained, config.dev_questions)
    sampler = Sampler(config, questions, inputs, near, over_facts)
    # One prefix a dev question, the same for every seed.
    dev_sampler = Sampler(replace(config, seed=0), dev_questions, inputs, near, over_facts) if dev else None
    fitted = setup.fit(
        ArcfTask(config, sampler, tower, dev=dev_sampler),
        tower.parameters,
        bound_to={
            "facts": facts.digest,
            **{
                name: digest([[q.id, q.stem, q.answer, dict(q.gold)] for q in part])
                for name, part in (("questions", questions), ("dev", dev_questions))
            },
        },
    )
    counts = {
        "questions": len(sampler.questions),
        "reference facts": sum(len(question.gold) for question in sampler.questions),
        "reference facts in no table": len(missing_gold(questions, facts)),
        "facts": len(facts),
        "steps": fitted.steps,
    }
    training = setup.result(fitted, counts, measure="step MAP")
    form = ScorerForm(
        max_length=tower.max_length,
        metric=config.metric,
        architecture=config.architecture,
        shared_pieces=terms.pieces is not None,
        encoder=terms.explanations.encoder if terms.explanations else "",
        similarity=terms.words is not None,
    )
    setup.save(training, tower.save, scorer=form.to_json())
    return training
