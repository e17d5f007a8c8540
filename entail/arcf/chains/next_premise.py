"""Next premises of a sentence and its accepted premises: scores of candidates, a drafted chain.

The sentence takes the place of the question and has no answer; accepted premises begin the explanation::

    [CLS] sentence (explanation) p_1. p_2. [SEP] candidate [SEP]
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from entail.arcf.chains.chain import Search, Step, Stopped, follow
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer, StepScores
from entail.arcf.scoring.scorer import Scorer
from entail.data.text import premise_key
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.index.protocol import Floats, Ints
from entail.progress import Progress, ProgressCallback

DAMPING = 60
"""Constant added to every rank in a fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""


def score_next(
    scorer: Scorer, sentence: str, accepted: Sequence[str], candidates: Sequence[str]
) -> StepScores:
    """Score candidates as next premises of a sentence below which some premises were accepted, in order.

    Raises:
        EvaluationError: If a score is not finite.
    """
    if not candidates:
        return StepScores(np.empty(0, dtype=np.float32))
    facts = FactTables(tuple(Fact(str(number), text, "") for number, text in enumerate(candidates)))
    return PremiseScorer(scorer, facts).score(_question(sentence), (), range(len(facts)), accepted=accepted)


def next_order(scores: Floats) -> Ints:
    """Return the order of retrieved candidates, best first, by the ranks of retriever and scorer.

    The two have no common scale, so their ranks are fused (sum of 1 / (60 + rank)); the scorer breaks ties.
    Its scores are given in the retriever's order.

    >>> next_order(np.array([0.3, 0.1, 0.2, 0.4], dtype=np.float32)).tolist()
    [0, 3, 1, 2]
    """
    by_scorer = np.argsort(-scores, kind="stable")
    reciprocal = 1 / (DAMPING + np.arange(1, len(scores) + 1))
    sums = reciprocal.copy()
    sums[by_scorer] += reciprocal
    order: Ints = by_scorer[np.argsort(-sums[by_scorer], kind="stable")]
    return order


@dataclass(frozen=True)
class Draft:
    """Premises that continue accepted ones: positions, the score of each when chosen, reason for the end."""

    facts: tuple[int, ...]
    scores: tuple[float, ...]
    stopped: Stopped


def draft_chain(
    sentence: str,
    accepted: Sequence[str],
    steps: PremiseScorer,
    neighbourhoods: Neighbourhoods,
    *,
    never: Collection[int] = (),
    search: Search | None = None,
    lock: AbstractContextManager[object] | None = None,
    progress: ProgressCallback | None = None,
) -> Draft:
    """Build a chain (Algorithm 1) that begins with accepted premises.

    Visible is vis_k(sentence, accepted, chosen). The lengths of the search count accepted premises; at least
    one premise is drafted.

    Sentences `accepted` below the one to explain need not be in the corpus. Premises at the positions `never`
    are not proposed. The lock is held while a step is scored.

    Raises:
        EvaluationError: If a score is not finite.
    """
    search, count, question = search or Search(), len(accepted), _question(sentence)
    search = Search(length=max(1, search.length - count), least=max(0, search.least - count))
    positions = [neighbourhoods.facts.positions.get(premise_key(text)) for text in accepted]
    in_corpus = [fact for fact in positions if fact is not None]
    own = [text for text, fact in zip(accepted, positions, strict=True) if fact is None]
    neighbours = np.concatenate(
        [steps.neighbours(question, neighbourhoods), *map(neighbourhoods.of_text, own)]
    )
    excluded = frozenset(never)

    def step_of(facts: tuple[int, ...]) -> Step:
        if progress is not None:
            progress(Progress(len(facts), search.length, 0.0, "drafting the chain", "premises"))
        near = neighbourhoods.visible(neighbours, [*in_corpus, *facts])
        visible = [fact for fact in near if fact not in excluded]
        with lock or nullcontext():
            return Step.of(facts, visible, (), steps.score(question, facts, visible, accepted=accepted))

    chain = follow(step_of, search)
    assert chain.stopped is not None
    scores = tuple(step.scores[0] for step, _ in zip(chain.steps, chain.facts, strict=False))
    return Draft(chain.facts, scores, chain.stopped)


def _question(sentence: str) -> Question:
    return Question("this sentence", sentence, "", {})
