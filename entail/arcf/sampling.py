"""Samples of a training step: a prefix of gold premises, the remaining gold ones, and negatives.

N of a question's G gold premises, N uniform over 0 to G, make the prefix. The other visible gold premises are
its positives, other visible premises its negatives. The bare prefix is a sample too: the positive where no
gold premise is left to be seen, else a negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entail.arcf.config import ArcfConfig
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.terms import PremiseTerms, QuestionTerms
from entail.data.worldtree.questions import Question, gold_positions
from entail.encoders.cross.pairs import Ids, Pair
from entail.errors import SamplingError
from entail.index.protocol import Floats, Ints

STOP = -1
"""Candidate that stands for the bare prefix, in place of a premise's position."""


@dataclass(frozen=True)
class Sample:
    """Prefix of a question, as positions of premises, and its candidates, positions or `STOP`.

    The first `positives` candidates are positives. `tokens` counts those of all rows; of a bi-encoder those
    of the prefix alone.
    """

    question: int
    prefix: tuple[int, ...]
    candidates: tuple[int, ...]
    positives: int
    tokens: int


@dataclass(frozen=True)
class PreparedQuestion:
    """A question as a sampler needs it: token ids, positions of gold and of nearest premises, score terms."""

    ids: Ids
    gold: tuple[int, ...]
    neighbours: Ints
    terms: QuestionTerms | None = None


class Sampler:
    """Source of samples, the same for the same seed and epoch.

    Questions without gold in the tables are left out.

    Raises:
        SamplingError: If no question is left.
    """

    def __init__(
        self,
        config: ArcfConfig,
        questions: Sequence[Question],
        inputs: Inputs,
        neighbourhoods: Neighbourhoods,
        terms: PremiseTerms | None = None,
    ) -> None:
        self.config, self._inputs, self._neighbourhoods = config, inputs, neighbourhoods
        facts = neighbourhoods.facts
        explained = [(question, gold) for question in questions if (gold := gold_positions(question, facts))]
        if not explained:
            raise SamplingError(
                f"expected questions with gold facts in the tables, found none of {len(questions)}; give the "
                "tables of the same release"
            )
        neighbourhoods.prepare([fact for _, gold in explained for fact in gold])
        ids = inputs.questions([(question.stem, question.answer) for question, _ in explained])
        texts = [question.text for question, _ in explained]
        terms_of = terms.of_questions(texts) if terms is not None else [None] * len(texts)
        bonuses = [own.neighbour_bonus if own is not None else None for own in terms_of]
        near = [neighbourhoods.of_text(text, bonus=bonus) for text, bonus in zip(texts, bonuses, strict=True)]
        gold_of = (tuple(gold) for _, gold in explained)
        self.questions = [*map(PreparedQuestion, ids, gold_of, near, terms_of)]

    def epoch(self, epoch: int) -> list[Sample]:
        """Return the samples of an epoch, one a question, shuffled.

        Raises:
            SamplingError: If no prefix has positives and negatives.
        """
        random = np.random.default_rng((self.config.seed, epoch))
        order = random.permutation(len(self.questions))
        samples = [sample for number in order if (sample := self._draw(int(number), random))]
        if not samples:
            raise SamplingError(
                f"expected samples with positives and negatives, found none of {len(order)} prefixes; take a "
                "larger k"
            )
        return samples

    def _draw(self, number: int, random: np.random.Generator) -> Sample | None:
        """Draw a prefix of a question and its candidates; None without negatives."""
        question, config = self.questions[number], self.config
        size = int(random.integers(0, len(question.gold) + 1))
        prefix = [int(fact) for fact in random.permutation(question.gold)[:size]]
        visible = self._neighbourhoods.visible(question.neighbours, prefix)
        positives = [fact for fact in visible if fact in question.gold]
        right = set(question.gold)
        # An equal sentence of another table reads the same: no scorer can rank one above the other.
        right = right.union(*(self._neighbourhoods.facts.equals.get(fact, ()) for fact in right))
        shuffled = random.permutation(np.asarray(visible, dtype=np.int64)).tolist()
        negatives = [fact for fact in shuffled if fact not in right]
        rest = [STOP, *negatives] if positives else negatives
        if not rest:
            return None
        candidates = positives or [STOP]
        count = len(candidates)
        ids = self._inputs.prefix(question.ids, prefix).ids
        is_cross = config.architecture == "cross"
        # A bi-encoder has encoded the candidates before.
        costs = {
            fact: self._inputs.tokens((ids, self._candidate(fact))) if is_cross else 0 for fact in visible
        }
        costs[STOP] = self._inputs.tokens((ids, ())) if is_cross else 0
        tokens = (0 if is_cross else self._inputs.tokens((ids, ()))) + sum(costs[fact] for fact in candidates)
        for fact in rest:
            if tokens + costs[fact] > config.batch_tokens and len(candidates) > count:
                break
            candidates.append(fact)
            tokens += costs[fact]
        return Sample(number, tuple(prefix), tuple(candidates), count, tokens)

    def rows(self, sample: Sample) -> tuple[list[Pair], Floats | None]:
        """Return prefix and candidate of every row, and their terms (rows, terms), 0 for the bare prefix."""
        question, candidates = self.questions[sample.question], np.array(sample.candidates)
        ids = self._inputs.prefix(question.ids, sample.prefix).ids
        pairs = [(ids, self._candidate(fact)) for fact in sample.candidates]
        if question.terms is None:
            return pairs, None
        is_fact = candidates != STOP
        terms = question.terms(ids, sample.prefix, candidates[is_fact].tolist())
        rows = np.zeros((len(candidates), terms.shape[1]), dtype=np.float32)
        rows[is_fact] = terms
        return pairs, rows

    def _candidate(self, fact: int) -> Ids:
        return () if fact == STOP else self._inputs.candidates[fact]
