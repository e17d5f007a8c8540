"""Samples of a step: a prefix of some gold premises, the gold ones still missing, and negatives.

N of a question's G gold facts, N drawn from 0 to G, make the prefix; the other visible gold facts are its
positives, other visible facts its negatives. The bare prefix is a sample too: the positive where no gold fact
is left to be seen, else a negative.
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
from entail.encoders.cross.pairs import Ids
from entail.errors import SamplingError
from entail.index.protocol import Floats, Ints

BARE = -1
"""In place of a fact's position: the bare prefix."""


@dataclass(frozen=True)
class Sample:
    """One prefix and all that is scored after it.

    Attributes:
        question: Number of the question.
        prefix: Positions of the facts in it.
        candidates: Positions of facts, or `BARE`; positives first.
        positives: How many of them are.
        tokens: Of all rows; a prefix that is read by itself counts once, what the base has read not at all.
    """

    question: int
    prefix: tuple[int, ...]
    candidates: tuple[int, ...]
    positives: int
    tokens: int


@dataclass(frozen=True)
class Learnable:
    """A question as a sampler needs it.

    Attributes:
        ids: Its tokens.
        gold: Positions of its gold facts, those in no table left out.
        near: The facts nearest to it.
        evidence: What is known of facts behind it without reading them.
    """

    ids: Ids
    gold: tuple[int, ...]
    near: Ints
    evidence: Evidence | None = None


def learnable(
    questions: Sequence[Question],
    inputs: Inputs,
    neighbourhoods: Neighbourhoods,
    *,
    known: PremisePriors | None = None,
) -> list[Learnable]:
    """Prepare questions; those without gold in the tables are left out.

    Args:
        questions: The questions.
        inputs: Token ids.
        neighbourhoods: What is near, and all facts.
        known: What is known of facts without reading them, where that counts.

    Raises:
        SamplingError: If none is left.
    """
    facts = neighbourhoods.facts
    some = [(question, gold) for question in questions if (gold := gold_positions(question, facts))]
    if not some:
        raise SamplingError(
            f"expected questions with gold facts in the tables, found none of {len(questions)}; give the "
            "tables of the same release"
        )
    neighbourhoods.prepare([fact for _, gold in some for fact in gold])
    ids = inputs.questions([(question.stem, question.answer) for question, _ in some])
    texts = [question.text for question, _ in some]
    evidence = known.behind_each(texts) if known is not None else [None] * len(some)
    return [
        Learnable(
            one,
            tuple(gold),
            neighbourhoods.of_text(question.text, evidence=behind),
            behind,
        )
        for one, (question, gold), behind in zip(ids, some, evidence, strict=True)
    ]


class Sampler:
    """Draws samples; the same again for the same seed and epoch.

    Args:
        config: The settings.
        questions: What is learnt from.
        inputs: Token ids, for the size of a batch.
        neighbourhoods: What is visible.
    """

    def __init__(
        self,
        config: ArcfConfig,
        questions: Sequence[Learnable],
        inputs: Inputs,
        neighbourhoods: Neighbourhoods,
    ) -> None:
        self.config, self.questions = config, questions
        self._inputs, self._neighbourhoods = inputs, neighbourhoods

    def epoch(self, epoch: int) -> list[Sample]:
        """Return the samples of an epoch, shuffled, without prefixes after which nothing is to be told apart.

        Raises:
            SamplingError: If none has one.
        """
        draw = np.random.default_rng((self.config.seed, epoch))
        noisy = self.config.noise and epoch >= self.config.noise_from * self.config.epochs
        order = draw.permutation(np.repeat(np.arange(len(self.questions)), self.config.prefixes))
        found = [sample for number in order if (sample := self.draw(int(number), draw, noisy=noisy))]
        if not found:
            raise SamplingError(
                f"expected samples with positives and negatives, found none of {len(order)} prefixes; take a "
                "larger k"
            )
        return found

    def draw(self, number: int, draw: np.random.Generator, *, noisy: bool = False) -> Sample | None:
        """Draw one prefix of a question and its samples; None where there is nothing to tell apart."""
        question, config = self.questions[number], self.config
        alone = config.scheme == "single-fact"
        size = 0 if alone else int(draw.integers(0, len(question.gold) + 1))
        prefix = [int(fact) for fact in draw.permutation(question.gold)[:size]]
        visible = self._neighbourhoods.visible(question.near, prefix)
        if noisy and prefix:
            prefix = self._replaced(prefix, visible, question, draw)
            visible = self._neighbourhoods.visible(question.near, prefix)
        gold = set(question.gold) - set(prefix)
        positives = (
            [fact for fact in question.gold if fact in gold] if alone else [f for f in visible if f in gold]
        )
        others = self._negatives(visible, set(question.gold) | set(prefix), draw)
        bare = [BARE] if config.stop and not alone else []
        if not positives:
            positives, bare = bare, []
        if not positives:
            return None
        ids = self._inputs.prefix(question.ids, prefix).ids
        candidates, least = list(positives), len(positives) + 1
        tokens = 0 if config.reading == "joint" else self._inputs.tokens((ids, ()))
        tokens += sum(self._cost(ids, fact) for fact in positives)
        for fact in [*bare, *others]:
            size = self._cost(ids, fact)
            if tokens + size > config.batch_tokens and len(candidates) >= least:
                break
            candidates.append(fact)
            tokens += size
        if len(candidates) == len(positives):
            return None
        return Sample(number, tuple(prefix), tuple(candidates), len(positives), tokens)

    def pairs(self, sample: Sample) -> list[tuple[Ids, Ids]]:
        """Return the prefix and the candidate of every row of a sample."""
        ids = self._inputs.prefix(self.questions[sample.question].ids, sample.prefix).ids
        return [(ids, self._candidate(fact)) for fact in sample.candidates]

    def asked(self, sample: Sample) -> tuple[list[tuple[Ids, Ids]], Floats | None]:
        """Return the same with what is known of each without reading, shape (samples, terms).

        Of the bare prefix nothing is known.
        """
        evidence = self.questions[sample.question].evidence
        if evidence is None:
            return self.pairs(sample), None
        facts = [fact for fact in sample.candidates if fact != BARE]
        terms = evidence.terms(sample.prefix, facts)
        known = np.zeros((len(sample.candidates), terms.shape[1]), dtype=np.float32)
        known[[at for at, fact in enumerate(sample.candidates) if fact != BARE]] = terms
        return self.pairs(sample), known

    def _cost(self, prefix: Ids, fact: int) -> int:
        """Return the tokens that are read for one candidate: apart, the base has read it once for all."""
        reading = self.config.reading
        if reading == "apart":
            return 0
        return self._inputs.tokens((prefix if reading == "joint" else (), self._candidate(fact)))

    def _candidate(self, fact: int) -> Ids:
        return () if fact == BARE else self._inputs.candidates[fact]

    def _replaced(
        self, prefix: list[int], visible: Sequence[int], question: Learnable, draw: np.random.Generator
    ) -> list[int]:
        share = draw.uniform(0, self.config.noise_share)
        wrong = [fact for fact in visible if fact not in question.gold]
        count = min(int(np.floor(share * len(prefix) + draw.random())), len(wrong))
        where = draw.permutation(len(prefix))[:count]
        for at, fact in zip(
            where, draw.choice(wrong, size=count, replace=False) if count else (), strict=True
        ):
            prefix[int(at)] = int(fact)
        return prefix

    def _negatives(self, visible: Sequence[int], known: set[int], draw: np.random.Generator) -> list[int]:
        """Return negatives in the order in which they are taken until the batch is full."""
        kind, count = self.config.negatives_from, len(self._inputs.candidates)
        near = [
            fact
            for fact in draw.permutation(np.asarray(visible, dtype=np.int64)).tolist()
            if fact not in known
        ]
        if kind == "visible":
            return near
        # More than a batch ever holds: every row has at least the tokens around it.
        most = min(count, self.config.batch_tokens // 4 + len(known))
        far = [fact for fact in draw.choice(count, size=most, replace=False).tolist() if fact not in known]
        if kind == "all":
            return far
        mixed = [fact for pair in zip(near, far, strict=False) for fact in pair]
        return list(dict.fromkeys([*mixed, *near, *far]))
