"""Algorithm 1 by hand, a chain one step at a time, and rankings by chains."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.arcf.chains.chain import Chain, NearestSteps, Search, Step, build_chain, corpus_facts, follow
from entail.arcf.chains.example import EXAMPLE
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.scorer import Scorer, ScorerForm, load_scorer
from entail.data.bundled import sample_corpus
from entail.data.records import Corpus
from entail.data.text import premise_key
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.errors import SettingsError
from entail.index.protocol import Floats
from tests.arcf.conftest import FakeScorer

FACTS = FactTables(tuple(Fact(f"u{i}", f"f{i}", "T") for i in range(6)))
# The question sees f0 and f1, f0 sees f2, f2 sees f3; none sees f4 and f5.
LINKS = {"q": [0, 1], "f0": [2, 1], "f1": [0, 2], "f2": [3, 0], "f3": [2, 0], "f4": [5, 0], "f5": [4, 0]}
QUESTION = Question("Q", "q", "a", {"u0": "CENTRAL"})


def similarities(texts: Sequence[str]) -> Floats:
    matrix = np.zeros((len(texts), 6), dtype=np.float32)
    for row, text in enumerate(texts):
        words = text.split()
        for rank, fact in enumerate(LINKS[words[0] if len(words) < 3 else "q"]):
            matrix[row, fact] = 1 - 0.1 * rank
        if len(words) == 1:
            matrix[row, int(words[0][1])] = 2
        elif len(words) > 2:  # a finished explanation: f5 is the nearest of the rest
            matrix[row, 5] = 0.5
    return matrix


NEAR = Neighbourhoods(FACTS, k=2, similarities=similarities)
WORTH = {"f0": 3.0, "f1": 1.0, "f2": 2.5, "f3": 2.0, None: 1.5}


def by_worth(prefix: list[str], candidate: list[str]) -> float:
    return WORTH[candidate[0].rstrip(".") if candidate else None]


def built(*, stop: bool = True, **search: int) -> Chain:
    scorer = Scorer("fake", "fake@1", ScorerForm(stop=stop), FakeScorer(by_worth))
    return build_chain(QUESTION, PremiseScorer(scorer, FACTS), NEAR, Search(**{"least": 0, **search}))


def test_the_best_visible_premise_joins_until_the_bare_prefix_is_best() -> None:
    chain = built()
    # f0 (3), then f2 (2.5) which f0 made visible, then f3 (2); f1 (1) is below the bare prefix (1.5).
    assert (chain.facts, chain.stopped) == ((0, 2, 3), "bare prefix")
    assert [step.chosen for step in chain.steps] == [(), (0,), (0, 2), (0, 2, 3)]
    assert [step.newly_visible for step in chain.steps] == [{0, 1}, {2}, {3}, frozenset()]
    assert (chain.steps[1].candidates, chain.steps[1].scores) == ((2, 1), (2.5, 1.0))
    assert chain.steps[1].stop_score == 1.5
    # The chain, then f1 (scored), then f5 before f4 by nearness to the explanation.
    assert chain.ranking(QUESTION, NEAR).tolist() == [0, 2, 3, 1, 5, 4]


def test_it_does_not_stop_before_it_may_nor_goes_on_after() -> None:
    endless = built(stop=False)
    for chain in (built(least=4), endless):
        assert (chain.facts, chain.stopped) == ((0, 2, 3, 1), "nothing visible")
    assert [step.stop_score for step in endless.steps] == [None] * 5
    short = built(length=2)
    assert (short.facts, short.stopped) == ((0, 2), "length")
    # It waits for a step that is not there yet.
    waiting = follow(lambda facts: lines(facts) if len(facts) < 2 else None, Search(length=4, least=2))
    assert (waiting.facts, waiting.stopped, len(waiting.steps)) == ((0, 1), None, 2)
    for wrong in ({"length": 0}, {"least": -1}):
        with pytest.raises(SettingsError):
            Search(**wrong)


def lines(facts: tuple[int, ...]) -> Step:
    """Of premises 0 to 5 those not chosen, the first best; the bare prefix is worth 0.5."""
    left = [fact for fact in range(6) if fact not in facts]
    return Step(facts, tuple(left), tuple(1.0 - 0.2 * fact for fact in left), 0.5, frozenset())


@pytest.mark.parametrize(
    ("premises", "facts", "by_hand", "stopped"),
    [
        ((), (0, 1, 2), 0, "bare prefix"),  # 3 is worth 0.4, less than the bare prefix
        ((5, 3), (5, 3, 0, 1), 2, "length"),
        ((5, 5, 4), (5, 0, 1, 2), 1, "length"),  # after one that is not visible the others no longer apply
        ((0, 1, 2, 5), (0, 1, 2, 5), 4, "length"),  # a user may go on where it would have stopped
    ],
)
def test_what_a_user_chose_comes_first(premises: Any, facts: Any, by_hand: int, stopped: str) -> None:
    chain = follow(lines, Search(length=4, least=2), premises=premises)
    assert (chain.facts, chain.by_hand, chain.stopped) == (facts, by_hand, stopped)


def test_words_shared_with_what_was_chosen_lead_on() -> None:
    texts = ["snow is ice", "ice is cold water", "water flows downhill", "a rock is hard"]
    facts = corpus_facts(Corpus.of("four", texts))
    assert facts.facts[1] == Fact(premise_key("ice is cold water"), "ice is cold water", "four")
    near = Neighbourhoods(facts, k=2)
    example = Question("Q", "what is snow", "ice", {})
    chain = build_chain(example, NearestSteps(near), near, Search(length=3))
    assert (chain.facts, chain.stopped) == ((0, 1, 2), "length")
    assert [step.stop_score for step in chain.steps] == [None] * 3
    assert chain.steps[0].newly_visible == {0, 1}
    assert 2 in chain.steps[1].newly_visible | chain.steps[2].newly_visible
    assert chain.ranking(example, near).tolist() == [0, 1, 2, 3]


def test_the_packaged_scorer_ranks_the_whole_example_far_above_shared_words() -> None:
    facts = corpus_facts(sample_corpus())
    scorer = load_scorer(str(Path(__file__).parents[2] / "models" / "arcf-minilm"))
    near, gold = Neighbourhoods(facts, k=60), [facts.positions[uid] for uid in EXAMPLE.gold]
    lowest = []
    for ranker in (PremiseScorer(scorer, facts), NearestSteps(near)):
        ranking = build_chain(EXAMPLE, ranker, near, Search()).ranking(EXAMPLE, near).tolist()
        lowest.append(max(ranking.index(fact) for fact in gold))
    assert 2 * lowest[0] < lowest[1]
