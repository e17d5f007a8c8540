"""Miniature entailment pairs over the words that `tiny` knows: a hypothesis is a part of its premise."""

from collections.abc import Callable

import numpy as np
import pytest

from entail.data.nli.pairs import NliPair
from entail.data.nli.triplets import NliTriplets, nli_triplets

SYLLABLES = [a + b for a in "bdfglmnprst" for b in "aeiou"]
"""The vocabulary of `tiny`."""


@pytest.fixture(scope="session")
def nli_pairs() -> Callable[..., list[NliPair]]:
    """Return what makes premises of 8 syllables, each with a part of itself and a sentence of others."""

    def made(count: int, *, seed: int = 0) -> list[NliPair]:
        draw = np.random.default_rng(seed)
        pairs: list[NliPair] = []
        for _ in range(count):
            words = list(draw.choice(SYLLABLES, size=8, replace=False))
            other_words = list(draw.choice(SYLLABLES, size=3, replace=False))
            premise = " ".join(words)
            part = " ".join(words[i] for i in np.sort(draw.permutation(8)[:3]))
            pairs.append(NliPair(premise, part, "entailment"))
            pairs.append(NliPair(premise, " ".join(other_words), "contradiction"))
            pairs.append(NliPair(premise, " ".join([*words[:1], *other_words]), "neutral"))
        return pairs

    return made


@pytest.fixture(scope="session")
def triplets(nli_pairs: Callable[..., list[NliPair]]) -> NliTriplets:
    return nli_triplets(nli_pairs(48))
