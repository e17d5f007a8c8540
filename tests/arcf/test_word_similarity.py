"""Lexical similarity of a question and a fact, weighed as all facts are."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.arcf.scoring.priors import PremisePriors, Weights
from entail.arcf.scoring.terms import BUCKETS, WORDS, WordSimilarity
from entail.data.worldtree.tables import Fact, FactTables
from entail.errors import EncoderError

TEXTS = st.lists(st.sampled_from(["ice", "cold", "fire", "melting", "the", "of"]), max_size=5).map(" ".join)


def test_similarity_by_hand() -> None:
    """Of three facts all have "ice", one has "cold"; "the" is a stop word, "snow" stands in none."""
    words = WordSimilarity.of(["the ice is cold", "ice melts", "ice"])
    common, rare, new = 1 + np.log(4 / 4), 1 + np.log(4 / 2), 1 + np.log(4 / 1)
    assert words.idf.shape == (BUCKETS,)
    assert sorted(set(words.idf.round(2))) == pytest.approx([common, rare, new], abs=0.01)
    similar = words.to(["the cold ice", "ice", "snow"])
    shares = similar(["cold snow", "ice ice cold", ""])
    norm = np.hypot(common, rare)
    cold, twice = np.hypot(rare, new), np.hypot(2 * common, rare)
    expected = [
        [rare**2 / (norm * cold), 0.0, new / cold],
        [(2 * common**2 + rare**2) / (norm * twice), 2 * common / twice, 0.0],
        [0.0, 0.0, 0.0],
    ]
    np.testing.assert_allclose(shares, expected, rtol=2e-3, atol=1e-6)
    assert shares.dtype == np.float32
    assert similar(["melting"]).tolist() == [[0.0, 0.0, 0.0]]
    assert words.to(["it melts"])(["melting"]).tolist() == [[pytest.approx(1.0)]], "stems, not words"


def test_a_few_candidates_are_weighed_as_all_facts_are() -> None:
    facts = ["ice is cold", "ice melts", "ice floats", "iron rusts"]
    words = WordSimilarity.of(facts)
    all_of_them, subset = words.to(facts)(["cold ice"]), words.to(facts[1:3])(["cold ice"])
    assert subset.tolist() == [pytest.approx(all_of_them[0, 1:3].tolist())]


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS)
def test_it_is_a_share_and_whole_for_the_same_words(facts: list[str], text: str) -> None:
    shares = WordSimilarity.of(facts).to([*facts, text])([text])[0]
    assert shares.min() >= 0
    assert shares.max() <= 1 + 1e-5
    stems = set(text.split()) - {"the", "of"}
    assert shares[-1] == pytest.approx(1.0 if stems else 0.0, abs=1e-5)


def test_what_is_kept_is_what_was_learnt(tmp_path: Path) -> None:
    words = WordSimilarity.of(["ice is cold", "fire is hot"])
    words.save(tmp_path)
    assert (tmp_path / WORDS).stat().st_size < 80_000
    again = WordSimilarity.read(tmp_path)
    assert again.idf.tolist() == words.idf.tolist()
    (tmp_path / WORDS).write_bytes(b"torn")
    with pytest.raises(EncoderError, match=WORDS):
        WordSimilarity.read(tmp_path)


def test_alone_it_is_a_term_and_makes_nothing_visible() -> None:
    facts = FactTables((Fact("x", "ice is cold", "T"), Fact("y", "fire is hot", "T")))
    words = WordSimilarity.of(facts.texts)
    priors = PremisePriors(facts, words=words, weights=Weights(similarity=3.0))
    evidence = priors.evidence("cold ice")
    assert evidence((), [1, 0]).tolist() == pytest.approx([0.0, 3.0], rel=1e-3)
    assert evidence.terms((0,), [0]).shape == (1, 1)
    assert evidence((), []).shape == (0,)
    assert evidence.neighbour_bonus is None
    assert [term((), [0])[0] for term in priors.evidence_of_each(["cold ice", "hot fire"])] == pytest.approx(
        [3.0, 0.0], rel=1e-3
    )
