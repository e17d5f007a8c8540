"""Next premises of a sentence and its accepted premises: scores of candidates, a drafted chain.

The sentence takes the place of the question and has no answer; accepted premises begin the explanation::

    [CLS] sentence (explanation) p_1. p_2. [SEP] candidate [SEP]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from entail.arcf.chains.baselines import fuse_rankings
from entail.arcf.chains.chain import Chain, Search, Stopped, grow, grow_all
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer, StepScores
from entail.arcf.scoring.scorer import Scorer
from entail.data.text import premise_key
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.encoders.cross.pairs import Pair
from entail.index.protocol import Floats, Ints
from entail.progress import Progress, ProgressCallback

MARGIN = 1.0
"""Margin of the lazy search of a draft, see `Search`."""


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

    The two have no common scale, so their rankings are fused (`fuse_rankings`); the scorer breaks ties.

    >>> next_order(np.array([0.3, 0.1, 0.2, 0.4], dtype=np.float32)).tolist()
    [0, 3, 1, 2]

    Args:
        scores: Scores by the scorer, of the candidates in the retriever's order.
    """
    if not len(scores):
        return np.empty(0, dtype=np.int64)
    return fuse_rankings([np.argsort(-scores, kind="stable"), np.arange(len(scores))])


@dataclass(frozen=True)
class Draft:
    """A chain that continues accepted premises.

    Attributes:
        facts: Positions of its premises, in order.
        scores: Score of each when it was chosen.
        stopped: Reason for the end.
        dropped: As in `StepScores`, at the end.
        cut: Premises that were scored at some step and truncated.
    """

    facts: tuple[int, ...]
    scores: tuple[float, ...]
    stopped: Stopped
    dropped: int = 0
    cut: frozenset[int] = frozenset()


def draft_chain(
    sentence: str,
    accepted: Sequence[str],
    steps: PremiseScorer,
    neighbourhoods: Neighbourhoods,
    *,
    never: Collection[int] = (),
    search: Search | None = None,
    score: Callable[[Sequence[Pair]], Floats] | None = None,
    progress: ProgressCallback | None = None,
) -> Draft:
    """Build a chain (Algorithm 1) that begins with accepted premises.

    Visible is vis_k(sentence, accepted, chosen). The lengths of the search count accepted premises; at least
    one premise is drafted.

    Args:
        sentence: Sentence to explain.
        accepted: Sentences accepted below it, in order; they need not be in the corpus.
        steps: Scorer of chains over the corpus.
        neighbourhoods: Visible premises of the corpus.
        never: Positions of premises that are not proposed, beside the accepted ones.
        search: Settings; default: lazy, with `MARGIN`.
        score: Scorer of pairs; default: that of `steps`.
        progress: Called with the number of chosen premises.

    Raises:
        EvaluationError: If a score is not finite.
    """
    search, count = search or Search(margin=MARGIN), len(accepted)
    length, stop = max(1, search.length - count), search.stop and steps.scorer.form.stop
    search = replace(search, length=length, least=max(0, search.least - count), stop=stop)
    positions = [neighbourhoods.facts.positions.get(premise_key(text)) for text in accepted]
    known_facts = [fact for fact in positions if fact is not None]
    prompt = steps.prompt(_question(sentence), accepted)
    near = [neighbourhoods.of_text(sentence, evidence=prompt.evidence)]
    near += [
        neighbourhoods.of_text(text) for text, fact in zip(accepted, positions, strict=True) if fact is None
    ]
    neighbours, excluded = np.concatenate(near), set(never)

    def visible(facts: Sequence[int]) -> list[int]:
        if progress is not None:
            progress(Progress(len(facts), length, 0.0, "drafting the chain", "premises"))
        return [
            fact
            for fact in neighbourhoods.visible(neighbours, [*known_facts, *facts])
            if fact not in excluded
        ]

    (chain,) = grow_all([grow(prompt, visible, search)], score or steps.scorer.pairs.score)
    return _draft_of(chain, cut=steps.inputs.cut)


def _draft_of(chain: Chain, *, cut: frozenset[int]) -> Draft:
    scored = [dict(zip(step.candidates, step.scores, strict=True)) for step in chain.steps]
    scores = tuple(scored[number][fact] for number, fact in enumerate(chain.facts))
    truncated = cut.intersection(fact for step in scored for fact in step)
    return Draft(chain.facts, scores, chain.stopped, chain.dropped, truncated)


def _question(sentence: str) -> Question:
    return Question("this sentence", sentence, "", {})
