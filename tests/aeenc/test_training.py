"""Ways to train, on a random BERT of one layer: does it learn what it says it learns?"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from entail.aeenc.losses import LOSSES
from entail.aeenc.pairs import TrainingPairs, gold_pairs, judged_pairs
from entail.aeenc.training import train_aeenc
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus
from entail.encoders.encoder import BiEncoder
from entail.index.protocol import Floats
from entail.training.method import Run
from tests.aeenc.conftest import Trees, small


def judgements_of(trees: Trees) -> Judgements:
    """Let a team judge as the trees do: their distractors and a fact of the next tree are rejected."""
    verdicts = []
    for tree, other in zip(trees, [*trees[1:], trees[0]], strict=True):
        for parent, child in tree.pairs:
            verdicts.append(JudgedPair(parent, child, True))
            verdicts.append(JudgedPair(parent, tree.text("sent4"), False))
            verdicts.append(JudgedPair(parent, other.text("sent1"), False))
    return Judgements.of_pairs(verdicts, roots=(tree.hypothesis for tree in trees))


Train = Callable[..., tuple[Floats, Floats]]


@pytest.fixture
def train(home: Path, facts: Corpus, trees: Trees) -> Train:
    """Return what trains on the trees, or on the same as judgements, and encodes all queries and premises."""

    def trained(source: str = "gold", **changes: Any) -> tuple[Floats, Floats]:
        learnt: Any = {"judgements": judgements_of(trees)} if source == "judgements" else {"trees": trees}
        if source:
            run = Run(out=home / "mine", resume=False)
            done = train_aeenc(facts, small(**changes), **learnt, run=run)
            assert len(done.further["samples"]) == changes.get("rounds", 0)
        encoder = BiEncoder("mine" if source else "tiny")
        queries = gold_pairs(facts, trees).queries
        return encoder.encode_queries(queries), encoder.encode_premises(facts.texts)

    return trained


def loss_of(vectors: tuple[Floats, Floats], pairs: TrainingPairs, loss: str) -> float:
    similarities = torch.from_numpy(vectors[0] @ vectors[1].T)
    labels = torch.zeros(similarities.shape, dtype=torch.int8)
    for row, (positives, negatives) in enumerate(zip(pairs.positives, pairs.negatives, strict=True)):
        labels[row, positives], labels[row, negatives] = 1, -1
    return float(LOSSES[loss](similarities, labels, small())[0])


def distance(one: Floats, other: Floats) -> float:
    return float(np.square(one - other).sum(axis=1).mean())


@pytest.mark.parametrize("towers", ["single", "siamese", "dual"])
@pytest.mark.parametrize(
    ("loss", "source", "rounds"),
    [("triplet", "gold", 1), ("contrastive", "judgements", 0), ("softmax", "gold", 0)],
)
def test_every_way_to_train_learns(
    train: Train, facts: Corpus, trees: Trees, loss: str, source: str, rounds: int, towers: str
) -> None:
    pairs = gold_pairs(facts, trees) if source == "gold" else judged_pairs(facts, judgements_of(trees))
    base, mine = train(""), train(source, loss=loss, towers=towers, rounds=rounds)
    assert loss_of(mine, pairs, loss) < loss_of(base, pairs, loss)
    # A tower that is not trained stays as it was; queries move in any case.
    assert distance(mine[0], base[0]) > 1e-3
    assert (distance(mine[1], base[1]) > 1e-3) == (towers != "single")


def test_alpha_keeps_vectors_nearer_to_the_base(train: Train) -> None:
    base = train("")
    free, regularised = (train(towers="dual", learning_rate=0.05, alpha=alpha) for alpha in (0.0, 3.0))
    for side in (0, 1):
        assert distance(regularised[side], base[side]) < distance(free[side], base[side])


def test_complete_decisions_teach_as_gold_trees_do(train: Train, facts: Corpus, trees: Trees) -> None:
    """Premises that nobody judged are further from a sentence than if only rejected ones are negatives."""
    accepted = judged_pairs(facts, judgements_of(trees)).positives
    margins = []
    for complete in (False, True):
        queries, premises = train("judgements", loss="softmax", live_k=100, complete=complete)
        rows = zip(queries @ premises.T, accepted, strict=True)
        margins.append(np.mean([row[at].mean() - row.mean() for row, at in rows]))
    assert margins[1] > margins[0]
    # Authors who never reject can train so, too.
    accepted_alone = Judgements.of_pairs(JudgedPair("ba be", text, True) for text in facts.texts[:3])
    training = train_aeenc(facts, small(complete=True, live_k=100), judgements=accepted_alone)
    assert training.counts["positives"] == 3
