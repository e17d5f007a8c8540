"""The ranking sees vectors alone: no rule knows that a candidate says what the query says."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from entail.aeenc.config import AeencConfig
from entail.aeenc.training import train_aeenc
from entail.data.records import Corpus, ExplanationTree
from entail.encoders.encoder import BiEncoder
from entail.index.flat import DenseIndex
from entail.statistics.ranking import ranks_of

SETTINGS = AeencConfig(
    base="tiny", rank=4, epochs=2, rounds=1, batch_size=8, k=8, learning_rate=0.02, precision="fp32"
)


@pytest.mark.parametrize("towers", ["single", "siamese", "dual"])
def test_other_texts_of_the_same_vectors_rank_the_same(
    home: Path, facts: Corpus, trees: tuple[ExplanationTree, ...], towers: str
) -> None:
    train_aeenc(facts, replace(SETTINGS, towers=towers), trees=trees, out=home / "mine")
    encoder = BiEncoder("mine")
    vectors = encoder.encode_premises(facts.texts)
    perturbed = Corpus.of("perturbed", [f"{text} ba" for text in facts.texts])
    conclusions = [tree.intermediates["int1"] for tree in trees]
    assert all(facts.position(text) is not None for text in conclusions)
    assert all(perturbed.position(text) is None for text in conclusions)
    scores, other = (
        DenseIndex(encoder, corpus, vectors).scores(conclusions) for corpus in (facts, perturbed)
    )
    np.testing.assert_allclose(scores, other, atol=1e-6)
    own = np.array([[facts.position(text)] for text in conclusions])
    children = [np.array([facts.position(tree.text(s)) for s in ("sent1", "sent2")]) for tree in trees]
    for wanted in (list(own), children):
        one, two = ranks_of(scores, wanted), ranks_of(other, wanted)
        assert np.array_equal(one.ranks, two.ranks)
