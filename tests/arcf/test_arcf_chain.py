"""Algorithm 1 by hand, lazily, by beam, many at once; rankings, and files of them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.arcf.chains.baselines import SingleFactRanker
from entail.arcf.chains.chain import Chain, Search, grow, grow_all
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.predictions import read_predictions, write_predictions
from entail.arcf.chains.ranking import ChainRanker, Ranked, Truncation
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.premises import Prompt
from entail.arcf.scoring.scorer import Scorer, ScorerForm
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.errors import DataError, EvaluationError, SettingsError
from entail.index.protocol import Floats
from tests.arcf.conftest import scattered

FACTS = FactTables(tuple(Fact(f"u{i}", f"f{i}", "T") for i in range(6)))
# The question sees f0 and f1, f0 sees f2, f2 sees f3; nobody sees f4 and f5.
LINKS = {"q": [0, 1], "f0": [2, 1], "f1": [0, 2], "f2": [3, 0], "f3": [2, 0], "f4": [5, 0], "f5": [4, 0]}


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


def neighbours() -> Neighbourhoods:
    return Neighbourhoods(FACTS, k=2, similarities=similarities)


WORTH = {"f0": 3.0, "f1": 1.0, "f2": 2.5, "f3": 2.0, None: 1.5}


def by_worth(prefix: list[str], candidate: list[str]) -> float:
    return WORTH[candidate[0].rstrip(".") if candidate else None]


def search(near: Neighbourhoods, inputs: Inputs, scorer: Any, how: Search) -> Chain:
    (question,) = inputs.questions([("q", "a")])
    visible = partial(near.visible, near.of_text("q a"))
    prompt = Prompt(Question("Q", "q", "a", {}), question, inputs)
    (chain,) = grow_all([grow(prompt, visible, how)], scorer.score)
    return chain


def built(fake: Any, by: Any = by_worth, how: Search | None = None) -> tuple[Chain, Any]:
    scorer = fake(by)
    inputs = Inputs(scorer.tokenize, scorer.frame, max_length=100, facts=FACTS.texts)
    near = neighbours()
    return search(near, inputs, scorer, how or Search(least=0)), scorer


def test_the_best_visible_fact_joins_until_the_bare_prefix_is_best(fake: Any) -> None:
    chain, scorer = built(fake)
    # f0 (3), then f2 (2.5) which f0 made visible, then f3 (2); f1 (1) is below the bare prefix (1.5).
    assert chain.facts == (0, 2, 3)
    assert chain.stopped == "bare prefix"
    assert [step.chosen for step in chain.steps] == [0, 2, 3, None]
    assert [step.newly_visible for step in chain.steps] == [(0, 1), (2,), (3,), ()]
    assert chain.steps[1].candidates == (2, 1)
    assert chain.steps[1].scores == (2.5, 1.0)
    assert chain.steps[1].stop_score == 1.5
    assert chain.scored == {1: 1.0}
    assert scorer.calls == [3, 3, 3, 2]


def test_it_does_not_stop_before_it_may_nor_goes_on_after(fake: Any) -> None:
    assert built(fake, how=Search(least=4))[0].facts == (0, 2, 3, 1)
    ended = built(fake, how=Search(least=4))[0]
    assert ended.stopped == "nothing visible"
    assert ended.steps[-1].chosen is None
    short, _ = built(fake, how=Search(length=2))
    assert short.facts == (0, 2)
    assert short.stopped == "length"
    assert short.scored == {1: 1.0}


def test_a_premise_that_the_rest_no_longer_needs_is_dropped(fake: Any) -> None:
    def by(prefix: list[str], candidate: list[str]) -> float:
        # Beside f3, f0 is worth less than the bare prefix; f2 and f3 stay what they are.
        return 1.0 if candidate == ["f0"] and "f3." in prefix else by_worth(prefix, candidate)

    assert built(fake, by)[0].facts == (0, 2, 3)
    pruned, scorer = built(fake, by, Search(least=0, prune=True))
    assert pruned.facts == (2, 3)
    assert pruned.scored == {0: 1.0, 1: 1.0}
    assert pruned.stopped == "bare prefix"
    assert scorer.calls == [3, 3, 3, 2, 6, 4]  # a bare prefix and a premise for each that may go, twice
    assert built(fake, by, Search(least=3, prune=True))[0].facts == (0, 2, 3)
    assert built(fake, by_worth, Search(least=0, prune=True))[0].facts == (0, 2, 3)


def test_scores_see_the_prefix(fake: Any) -> None:
    calls = []

    def by(prefix: list[str], candidate: list[str]) -> float:
        calls.append((tuple(prefix), tuple(candidate)))
        return by_worth(prefix, candidate)

    built(fake, by)
    assert (("q", "(answer)", "a.", "(explanation)", "f0.", "f2."), ("f3",)) in calls
    assert (("q", "(answer)", "a.", "(explanation)", "f0."), ()) in calls


def test_a_score_that_is_not_finite_is_refused(fake: Any) -> None:
    with pytest.raises(EvaluationError, match="Q: 1 of 3"):
        built(fake, lambda a, b: float("inf") if b == ["f1"] else 0.0)


def drifting(seed: int) -> Any:
    """Scores that move by at most 1 whenever the prefix changes."""

    def by(prefix: list[str], candidate: list[str]) -> float:
        name = candidate[0] if candidate else "bare"
        base = np.random.default_rng([seed, *map(ord, name)]).normal() * 3
        return float(base + np.random.default_rng([seed, len(prefix), *map(ord, name)]).uniform(-0.5, 0.5))

    return by


def wide(fake: Any, how: Search, seed: int) -> tuple[Chain, Any]:
    """Forty facts, every one of which sees ten."""
    facts = FactTables(tuple(Fact(f"u{i}", f"f{i}", "T") for i in range(60)))
    scorer = fake(drifting(seed))
    inputs = Inputs(scorer.tokenize, scorer.frame, max_length=100, facts=facts.texts)
    return search(scattered(facts, seed, k=20), inputs, scorer, how), scorer


@pytest.mark.parametrize("seed", range(3))
def test_lazy_finds_the_same_chain_for_less(fake: Any, seed: int) -> None:
    whole, dear = wide(fake, Search(), seed)
    # A score moves by 1 at most, so nothing that was 1 below the best can have become it.
    lazy, cheap = wide(fake, Search(margin=1.0), seed)
    assert lazy.facts == whole.facts
    assert lazy.stopped == whole.stopped
    assert set(lazy.scored) == set(whole.scored)
    assert sum(cheap.calls) < sum(dear.calls)


def test_a_beam_of_many_finds_what_greed_misses(fake: Any) -> None:
    def by(prefix: list[str], candidate: list[str]) -> float:
        """f1 looks worse at first, but is sure of what follows; behind f0 everything is as good."""
        if "f0." in prefix:
            return 0.0
        if not candidate:
            return 9.0 if prefix[-1] == "f2." else 0.0
        if candidate == ["f2"]:
            return 9.0 if prefix[-1] == "f1." else -9.0
        return {"f0": 1.0, "f1": 0.5}.get(candidate[0], -9.0)

    how = Search(least=0, length=4)
    assert built(fake, by, how)[0].facts == (0,)
    chain, _ = built(fake, by, Search(least=0, length=4, beam=4))
    assert chain.facts == (1, 2)
    assert chain.stopped == "bare prefix"
    assert [step.chosen for step in chain.steps] == [1, 2, None]
    same, _ = built(fake, how=Search(least=0, beam=2))
    assert same.facts[0] == 0
    assert set(same.scored) <= {0, 1, 2, 3} - set(same.facts)


@pytest.mark.parametrize(
    "told", [{"length": 0}, {"least": -1}, {"beam": 0}, {"margin": -1.0}, {"margin": float("nan")},
             {"margin": 1.0, "beam": 2}]
)  # fmt: skip
def test_searches_that_cannot_be(told: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        Search(**told)


def ranker(fake: Any, **told: Any) -> ChainRanker:
    scorer = Scorer("fake", "fake@1", ScorerForm(), fake(by_worth))
    return ChainRanker(scorer, neighbours(), search=Search(least=0), **told)


def test_a_scorer_that_never_learnt_to_stop_goes_on(fake: Any) -> None:
    scorer = Scorer("fake", "fake@1", ScorerForm(stop=False), fake(by_worth))
    (ranked,) = ChainRanker(scorer, neighbours(), search=Search(least=0)).rank(ASKED[:1])
    assert ranked.chain is not None
    assert ranked.chain.facts == (0, 2, 3, 1)
    assert ranked.chain.stopped == "nothing visible"
    beam = ChainRanker(scorer, neighbours(), search=Search(least=0, beam=2, length=3))
    (other,) = beam.rank(ASKED[:1])
    assert other.chain is not None
    assert len(other.chain.facts) == 3


ASKED = [Question(f"Q{i}", "q", "a", {"u0": "CENTRAL"}) for i in range(5)]


def test_a_ranking_is_the_chain_the_scored_and_the_rest(fake: Any) -> None:
    (ranked,) = ranker(fake).rank(ASKED[:1])
    # The chain f0 f2 f3, then f1 (scored), then f5 before f4 by nearness to the explanation.
    assert ranked.ranking.tolist() == [0, 2, 3, 1, 5, 4]
    with pytest.raises(SettingsError, match="found 0"):
        ranker(fake, together=0)


def test_many_together_are_as_each_alone(fake: Any) -> None:
    alone = [ranked.ranking.tolist() for ranked in ranker(fake).rank(ASKED)]
    several = ranker(fake, together=3)
    assert [ranked.ranking.tolist() for ranked in several.rank(ASKED)] == alone
    assert several.scorer.pairs.calls == [9, 9, 9, 6, 6, 6, 6, 4]  # type: ignore[attr-defined]  # of the fake


def test_single_facts_are_ranked_alone(fake: Any) -> None:
    scorer = Scorer("fake", "fake@1", ScorerForm(), fake(lambda a, b: {"f1": 2.0, "f0": 1.0}.get(b[0], 0.0)))
    (ranked,) = SingleFactRanker(scorer, neighbours()).rank(ASKED[:1])
    assert ranked.ranking.tolist() == [1, 0, 2, 3, 4, 5]
    assert ranked.chain is None
    (few,) = SingleFactRanker(scorer, neighbours(), first=1).rank(ASKED[:1])
    assert few.ranking.tolist()[0] == 0
    with pytest.raises(SettingsError, match="found 0"):
        SingleFactRanker(scorer, neighbours(), first=0)


def test_what_did_not_fit_is_said() -> None:
    def unread(*dropped: int, facts_cut: int = 0) -> Truncation:
        return Truncation.of((Ranked(ASKED[0], np.arange(6), None, n) for n in dropped), facts_cut=facts_cut)

    assert unread(0).messages() == []
    truncation = unread(2, 1, -1, facts_cut=3)
    assert truncation.to_json() == {"questions_cut": 1, "explanations_cut": 2, "facts_cut": 3}
    assert [message[0] for message in truncation.messages()] == ["2", "1", "3"]


SETTINGS = {"scorer": "fake@1"}


def write(
    file: Path, fake: Any, asked: list[str], questions: Sequence[Question] = ASKED, **told: Any
) -> list[str]:
    """Rank into a file; remember who was ranked."""

    def rank(batch: Sequence[Question]) -> Any:
        asked.extend(question.id for question in batch)
        return ranker(fake).rank(batch)

    done = write_predictions(file, questions, FACTS, rank, settings=told.pop("settings", SETTINGS), **told)
    return [ranked.question.id for ranked in done]


def test_an_interrupted_ranking_goes_on_and_does_nothing_twice(fake: Any, tmp_path: Path) -> None:
    whole, file = tmp_path / "whole.tsv", tmp_path / "some.tsv"
    assert write(whole, fake, []) == ["Q0", "Q1", "Q2", "Q3", "Q4"]
    assert whole.read_text(encoding="utf-8").splitlines()[:2] == ["Q0\tu0", "Q0\tu2"]
    assert read_predictions(whole, FACTS)["Q4"].tolist() == [0, 2, 3, 1, 5, 4]
    content = whole.read_bytes()
    for cut in (0, 35, 36, 101, len(content)):
        write(file, fake, [], resume=False)
        file.write_bytes(content[:cut])
        ranked_ids: list[str] = []
        done = write(file, fake, ranked_ids)
        assert file.read_bytes() == content
        assert done == ranked_ids == [f"Q{i}" for i in range(cut * 5 // len(content), 5)]


def test_another_ranking_is_not_mixed_in(fake: Any, tmp_path: Path) -> None:
    file = tmp_path / "some.tsv"
    write(file, fake, [], top=2)
    assert len(file.read_text(encoding="utf-8").splitlines()) == 10
    with pytest.raises(SettingsError, match="scorer: expected 'other'"):
        write(file, fake, [], top=2, settings={"scorer": "other"})
    with pytest.raises(SettingsError, match="lines a question"):
        write(file, fake, [])
    with pytest.raises(SettingsError, match="found 0"):
        write(file, fake, [], top=0)
    file.write_text("no tab\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 1"):
        read_predictions(file, FACTS)
    twice = write_predictions(file, [ASKED[0]] * 2, FACTS, lambda batch: [], settings={})
    with pytest.raises(SettingsError, match="twice"):
        list(twice)


def test_no_question_gets_the_ranking_of_another(fake: Any, tmp_path: Path) -> None:
    file = tmp_path / "some.tsv"
    ranked_ids: list[str] = []
    write(file, fake, ranked_ids, ASKED[:3])
    for changed in (replace(ASKED[1], stem="p"), replace(ASKED[1], answer="b")):
        with pytest.raises(SettingsError, match="the ranking of another question of the id 'Q1'"):
            write(file, fake, ranked_ids, [ASKED[0], changed])
    # Another explanation is no other question, and fewer or more of them are no other file.
    write(file, fake, ranked_ids, [replace(ASKED[2], gold={}), ASKED[3]])
    write(file, fake, ranked_ids)
    assert ranked_ids == ["Q0", "Q1", "Q2", "Q3", "Q4"]
    digests = tmp_path / "some.tsv.questions.json"
    assert len(json.loads(digests.read_text(encoding="utf-8"))) == 5
    digests.unlink()
    with pytest.raises(DataError, match=r"some\.tsv\.questions\.json"):
        write(file, fake, ranked_ids)
    write(file, fake, ranked_ids, resume=False)
    assert ranked_ids[5:] == ["Q0", "Q1", "Q2", "Q3", "Q4"]


def test_a_killed_ranking_knows_its_questions(fake: Any, tmp_path: Path) -> None:
    file = tmp_path / "some.tsv"
    running = write_predictions(
        file, ASKED, FACTS, lambda batch: ranker(fake).rank(batch), settings=SETTINGS, resume=False
    )
    next(running)
    running.close()
    with file.open("a", encoding="utf-8") as opened:
        opened.write("Q1\tu0\n")
    # Of the incomplete question nothing is kept, so it may have changed meanwhile.
    ranked_ids: list[str] = []
    write(file, fake, ranked_ids, [replace(q, stem="p q r") if q.id == "Q1" else q for q in ASKED])
    assert ranked_ids == ["Q1", "Q2", "Q3", "Q4"]
    with pytest.raises(SettingsError, match="Q1"):
        write(file, fake, [])
