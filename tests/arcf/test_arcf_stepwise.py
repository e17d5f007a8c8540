"""A chain one step at a time: as Algorithm 1 builds it, and as a person wants it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.arcf.chains.chain import Search
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.ranking import ChainRanker
from entail.arcf.chains.stepwise import NearestSteps, Step, corpus_facts, follow, score_step
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.scorer import Scorer, ScorerForm, list_scorers
from entail.data.records import Corpus
from entail.data.text import premise_key
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from tests.arcf.conftest import scattered

FACTS = FactTables(tuple(Fact(f"u{i}", f"f{i}", "T") for i in range(40)))
LONG = FactTables((Fact("u0", "f0", "T"), Fact("u1", "f1 " * 5, "T")))
ASKED = Question("Q", "q", "a", {})


def around(seed: int, k: int = 8) -> Neighbourhoods:
    return scattered(FACTS, seed, k=k)


def by(seed: int) -> Any:
    """Scores that depend on prefix and candidate; the bare prefix is as good as any."""

    def score(prefix: list[str], candidate: list[str]) -> float:
        seeds = [seed, len(prefix), *map(ord, "".join(prefix[4:]) + "|" + "".join(candidate))]
        return float(np.random.default_rng(seeds).normal())

    return score


@pytest.mark.parametrize("seed", range(3))
def test_left_alone_it_is_algorithm_1(fake: Any, seed: int) -> None:
    near, how = around(seed), Search(length=5, least=1)
    scorer = Scorer("fake", "fake@1", ScorerForm(), fake(by(seed)))
    (ranked,) = ChainRanker(scorer, near, search=how).rank([ASKED])
    chain = ranked.chain
    assert chain is not None

    steps = PremiseScorer(scorer, FACTS)
    walk = follow(lambda facts: score_step(ASKED, near.of_text("q a"), facts, steps, near), how)
    assert walk.facts == chain.facts
    assert walk.stopped == chain.stopped
    assert [step.stop_score for step in walk.steps] == [step.stop_score for step in chain.steps]
    assert [step.newly_visible for step in walk.steps] == [
        frozenset(step.newly_visible) for step in chain.steps
    ]
    assert walk.scored == chain.scored
    assert walk.ranking(ASKED, near).tolist() == ranked.ranking.tolist()


def lines(facts: tuple[int, ...]) -> Step:
    """Of facts 0 to 5 those not chosen, the first best; the bare prefix is worth 0.5."""
    left = [fact for fact in range(6) if fact not in facts]
    return Step(facts, tuple(left), tuple(1.0 - 0.2 * fact for fact in left), 0.5, frozenset())


def test_what_a_person_chose_comes_first() -> None:
    how = Search(length=4, least=2)
    assert follow(lines, how).facts == (0, 1, 2)  # 3 is worth 0.4, less than the bare prefix
    walk = follow(lines, how, premises=(5, 3))
    assert (walk.facts, walk.by_hand, walk.stopped) == ((5, 3, 0, 1), 2, "length")
    # Behind a fact that is not to be had the others are no longer what was meant.
    walk = follow(lines, how, premises=(5, 5, 4))
    assert (walk.facts, walk.by_hand) == ((5, 0, 1, 2), 1)
    # A person may go on where it would have stopped.
    walk = follow(lines, how, premises=(0, 1, 2, 5))
    assert (walk.facts, walk.stopped) == ((0, 1, 2, 5), "length")


def test_it_waits_for_a_person_and_for_a_step() -> None:
    how = Search(length=4, least=2)
    walk = follow(lines, how, premises=(4,), automatic=False)
    assert (walk.facts, walk.stopped, len(walk.steps)) == ((4,), None, 2)
    walk = follow(lambda facts: lines(facts) if len(facts) < 2 else None, how)
    assert (walk.facts, walk.stopped, len(walk.steps)) == ((0, 1), None, 2)
    none = Step((), (), (), None, frozenset())
    assert follow(lambda facts: none, how).stopped == "nothing visible"


def test_words_shared_with_what_was_chosen_lead_on() -> None:
    texts = ["snow is ice", "ice is cold water", "water flows downhill", "a rock is hard"]
    facts = corpus_facts(Corpus.of("four", texts))
    assert facts.facts[1] == Fact(premise_key("ice is cold water"), "ice is cold water", "four")
    near = Neighbourhoods(facts, k=2)
    example = Question("Q", "what is snow", "ice", {})
    first = near.of_text(example.text)
    walk = follow(
        lambda prefix: score_step(example, first, prefix, NearestSteps(near), near), Search(length=3)
    )
    assert walk.facts == (0, 1, 2)
    assert walk.stopped == "length"
    assert [step.stop_score for step in walk.steps] == [None] * 3
    assert walk.steps[0].newly_visible == {0, 1}
    assert 2 in walk.steps[1].newly_visible | walk.steps[2].newly_visible
    assert walk.ranking(example, near).tolist() == [0, 1, 2, 3]


def test_a_scorer_of_single_facts_sees_no_chosen_fact(fake: Any) -> None:
    calls = []

    def score(prefix: list[str], candidate: list[str]) -> float:
        calls.append((len(prefix), tuple(candidate)))
        return 0.0

    alone = PremiseScorer(Scorer("s", "s@1", ScorerForm(scheme="single-fact"), fake(score)), FACTS)
    assert alone.score(ASKED, (1, 2), (3, 4)).stop_score is None
    assert calls == [(4, ("f3",)), (4, ("f4",))]
    chains = PremiseScorer(Scorer("c", "c@1", ScorerForm(), fake(score)), FACTS)
    assert chains.score(ASKED, (1, 2), (3,)).stop_score == 0.0
    assert calls[2:] == [(6, ()), (6, ("f3",))]
    never = PremiseScorer(Scorer("n", "n@1", ScorerForm(stop=False), fake(score)), FACTS)
    assert never.score(ASKED, (), (3,)).stop_score is None
    short = PremiseScorer(Scorer("s", "s@1", ScorerForm(), fake(score, max_length=11)), LONG)
    assert [short.score(ASKED, (), candidates).cut for candidates in ((0,), (0, 1))] == [frozenset(), {1}]
    near = Neighbourhoods(LONG, k=2, similarities=lambda texts: np.ones((len(texts), 2), dtype=np.float32))
    walk = follow(
        lambda facts: score_step(ASKED, np.arange(2), facts, short, near), Search(length=2, least=2)
    )
    assert walk.cut == {1}


def test_scorers_are_listed_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path))
    assert list_scorers() == []

    def put(name: str, text: str) -> None:
        (tmp_path / name).mkdir()
        (tmp_path / name / "head.safetensors").write_bytes(b"")
        (tmp_path / name / "entail.json").write_text(text, encoding="utf-8")

    put("b-single", '{"method": "arcf", "scorer": {"scheme": "single-fact"}}')
    put("a-broken", '{"method": "arcf", "scorer": {"k": "many"}}')
    put("z-chains", '{"method": "arcf", "scorer": {"k": 60}}')
    put("arcf-minilm", '{"method": "arcf", "scorer": {"scheme": "single-fact"}}')
    put("gaussian", '{"method": "gausscse"}')
    scorers = list_scorers()
    assert [entry.name for entry in scorers] == ["arcf-minilm", "a-broken", "z-chains", "b-single"]
    assert scorers[2].form.k == 60
    assert "expected int as 'k'" in str(scorers[1].problem)
