"""Samples of a training step: a prefix of gold premises, the remaining gold ones, and negatives.

N of a question's G gold premises, N uniform over 0 to G, make the prefix. The other visible gold premises are
its positives, other visible premises its negatives. The bare prefix is a sample too: the positive where no
gold premise is left to be seen, else a negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.config import ArcfConfig
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.priors import Evidence, PremisePriors
from entail.data.worldtree.questions import Question, gold_positions
from entail.encoders.cross.pairs import Ids, Pair
from entail.errors import SamplingError
from entail.index.protocol import Floats, Ints

STOP = -1
"""Candidate that stands for the bare prefix, in place of a premise's position."""


@dataclass(frozen=True)
class Sample:
    """One prefix and its candidates.

    Attributes:
        question: Number of the question.
        prefix: Positions of the premises in it.
        candidates: Positions of premises, or `STOP`; positives first.
        positives: Number of positives.
        tokens: Tokens of all rows; of a bi-encoder those of the prefix alone.
    """

    question: int
    prefix: tuple[int, ...]
    candidates: tuple[int, ...]
    positives: int
    tokens: int


@dataclass(frozen=True)
class PreparedQuestion:
    """A question as a sampler needs it.

    Attributes:
        ids: Token ids.
        gold: Positions of its gold premises, without those in no table.
        neighbours: Nearest premises.
        evidence: Prior terms of premises; None for none.
    """

    ids: Ids
    gold: tuple[int, ...]
    neighbours: Ints
    evidence: Evidence | None = None


def prepare_questions(
    questions: Sequence[Question],
    inputs: Inputs,
    neighbourhoods: Neighbourhoods,
    *,
    priors: PremisePriors | None = None,
) -> list[PreparedQuestion]:
    """Prepare questions; those without gold in the tables are left out.

    Raises:
        SamplingError: If none is left.
    """
    facts = neighbourhoods.facts
    entries = [(question, gold) for question in questions if (gold := gold_positions(question, facts))]
    if not entries:
        raise SamplingError(
            f"expected questions with gold facts in the tables, found none of {len(questions)}; give the "
            "tables of the same release"
        )
    neighbourhoods.prepare([fact for _, gold in entries for fact in gold])
    ids = inputs.questions([(question.stem, question.answer) for question, _ in entries])
    texts = [question.text for question, _ in entries]
    evidence = priors.evidence_of_each(texts) if priors is not None else [None] * len(entries)
    return [
        PreparedQuestion(own, tuple(gold), neighbourhoods.of_text(question.text, evidence=prior), prior)
        for own, (question, gold), prior in zip(ids, entries, evidence, strict=True)
    ]


class Sampler:
    """Source of samples; the same for the same seed and epoch."""

    def __init__(
        self,
        config: ArcfConfig,
        questions: Sequence[PreparedQuestion],
        inputs: Inputs,
        neighbourhoods: Neighbourhoods,
    ) -> None:
        self.config, self.questions = config, questions
        self._inputs, self._neighbourhoods = inputs, neighbourhoods

    def epoch(self, epoch: int) -> list[Sample]:
        """Return the samples of an epoch, shuffled.

        Raises:
            SamplingError: If no prefix has positives and negatives.
        """
        random = np.random.default_rng((self.config.seed, epoch))
        noisy = self.config.noise and epoch >= self.config.noise_from * self.config.epochs
        order = random.permutation(np.repeat(np.arange(len(self.questions)), self.config.prefixes))
        samples = [sample for number in order if (sample := self._draw(int(number), random, noisy=noisy))]
        if not samples:
            raise SamplingError(
                f"expected samples with positives and negatives, found none of {len(order)} prefixes; take a "
                "larger k"
            )
        return samples

    def _draw(self, number: int, random: np.random.Generator, *, noisy: bool) -> Sample | None:
        """Draw a prefix of a question and its candidates; None without positives or negatives."""
        question, config = self.questions[number], self.config
        single = config.scheme == "single-fact"
        size = 0 if single else int(random.integers(0, len(question.gold) + 1))
        prefix = [int(fact) for fact in random.permutation(question.gold)[:size]]
        visible = self._neighbourhoods.visible(question.neighbours, prefix)
        if noisy and prefix:
            prefix = self._add_noise(prefix, visible, question, random)
            visible = self._neighbourhoods.visible(question.neighbours, prefix)
        gold = set(question.gold) - set(prefix)
        positives = [fact for fact in (question.gold if single else visible) if fact in gold]
        right = {*question.gold, *prefix}
        # An equal sentence of another table reads the same: no scorer can rank one above the other.
        right = right.union(*(self._neighbourhoods.facts.equals.get(fact, ()) for fact in right))
        negatives = self._negatives(visible, right, random)
        bare = [STOP] if config.stop and not single else []
        if not positives:
            positives, bare = bare, []
        if not positives:
            return None
        ids = self._inputs.prefix(question.ids, prefix).ids
        candidates = list(positives)
        tokens = 0 if config.reading == "joint" else self._inputs.tokens((ids, ()))
        tokens += sum(self._cost(ids, fact) for fact in positives)
        for fact in [*bare, *negatives]:
            cost = self._cost(ids, fact)
            if tokens + cost > config.batch_tokens and len(candidates) > len(positives):
                break
            candidates.append(fact)
            tokens += cost
        if len(candidates) == len(positives):
            return None
        return Sample(number, tuple(prefix), tuple(candidates), len(positives), tokens)

    def pairs(self, sample: Sample) -> list[Pair]:
        """Return prefix and candidate of every row of a sample."""
        ids = self._inputs.prefix(self.questions[sample.question].ids, sample.prefix).ids
        return [(ids, self._candidate(fact)) for fact in sample.candidates]

    def terms(self, sample: Sample) -> Floats | None:
        """Return the prior terms of every row of a sample, shape (rows, terms), 0 for the bare prefix."""
        evidence = self.questions[sample.question].evidence
        if evidence is None:
            return None
        is_fact = np.array(sample.candidates) != STOP
        terms = evidence.terms(sample.prefix, np.array(sample.candidates)[is_fact].tolist())
        rows = np.zeros((len(sample.candidates), terms.shape[1]), dtype=np.float32)
        rows[is_fact] = terms
        return rows

    def _cost(self, prefix: Ids, fact: int) -> int:
        """Return the tokens read for one candidate; a bi-encoder has encoded it before."""
        return 0 if self.config.reading == "apart" else self._inputs.tokens((prefix, self._candidate(fact)))

    def _candidate(self, fact: int) -> Ids:
        return () if fact == STOP else self._inputs.candidates[fact]

    def _add_noise(
        self,
        prefix: list[int],
        visible: Sequence[int],
        question: PreparedQuestion,
        random: np.random.Generator,
    ) -> list[int]:
        """Replace a share of a prefix by visible negatives (conditional noise, CN)."""
        share = random.uniform(0, self.config.noise_share)
        wrong = [fact for fact in visible if fact not in question.gold]
        count = min(int(np.floor(share * len(prefix) + random.random())), len(wrong))
        replaced = random.permutation(len(prefix))[:count]
        noise = random.choice(wrong, size=count, replace=False) if count else ()
        for at, fact in zip(replaced, noise, strict=True):
            prefix[int(at)] = int(fact)
        return prefix

    def _negatives(
        self, visible: Sequence[int], excluded: set[int], random: np.random.Generator
    ) -> list[int]:
        """Return negatives in the order in which they fill the batch."""
        kind, count = self.config.negatives_from, len(self._inputs.candidates)
        shuffled = random.permutation(np.asarray(visible, dtype=np.int64)).tolist()
        near = [fact for fact in shuffled if fact not in excluded]
        if kind == "visible":
            return near
        # More than a batch ever holds: every row has at least the tokens around it.
        most = min(count, self.config.batch_tokens // 4 + len(excluded))
        draws = random.choice(count, size=most, replace=False).tolist()
        far = [fact for fact in draws if fact not in excluded]
        if kind == "all":
            return far
        mixed = [fact for pair in zip(near, far, strict=False) for fact in pair]
        return list(dict.fromkeys([*mixed, *near, *far]))
