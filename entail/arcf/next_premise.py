"""What goes on from a sentence and the premises accepted below it: candidates scored, a chain drafted.

A sentence to be explained takes the question's place and has no answer; what was accepted below it takes the
place of the facts chosen so far::

    [CLS] sentence (explanation) p_1. p_2. [SEP] candidate [SEP]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from entail.arcf.chain import Search, Stopped
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scorer import Scorer
from entail.arcf.stepwise import ScoredSteps, Step, Told, follow
from entail.data.text import premise_key
from entail.data.worldtree import Question
from entail.data.worldtree_tables import Fact, FactTables
from entail.progress import Progress, ProgressCallback


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


@dataclass(frozen=True)
class Draft:
    """A chain that goes on from what was accepted.

    Attributes:
        facts: Positions of its premises, in order.
        scores: The score of each when it was chosen.
        stopped: Why it ended.
        bare: Score of the explanation as it is at the end; None where the scorer cannot tell when to stop.
        best: Score of the best premise that was left there; None where it ended before any was scored.
        dropped: As in `Told`: premises that were no longer read at the end, -1 where the sentence was cut.
    """

    facts: tuple[int, ...]
    scores: tuple[float, ...]
    stopped: Stopped
    bare: float | None = None
    best: float | None = None
    dropped: int = 0


Score = Callable[[Question, Sequence[int], Sequence[int], Sequence[str]], Told]
"""What scores a step: sentence, chosen facts, candidates, and what stands before the chosen facts."""


def score_with(steps: ScoredSteps) -> Score:
    """Return what scores the steps of a draft by a trained scorer."""
    return lambda asked, chosen, candidates, before: steps.told(asked, chosen, candidates, before=before)


def draft_chain(
    sentence: str,
    accepted: Sequence[str],
    score: Score,
    around: Neighbourhoods,
    *,
    never: Collection[int] = (),
    how: Search | None = None,
    progress: ProgressCallback | None = None,
) -> Draft:
    """Build the whole greedy chain (Algorithm 1), what was accepted at its beginning.

    Visible is vis_k(sentence, accepted, chosen). Facts at most and at least count what was accepted; of a
    chain that has reached its length already one fact is drafted.

    Args:
        sentence: What is to be explained.
        accepted: Premises accepted below it, in order; they need not be facts.
        score: What scores.
        around: What is visible; a corpus as `corpus_facts` returns it.
        never: Positions of facts that are not proposed; those that were accepted are not in any case.
        how: The chain's length, and when it may stop by itself.
        progress: Told how many facts were chosen.

    Raises:
        EvaluationError: If a score is not a number.
    """
    how = how or Search()
    asked, count = _asked(sentence), len(accepted)
    length = max(1, how.length - count)
    left = Search(length=length, least=max(0, how.least - count), stop=how.stop)
    known = [around.facts.positions.get(premise_key(text)) for text in accepted]
    near = dict.fromkeys(around.of_text(sentence).tolist())
    for text, fact in zip(accepted, known, strict=True):
        near |= dict.fromkeys((around.of_text(text) if fact is None else around.of_fact(fact)).tolist())
    seen = np.array(list(near), dtype=np.int64)
    not_these = frozenset((*never, *(fact for fact in known if fact is not None)))

    def step_of(chosen: tuple[int, ...]) -> Step:
        if progress is not None:
            progress(Progress(len(chosen), length, 0.0, "drafting the chain", "premises"))
        visible = [fact for fact in around.visible(seen, chosen) if fact not in not_these]
        told = score(asked, chosen, visible, accepted) if visible else Told(np.empty(0, dtype=np.float32))
        order = np.argsort(-told.scores, kind="stable")
        scores = tuple(float(told.scores[at]) for at in order)
        best_first = tuple(visible[int(at)] for at in order)
        return Step(chosen, best_first, scores, told.bare, frozenset(), told.dropped)

    walk = follow(step_of, left)
    assert walk.stopped is not None
    last = walk.steps[-1]
    ended_there = len(walk.steps) > len(walk.facts)  # else the last step chose the last fact
    return Draft(
        walk.facts,
        tuple(walk.steps[number].scores[0] for number in range(len(walk.facts))),
        walk.stopped,
        last.bare if ended_there else None,
        last.scores[0] if ended_there and last.scores else None,
        last.dropped,
    )


def _asked(sentence: str) -> Question:
    return Question("this sentence", sentence, "", {})
