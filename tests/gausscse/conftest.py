"""Miniature entailment pairs over the words that `tiny` knows: a hypothesis is a part of its premise."""

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.data.nli.triplets import nli_triplets
from tests.conftest import SYLLABLES


def nli_pairs(count: int, *, seed: int = 0) -> list[NliPair]:
    """Make premises of 8 syllables, each with a part of itself and a sentence of others."""
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


def nli_rows(count: int, *, seed: int = 0) -> list[dict[str, str]]:
    """Return such pairs as rows of a file."""
    pairs = nli_pairs(count, seed=seed)
    return [{"premise": p.premise, "hypothesis": p.hypothesis, "label": p.label} for p in pairs]


TRIPLETS = nli_triplets(nli_pairs(48))
