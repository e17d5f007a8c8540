"""Continuations of a sentence and the premises accepted below it: candidates scored, a chain drafted."""

from collections.abc import Sequence
from threading import RLock
from typing import Any

import numpy as np
import pytest

from entail.arcf.chains.chain import Search, corpus_facts
from entail.arcf.chains.next_premise import Draft, draft_chain, score_next
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.scorer import Scorer, ScorerForm
from entail.data.records import Corpus
from entail.index.protocol import Floats
from entail.progress import Progress
from tests.arcf.conftest import FakeScorer

CORPUS = Corpus.of("forty", [f"f{i}" for i in range(40)])
FACTS = corpus_facts(CORPUS)
SENTENCE = "s t"


def around(seed: int, k: int = 8) -> Neighbourhoods:
    """Return neighbourhoods by chance, the same for the same seed."""

    def near(texts: Sequence[str]) -> Floats:
        draws = [np.random.default_rng([seed, *map(ord, text)]).random(len(FACTS.facts)) for text in texts]
        return np.stack(draws).astype(np.float32)

    return Neighbourhoods(FACTS, k=k, similarities=near)


def by(seed: int) -> Any:
    """Scores that depend on every word of prefix and candidate; the bare prefix is as good as any."""

    def score(prefix: list[str], candidate: list[str]) -> float:
        seeds = [seed, *map(ord, " ".join(prefix) + "|" + "".join(candidate))]
        return float(np.random.default_rng(seeds).normal())

    return score


def scorer(score: Any, *, stop: bool = True) -> Scorer:
    return Scorer("fake", "fake@1", ScorerForm(stop=stop), FakeScorer(score))


def drafted(score: Any, near: Neighbourhoods, accepted: Sequence[str] = (), **told: Any) -> Draft:
    return draft_chain(SENTENCE, accepted, PremiseScorer(scorer(score), FACTS), near, **told)


def test_candidates_are_scored_after_the_sentence_and_what_was_accepted() -> None:
    read: list[tuple[str, str]] = []

    def score(prefix: list[str], candidate: list[str]) -> float:
        read.append((" ".join(prefix), " ".join(candidate)))
        return float(len(candidate))

    step = score_next(scorer(score), "ice melts", ["b b", "a."], ["c", "d e"])
    assert read == [("ice melts (explanation) b b. a.", candidate) for candidate in ("", "c", "d e")]
    assert step.scores.tolist() == [1.0, 2.0]
    assert step.stop_score == 0.0
    endless = scorer(score, stop=False)
    assert score_next(endless, "ice melts", ["b b"], ["c"]).stop_score is None
    assert len(score_next(endless, "ice melts", ["b b"], []).scores) == 0


@pytest.mark.parametrize("seed", range(3))
def test_a_draft_goes_on_as_the_whole_chain_does(seed: int) -> None:
    near, how = around(seed), Search(length=6, least=2)
    whole = drafted(by(seed), near, search=how)
    assert len(whole.facts) >= 2
    texts = [FACTS.texts[fact] for fact in whole.facts]
    for count in range(1, len(texts)):
        rest = drafted(by(seed), near, texts[:count], search=how)
        assert rest.facts == whole.facts[count:]
        assert rest.scores == pytest.approx(whole.scores[count:])
        assert rest.stopped == whole.stopped


def test_it_stops_where_the_explanation_as_it_is_scores_best() -> None:
    def score(prefix: list[str], candidate: list[str]) -> float:
        return 1.5 if not candidate else 2.0 - len(prefix) / 5

    draft = drafted(score, around(0), search=Search(length=9, least=1))
    assert (len(draft.facts), draft.stopped) == (1, "bare prefix")
    assert draft.scores == pytest.approx((1.4,))
    # What was accepted counts: three at least are there already, so nothing has to be added.
    none = drafted(score, around(0), ["x", "y", "z"], search=Search(length=9, least=3))
    assert (none.facts, none.stopped) == ((), "bare prefix")
    assert len(drafted(score, around(0), ["x"], search=Search(length=9, least=3)).facts) == 2


def test_its_length_counts_what_was_accepted_and_it_drafts_at_least_one() -> None:
    events: list[Progress] = []
    how = Search(length=4, least=4)
    draft = drafted(by(1), around(1), ["f1", "not a fact"], search=how, progress=events.append)
    assert (len(draft.facts), draft.stopped) == (2, "length")
    assert [(event.done, event.total) for event in events] == [(0, 2), (1, 2)]
    assert 1 not in draft.facts
    assert len(drafted(by(1), around(1), [f"f{i}" for i in range(9)], search=how).facts) == 1


def test_an_accepted_sentence_outside_the_corpus_has_neighbours() -> None:
    near, candidates = around(3, k=2), set[str]()

    def score(prefix: list[str], candidate: list[str]) -> float:
        candidates.update(candidate)
        return 0.0

    drafted(score, near, ["f5", "own words"], search=Search(length=3), lock=RLock())
    neighbours = [near.of_text(SENTENCE), near.of_fact(5), near.of_text("own words")]
    assert candidates == {f"f{fact}" for facts in neighbours for fact in facts if fact != 5}
