"""Terms of scores: shared word pieces, explanatory power, word similarity."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.terms import (
    BUCKETS,
    EXPLANATIONS,
    POWER,
    SHARED_PIECES,
    SIMILARITY,
    WORDS,
    Explanations,
    PremiseTerms,
    QuestionTerms,
    SharedPieces,
    Terms,
    WordSimilarity,
)
from entail.arcf.tower import ScorerTower
from entail.data.text import premise_key
from entail.data.worldtree.tables import Fact, FactTables
from entail.encoders.catalogue import resolve
from entail.errors import EncoderError
from entail.index.protocol import Floats
from entail.training.adapters.tower import Lora
from tests.arcf.conftest import FakeScorer


def test_overlap_is_the_cosine_of_weighted_sets() -> None:
    """Of three facts two have 1, one has 2 and one 3: by hand."""
    pieces = SharedPieces.of([(1, 2), (1,), (3, 3)])
    common, rare = np.log(4 / 3), np.log(4 / 2)
    assert pieces.idf.tolist() == pytest.approx([0.0, common, rare, rare])
    expected = common**2 / (np.hypot(common, rare) * common)
    overlaps = [pieces((1, 2), [(1, 1), (2, 1)]), pieces((3,), [(1,)]), pieces((), [(1,)])]
    assert np.concatenate(overlaps).tolist() == pytest.approx([expected, 1.0, 0.0, 0.0])
    assert pieces((99, 1), [(99, 1)]).tolist() == pytest.approx([1.0])


FACTS = FactTables(tuple(Fact(f"u{i}", text, "T") for i, text in enumerate(["a b", "c d", "e f", "never"])))


def _explanations() -> Explanations:
    """Two questions along two axes: the first explained by facts 0 and 1, the second by 1 and 2."""
    keys = tuple(premise_key(text) for text in FACTS.texts[:3])
    vectors = np.eye(2, 3, dtype=np.float16)
    return Explanations("tiny", vectors, np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), keys)


@pytest.fixture
def vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the encoder be one of texts that are vectors already."""

    def encode_queries(texts: Sequence[str]) -> Floats:
        return np.array([[float(x) for x in text.split()] for text in texts], dtype=np.float32)

    encoder = SimpleNamespace(encode_queries=encode_queries)
    monkeypatch.setattr("entail.arcf.scoring.terms.load", lambda name: encoder)


def _for(text: str, accepted: Sequence[str] = (), facts: FactTables = FACTS) -> QuestionTerms:
    """Return the explanatory power of facts for a question."""
    scorer = FakeScorer(lambda a, b: 0.0)
    inputs = Inputs(scorer.tokenize, scorer.frame, max_length=99, facts=facts.texts)
    return PremiseTerms(Terms(explanations=_explanations()), facts, inputs).of_questions([text], accepted)[0]


def _power(terms: QuestionTerms, chain: Sequence[int], candidates: Sequence[int]) -> list[float]:
    values: list[float] = terms((), chain, candidates)[:, 0].tolist()
    return values


@pytest.mark.usefixtures("vectors")
def test_power_and_the_neighbours_by_it_by_hand() -> None:
    terms = _for("0.8 0.6 0")
    first, second = 0.8**4, 0.6**4
    expected = np.log1p([0.0, first + second, first, second])
    assert _power(terms, (), [3, 1, 0, 2]) == pytest.approx(expected, rel=2e-3)
    # Fact 2 is chosen: the explanation it stands in counts four times.
    expected = np.log1p([first, first + 4 * second, 0.0])
    assert _power(terms, (2,), [0, 1, 3]) == pytest.approx(expected, rel=2e-3)
    assert _power(terms, (3,), [0]) == _power(terms, (), [0])
    assert _power(terms, (), []) == []
    # What explained similar questions is visible.
    words = np.array([[0.0, 0.0, 0.1, 0.2]], dtype=np.float32)
    near = Neighbourhoods(FACTS, k=2, similarities=lambda texts: words)
    assert near.of_text("0.8 0.6 0").tolist() == [3, 2]
    assert near.of_text("0.8 0.6 0", bonus=terms.neighbour_bonus).tolist() == [3, 1]


@pytest.mark.usefixtures("vectors")
def test_accepted_premises_equal_questions_and_other_tables() -> None:
    accepted = _for("0.8 0.6 0", accepted=["e f", "an own sentence"])
    assert _power(accepted, (), [0, 1]) == _power(_for("0.8 0.6 0"), (2,), [0, 1])
    for text in ("1 0 0", "-0.9 -0.4 0.17"):  # the same question as the first, and an opposite one
        assert _power(_for(text), (), [0, 1]) == [0, 0]
    other = _for("0.8 0.6 0", facts=FactTables((Fact("x", "new", "T"), Fact("y", "c d", "T"))))
    assert _power(other, (), [0, 1]) == pytest.approx([0, np.log1p(0.8**4 + 0.6**4)], rel=2e-3)
    with pytest.raises(EncoderError):
        _for("0.6 0.8")


def test_terms_are_read_as_they_were_written(tmp_path: Path) -> None:
    mine, words = _explanations(), WordSimilarity.of(["ice is cold", "fire is hot"])
    terms: Any = Terms(SharedPieces.of([(1, 2), (2,)]), mine, words)
    terms.save(tmp_path)
    read: Any = Terms.read(tmp_path, pieces=True, encoder="tiny", words=True)
    assert (read.names, read.explanations.keys) == (terms.names, mine.keys)
    for part in ("pieces", "words"):
        assert getattr(read, part).idf.tolist() == getattr(terms, part).idf.tolist()
    for part in ("vectors", "question", "fact"):
        np.testing.assert_array_equal(getattr(read.explanations, part), getattr(mine, part))
    assert "a b" not in (tmp_path / EXPLANATIONS).read_text(encoding="latin-1")

    Explanations("tiny", mine.vectors[:1], mine.question, mine.fact, mine.keys).save(tmp_path)
    (tmp_path / WORDS).write_bytes(b"damaged")
    for encoder, words_too in (("tiny", False), ("", True)):
        with pytest.raises(EncoderError):
            Terms.read(tmp_path, pieces=False, encoder=encoder, words=words_too)


def test_similarity_by_hand() -> None:
    """Of three facts all have "ice", one has "cold"; "the" is a stop word, "snow" stands in none."""
    words = WordSimilarity.of(["the ice is cold", "ice melts", "ice"])
    common, rare, new = 1 + np.log(4 / 4), 1 + np.log(4 / 2), 1 + np.log(4 / 1)
    assert words.idf.shape == (BUCKETS,)
    assert sorted(set(words.idf.round(2))) == pytest.approx([common, rare, new], abs=0.01)
    similar = words.to(["the cold ice", "ice", "snow"])
    norm = np.hypot(common, rare)
    cold, twice = np.hypot(rare, new), np.hypot(2 * common, rare)
    expected = [
        [rare**2 / (norm * cold), 0.0, new / cold],
        [(2 * common**2 + rare**2) / (norm * twice), 2 * common / twice, 0.0],
        [0.0, 0.0, 0.0],
    ]
    np.testing.assert_allclose(similar(["cold snow", "ice ice cold", ""]), expected, rtol=2e-3, atol=1e-6)
    assert words.to(["it melts"])(["melting"]).tolist() == [[pytest.approx(1.0)]], "stems, not words"


def test_weights_of_terms_are_learnt(tiny_home: Path) -> None:
    """If power is right and the other terms are wrong, the first comes to count more, these less."""
    tower = ScorerTower(resolve("tiny"), lora=Lora(rank=2), device="cpu", max_length=32, dropout=0.0)
    pieces = SharedPieces(np.ones(50, dtype=np.float32))
    tower.add_terms(Terms(pieces, _explanations(), WordSimilarity.of(["ba"])), [3.0, 2.0, 4.0])
    pairs = [((7, 8), (9, 10)), ((7, 8), (7, 8))]
    terms = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]], dtype=np.float32)
    scores = tower.scores(pairs, terms)
    loss: Any = torch.nn.functional.softplus(scores[1] - scores[0])
    loss.backward()
    gradients = {name: tower.parameters[f"head.{name}"].grad for name in (SHARED_PIECES, POWER, SIMILARITY)}
    signs = [float(gradient) > 0 for gradient in gradients.values() if gradient is not None]
    assert signs == [True, False, True]
    plain = tower.outputs(pairs)[:, 0].detach()
    assert (scores.detach() - plain).tolist() == pytest.approx([2.0, 3.0 + 4.0], abs=1e-5)
    assert tower.score(pairs, terms).tolist() == pytest.approx(scores.tolist(), abs=1e-5)
