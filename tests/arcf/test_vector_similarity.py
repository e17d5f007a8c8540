"""How near questions facts lie as vectors."""

from collections.abc import Sequence

import numpy as np
import pytest

from entail.arcf import vector_similarity
from entail.arcf.known import Known, Weights
from entail.arcf.vector_similarity import VectorSimilarity
from entail.data.worldtree_tables import Fact, FactTables
from entail.encoders.biencoder import load
from entail.index.protocol import Floats

TEXTS = ["ba bi", "bo", "bu ba", "bi"]


class _Counting:
    """An encoder whose texts are vectors already; it tells how many facts it was given."""

    asked = 0

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        return np.array([[float(x) for x in text.split()] for text in texts], dtype=np.float32)

    def encode_premises(self, texts: Sequence[str]) -> Floats:
        self.asked += len(texts)
        return self.encode_queries(texts)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> _Counting:
    found = _Counting()
    monkeypatch.setattr("entail.arcf.vector_similarity.load", lambda name: found)
    return found


def test_a_cosine_is_that_of_the_encoder(tiny_home: object) -> None:
    encoder = load("tiny")
    (near,) = VectorSimilarity("tiny").behind(["ba bo"], TEXTS)
    expected = encoder.encode_premises(TEXTS) @ encoder.encode_queries(["ba bo"])[0]
    np.testing.assert_allclose(near([3, 0, 0, 2]), expected[[3, 0, 0, 2]], rtol=1e-5, atol=1e-6)
    assert near([]).shape == (0,)


def test_a_fact_is_encoded_once_whatever_the_question(counting: _Counting) -> None:
    vectors = VectorSimilarity("any")
    facts = ["1 0", "0 1", "1 0", "0.6 0.8"]
    first, second = vectors.behind(["1 0", "0 1"], facts)
    assert first([0, 3, 2]).tolist() == pytest.approx([1, 0.6, 1])
    assert counting.asked == 2  # two of them read the same
    assert second([0, 1, 3]).tolist() == pytest.approx([0, 1, 0.8])
    assert counting.asked == 3
    assert vectors.behind(["0 1"], ["0 1"])[0]([0]).tolist() == [1]
    assert counting.asked == 3


def test_what_was_not_asked_for_longest_goes(counting: _Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_similarity, "KEPT", 2)
    (near,) = VectorSimilarity("any").behind(["1 0"], ["1 0", "0 1", "0.6 0.8"])
    assert near([0, 1]).tolist() == [1, 0]
    assert near([0, 2]).tolist() == pytest.approx([1, 0.6])
    assert near([0]).tolist() == [1]
    assert counting.asked == 3
    assert near([1]).tolist() == [0]
    assert counting.asked == 4


def test_it_counts_the_same_at_every_step(counting: _Counting) -> None:
    facts = FactTables(tuple(Fact(str(at), text, "") for at, text in enumerate(["1 0", "0.6 0.8"])))
    known = Known(facts, vectors=VectorSimilarity("any"), weights=Weights(cosine=3.0))
    (evidence,) = known.behind_each(["1 0"])
    assert evidence((), [0, 1]).tolist() == pytest.approx([3, 1.8])
    assert evidence((0,), [1]).tolist() == known.behind("1 0")((), [1]).tolist()
    assert evidence.nearness is None


def test_one_encoder_serves_power_and_cosine(counting: _Counting) -> None:
    vectors = VectorSimilarity("elsewhere", loaded=lambda: counting)  # type: ignore[arg-type, return-value]  # stands in for one
    assert vectors.behind(["1 0"], ["1 0"])[0]([0]).tolist() == [1]
