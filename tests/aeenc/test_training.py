"""Ways to train, on a random BERT of one layer: does it learn, and write, what it says it learns?

Interrupted anywhere and resumed, it has the files of an uninterrupted training, bit for bit.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from entail.aeenc import training
from entail.aeenc.losses import LOSSES
from entail.aeenc.pairs import TrainingPairs, gold_pairs, judged_pairs
from entail.aeenc.training import train_aeenc
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus
from entail.encoders.encoder import BiEncoder
from entail.index.protocol import Floats
from entail.training.adapters.tower import Tower, TowerEncoder
from entail.training.loop import fit
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


@pytest.fixture
def in_memory(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Keep the towers of a training."""
    recorded_towers: dict[str, Any] = {}

    class Recorded(TowerEncoder):
        def __init__(self, name: str, queries: Tower, premises: Tower | None, base: BiEncoder) -> None:
            recorded_towers.update(name=name, queries=queries, premises=premises, base=base)
            super().__init__(name, queries, premises, base)

    monkeypatch.setattr("entail.aeenc.training.TowerEncoder", Recorded)
    return recorded_towers


@pytest.mark.parametrize("towers", ["single", "siamese", "dual"])
@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("gold", {"loss": "triplet", "rounds": 1}),
        ("judgements", {"loss": "contrastive"}),
        ("gold", {"loss": "softmax", "tuning": "full", "learning_rate": 0.003}),
    ],
)
def test_every_way_to_train_learns(
    train: Train, facts: Corpus, trees: Trees, in_memory: Any, source: str, options: Any, towers: str
) -> None:
    pairs = gold_pairs(facts, trees) if source == "gold" else judged_pairs(facts, judgements_of(trees))
    base, mine = train(""), train(source, towers=towers, **options)
    assert loss_of(mine, pairs, options["loss"]) < loss_of(base, pairs, options["loss"])
    # A tower that is not trained stays as it was; queries move in any case.
    assert distance(mine[0], base[0]) > 1e-3
    assert (distance(mine[1], base[1]) > 1e-3) == (towers != "single")
    # What is read from the folder ranks as what was trained.
    trained = TowerEncoder(**in_memory)
    scores = trained.encode_queries(gold_pairs(facts, trees).queries) @ trained.encode_premises(facts.texts).T
    np.testing.assert_allclose(mine[0] @ mine[1].T, scores, atol=4e-3)
    loaded, plain = BiEncoder("mine"), BiEncoder("tiny")
    assert loaded.symmetric == (towers == "siamese")
    same_premises = loaded.premise_revision == plain.premise_revision
    assert same_premises == (towers == "single" and "tuning" not in options)


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


class Interrupted(BaseException):
    """Stands for the end of the process."""


def interrupting(count: int, work: Callable[..., Any]) -> Callable[..., Any]:
    """Return work that ends the process after its n-th call."""
    calls = iter(range(1, 1000))

    def counted(*args: Any, **kwargs: Any) -> Any:
        result = work(*args, **kwargs)
        if next(calls) == count:
            raise Interrupted
        return result

    return counted


def test_a_training_of_two_rounds_that_is_interrupted_resumes_bit_for_bit(
    home: Path, facts: Corpus, trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small(towers="dual", rounds=2, epochs=2, premises_per_step=12, alpha=0.1)

    def train(name: str, watch: Any = None) -> tuple[Any, int]:
        run = Run(out=home / name, checkpoint_seconds=0.0, watch=watch)
        done = train_aeenc(facts, config, trees=trees, dev=trees, run=run)
        scores = [(e.epoch, e.score) for e in done.fitted.evaluations]
        return (done.further["samples"], scores, dict(done.counts)), done.fitted.resumed

    whole, _ = train("whole")
    # In the first sampling, of which nothing is kept; next to its place; in the second round; half saved.
    moments = ((training, "sample"), (fit.os, "fsync"), (None, ""), (training, "write_training_queries"))
    for owner, name in moments:
        watch = None if owner else interrupting(6, lambda event: None)
        with monkeypatch.context() as patch:
            if owner:
                patch.setattr(owner, name, interrupting(1, getattr(owner, name)))
            with pytest.raises(Interrupted):
                train("parts", watch)
        assert not (home / "parts").exists()
    parts, resumed = train("parts")
    assert resumed >= 2
    assert parts == whole
    contents = [
        {
            path.relative_to(home / name): path.read_bytes()
            for path in (home / name).rglob("*")
            if path.is_file() and path.name != "README.md"  # the card has the folder's name
        }
        for name in ("whole", "parts")
    ]
    assert contents[0] == contents[1]
    assert not [path.name for path in home.iterdir() if path.name.startswith(".")]
