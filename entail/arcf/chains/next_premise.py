"""Next premises of a sentence and its accepted premises: candidates scored, a chain drafted.

A sentence to be explained takes the question's place and has no answer; what was accepted below it takes the
place of the facts chosen so far::

    [CLS] sentence (explanation) p_1. p_2. [SEP] candidate [SEP]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from entail.arcf.chains.chain import Chain, Search, Stopped, grow
from entail.arcf.chains.ensemble import fused
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.stepwise import ScoredSteps, Told
from entail.arcf.scoring.inputs import Inputs, Prefix
from entail.arcf.scoring.scorer import Scorer
from entail.data.text import premise_key
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.encoders.cross.pairs import Ids, Pair
from entail.index.protocol import Floats, Ints
from entail.progress import Progress, ProgressCallback

MARGIN = 1.0
"""Greatest distance of a premise's last score from the best at which a draft scores it again."""


def score_next(scorer: Scorer, sentence: str, accepted: Sequence[str], candidates: Sequence[str]) -> Told:
    """Score how well each candidate goes on.

    Args:
        scorer: What scores.
        sentence: What is to be explained.
        accepted: Premises accepted below it, in order; where they are too many the oldest are not read.
        candidates: Premises.

    Raises:
        EvaluationError: If a score is not a number.
    """
    if not candidates:
        return Told(np.empty(0, dtype=np.float32))
    facts = FactTables(tuple(Fact(str(number), text, "") for number, text in enumerate(candidates)))
    return ScoredSteps(scorer, facts).told(_asked(sentence), (), range(len(facts)), before=accepted)


def next_order(scores: Floats) -> Ints:
    """Return the order of candidates that a retriever brought, best first, by both their ranks.

    Retriever and scorer know different things and have no common scale, so their ranks are added as those of
    an ensemble are (`entail.arcf.chains.ensemble.fused`); the scorer breaks ties.

    >>> next_order(np.array([0.3, 0.1, 0.2, 0.4], dtype=np.float32)).tolist()
    [0, 3, 1, 2]

    Args:
        scores: The scorer's, of the candidates as they were retrieved, best first.
    """
    if not len(scores):
        return np.empty(0, dtype=np.int64)
    return fused([np.argsort(-scores, kind="stable"), np.arange(len(scores))])


@dataclass(frozen=True)
class Draft:
    """A chain that goes on from what was accepted.

    Attributes:
        facts: Positions of its premises, in order.
        scores: The score of each when it was chosen.
        stopped: Why it ended.
        bare: Where it stopped by itself: score of the explanation as it is.
        best: Where it stopped by itself: score of the best premise that was left.
        dropped: As in `Told`: premises that were no longer read at the end, -1 where the sentence was cut.
        cut: Facts that were scored at some step and whose end was not read.
    """

    facts: tuple[int, ...]
    scores: tuple[float, ...]
    stopped: Stopped
    bare: float | None = None
    best: float | None = None
    dropped: int = 0
    cut: frozenset[int] = frozenset()


@dataclass(frozen=True)
class _After:
    """Prefixes that begin with sentences which need not be facts."""

    inputs: Inputs
    before: Sequence[str]

    @property
    def candidates(self) -> Sequence[Ids]:
        return self.inputs.candidates

    def prefix(self, question: Ids, chosen: Sequence[int], /) -> Prefix:
        return self.inputs.prefix(question, chosen, before=self.before)


@dataclass(frozen=True)
class _Left:
    """Visible premises without those excluded; reports the length of the chain at each call."""

    around: Neighbourhoods
    never: frozenset[int]
    tell: Callable[[int], None]

    def visible(self, near_question: Ints, chosen: Sequence[int], /) -> list[int]:
        self.tell(len(chosen))
        return [fact for fact in self.around.visible(near_question, chosen) if fact not in self.never]


def draft_chain(
    sentence: str,
    accepted: Sequence[str],
    steps: ScoredSteps,
    around: Neighbourhoods,
    *,
    never: Collection[int] = (),
    how: Search | None = None,
    score: Callable[[Sequence[Pair]], Floats] | None = None,
    progress: ProgressCallback | None = None,
) -> Draft:
    """Build the whole greedy chain (Algorithm 1), what was accepted at its beginning.

    Visible is vis_k(sentence, accepted, chosen). Facts at most and at least count what was accepted; of a
    chain that has reached its length already one fact is drafted.

    Args:
        sentence: What is to be explained.
        accepted: Premises accepted below it, in order; they need not be facts.
        steps: A scorer of chains, and the facts.
        around: What is visible; a corpus as `corpus_facts` returns it.
        never: Positions of facts that are not proposed; those that were accepted are not in any case.
        how: The chain's length, and when it may stop by itself; default: lazy, with `MARGIN`.
        score: What computes scores of pairs; default: the scorer.
        progress: Told how many facts were chosen.

    Raises:
        EvaluationError: If a score is not a number.
    """
    how, count = how or Search(margin=MARGIN), len(accepted)
    length, stop = max(1, how.length - count), how.stop and steps.scorer.form.stop
    left = replace(how, length=length, least=max(0, how.least - count), stop=stop)
    known = [around.facts.positions.get(premise_key(text)) for text in accepted]
    known_of = steps.evidence(sentence, accepted)
    near = dict.fromkeys(around.of_text(sentence, evidence=known_of).tolist())
    for text, fact in zip(accepted, known, strict=True):
        near |= dict.fromkeys((around.of_text(text) if fact is None else around.of_fact(fact)).tolist())

    def tell(chosen: int) -> None:
        if progress is not None:
            progress(Progress(chosen, length, 0.0, "drafting the chain", "premises"))

    seen = _Left(around, frozenset((*never, *(fact for fact in known if fact is not None))), tell)
    asked, compute = _asked(sentence), score or steps.scorer.pairs.score
    (ids,) = steps.inputs.questions([(asked.stem, asked.answer)])
    growth = grow(
        ids,
        np.array(list(near), dtype=np.int64),
        _After(steps.inputs, accepted),
        seen,
        left,
        name=asked.id,
        evidence=known_of,
    )
    pairs = next(growth)
    while True:
        try:
            pairs = growth.send(compute(pairs))
        except StopIteration as end:
            return _draft_of(end.value, cut=steps.inputs.cut)


def _draft_of(chain: Chain, *, cut: frozenset[int]) -> Draft:
    own = [dict(zip(step.candidates, step.scores, strict=True)) for step in chain.steps]
    scores = tuple(own[number][fact] for number, fact in enumerate(chain.facts))
    unread = cut.intersection(fact for step in own for fact in step)
    draft = Draft(chain.facts, scores, chain.stopped, dropped=chain.dropped, cut=unread)
    if chain.stopped != "bare prefix":
        return draft
    last = chain.steps[-1]
    return replace(draft, bare=last.bare, best=max(last.scores))


def _asked(sentence: str) -> Question:
    return Question("this sentence", sentence, "", {})
