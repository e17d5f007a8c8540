"""Every way to train, on a random BERT of one layer: does it learn what it says it learns?"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from entail.aeenc.config import AeencConfig
from entail.aeenc.losses import LOSSES
from entail.aeenc.pairs import TrainingPairs, gold_pairs, judged_pairs, sampled_pairs
from entail.aeenc.sampling import sample
from entail.aeenc.training import train_aeenc
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, ExplanationTree
from entail.encoders.encoder import BiEncoder
from entail.index.factory import retriever
from entail.index.protocol import Floats
from entail.training.method import Run
from entail.training.run import Training

TOWERS = ("single", "siamese", "dual")
# Every two of loss, architecture and number of rounds together; alpha and source in turn.
WAYS = [
    (loss, towers, (0.0, 0.3)[(i + j) % 2], (i + j) % 3, ("gold", "judgements")[i % 2])
    for (i, loss), (j, towers) in itertools.product(enumerate(LOSSES), enumerate(TOWERS))
]


@dataclass(frozen=True)
class Trained:
    """Result of a training, and its vectors of all queries (in order of text) and premises."""

    training: Training[AeencConfig] | None
    queries: Floats
    premises: Floats


def config(**changes: Any) -> AeencConfig:
    settings = {
        "base": "tiny",
        "rank": 4,
        "epochs": 4,
        "batch_size": 8,
        "k": 8,
        "margin": 0.3,
        "contrastive_margin": 0.9,
        "temperature": 0.2,
        "learning_rate": 0.01,
        "precision": "fp32",
        "gold": True,
        "live_k": 0,
        "reduction": "mean",
    }
    return AeencConfig(**{**settings, **changes})


def authors(trees: tuple[ExplanationTree, ...]) -> Judgements:
    """Let a team judge as the trees do: their distractors and a fact of the next tree are rejected."""
    verdicts = []
    for tree, other in zip(trees, [*trees[1:], trees[0]], strict=True):
        for parent, child in tree.pairs:
            verdicts.append(JudgedPair(parent, child, True))
            verdicts.append(JudgedPair(parent, tree.text("sent4"), False))
            verdicts.append(JudgedPair(parent, other.text("sent1"), False))
    return Judgements.of_pairs(verdicts, roots=(tree.hypothesis for tree in trees))


@pytest.fixture(scope="module")
def runs(
    tiny_models: Path,
    trees: tuple[ExplanationTree, ...],
    facts: Corpus,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., Trained]]:
    """Train once for each way that is asked for."""
    run_cache: dict[Any, Trained] = {}
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENTAIL_MODELS_DIR", str(tiny_models))
        patch.setenv("ENTAIL_DATA_DIR", str(home))
        patch.setenv("ENTAIL_DEVICE", "cpu")

        queries = queries_of(trees)

        def vectors(name: str | Path) -> tuple[Floats, Floats]:
            encoder = BiEncoder(name)
            return encoder.encode_queries(queries), encoder.encode_premises(facts.texts)

        def trained(source: str, changes: dict[str, Any]) -> Trained:
            out = home / f"run-{len(run_cache)}"
            if source == "gold":
                training = train_aeenc(facts, config(**changes), trees=trees, run=Run(out=out))
            else:
                training = train_aeenc(facts, config(**changes), judgements=authors(trees), run=Run(out=out))
            return Trained(training, *vectors(out))

        def run(source: str = "gold", **changes: Any) -> Trained:
            key = (source, *sorted(changes.items()))
            if key not in run_cache:
                run_cache[key] = (
                    Trained(None, *vectors("tiny")) if source == "base" else trained(source, changes)
                )
            return run_cache[key]

        yield run


def queries_of(trees: tuple[ExplanationTree, ...]) -> list[str]:
    return sorted({parent for tree in trees for parent, _ in tree.pairs})


def own_pairs(source: str, rounds: int, facts: Corpus, trees: tuple[ExplanationTree, ...]) -> TrainingPairs:
    """Return what a training learns from, up to its first round."""
    if source == "judgements":
        return judged_pairs(facts, authors(trees))
    pairs = gold_pairs(facts, trees)
    if not rounds:
        return pairs
    round_sample = sample(facts, Judgements.of_trees(trees), retriever("tiny", facts), k=config().k)
    return pairs.join(sampled_pairs(facts, round_sample))


def distance(one: Floats, other: Floats) -> float:
    return float(np.square(one - other).sum(axis=1).mean())


def standing(
    run: Trained, pairs: TrainingPairs, trees: tuple[ExplanationTree, ...], loss: str
) -> list[float]:
    """Return the negative loss of the pairs, and the margin of positives over negatives."""
    rows = {text: row for row, text in enumerate(queries_of(trees))}
    similarities = torch.from_numpy(run.queries @ run.premises.T)
    labels = torch.zeros(similarities.shape, dtype=torch.int8)
    margins = []
    for query, positives, negatives in zip(pairs.queries, pairs.positives, pairs.negatives, strict=True):
        row = rows[query]
        labels[row, positives], labels[row, negatives] = 1, -1
        margins.append(float(similarities[row, positives].mean() - similarities[row, negatives].mean()))
    value, _ = LOSSES[loss](similarities, labels, config())
    return [-float(value), float(np.mean(margins))]


@pytest.mark.parametrize(("loss", "towers", "alpha", "rounds", "source"), WAYS)
def test_every_way_to_train_learns(
    runs: Callable[..., Trained],
    facts: Corpus,
    trees: tuple[ExplanationTree, ...],
    loss: str,
    towers: str,
    alpha: float,
    rounds: int,
    source: str,
) -> None:
    run = runs(source, loss=loss, towers=towers, alpha=alpha, rounds=rounds)
    assert len(run.training.further["samples"]) == rounds
    pairs = own_pairs(source, rounds, facts, trees)
    before, after = (standing(vectors, pairs, trees, loss) for vectors in (runs("base"), run))
    assert all(better > worse for better, worse in zip(after, before, strict=True))


@pytest.mark.parametrize("towers", TOWERS)
def test_alpha_keeps_vectors_nearer_to_the_base(runs: Callable[..., Trained], towers: str) -> None:
    base = runs("base")
    far = {"towers": towers, "epochs": 4, "learning_rate": 0.05}
    free, regularised = (runs(**far, alpha=alpha) for alpha in (0.0, 3.0))
    assert distance(regularised.queries, base.queries) < distance(free.queries, base.queries)
    if towers != "single":
        assert distance(regularised.premises, base.premises) < distance(free.premises, base.premises)


def test_each_architecture_trains_the_towers_it_says(
    runs: Callable[..., Trained], facts: Corpus, trees: tuple[ExplanationTree, ...]
) -> None:
    base = runs("base")
    single, siamese, dual = (runs(towers=towers, loss="triplet", alpha=0.0) for towers in TOWERS)
    assert np.array_equal(single.premises, base.premises)
    assert all(distance(run.queries, base.queries) > 1e-3 for run in (single, siamese, dual))
    assert all(distance(run.premises, base.premises) > 1e-3 for run in (siamese, dual))
    # Conclusions are queries and premises: they have one vector under siamese, and two under dual.
    conclusions = [tree.intermediates["int1"] for tree in trees]
    query = [queries_of(trees).index(text) for text in conclusions]
    premise = [facts.position(text) for text in conclusions]
    assert np.allclose(siamese.queries[query], siamese.premises[premise], atol=1e-6)
    assert not np.allclose(dual.queries[query], dual.premises[premise], atol=1e-3)


def test_dropout_changes_the_losses(runs: Callable[..., Trained]) -> None:
    evaluations = [runs(loss="triplet", dropout=dropout).queries for dropout in (None, 0.1, 0.0)]
    assert np.array_equal(evaluations[0], evaluations[1])  # the base has a dropout of 0.1
    assert not np.array_equal(evaluations[1], evaluations[2])


def test_complete_decisions_teach_as_gold_trees_do(
    runs: Callable[..., Trained], facts: Corpus, trees: tuple[ExplanationTree, ...]
) -> None:
    """Premises that nobody judged are further from a sentence than if only rejected ones are negatives."""
    settings = {"loss": "softmax", "live_k": 100, "alpha": 0.0}
    accepted = judged_pairs(facts, authors(trees)).positives
    margins = [
        np.mean([row[at].mean() - row.mean() for row, at in zip(cosines, accepted, strict=True)])
        for run in (runs("judgements", **settings), runs("judgements", complete=True, **settings))
        for cosines in [run.queries[_order(facts, trees)] @ run.premises.T]
    ]
    assert margins[1] > margins[0]


def test_who_never_rejects_can_train_on_complete_decisions(
    runs: Callable[..., Trained], facts: Corpus
) -> None:
    runs("base")  # the tiny models
    accepted = Judgements.of_pairs([JudgedPair("ba be", text, True) for text in facts.texts[:3]])
    training = train_aeenc(facts, config(complete=True, live_k=100), judgements=accepted)
    assert training.counts["positives"] == 3
    assert training.fitted.steps


def _order(facts: Corpus, trees: tuple[ExplanationTree, ...]) -> list[int]:
    """Return the rows of a run's queries in the order of their pairs."""
    rows = {text: row for row, text in enumerate(queries_of(trees))}
    return [rows[query] for query in judged_pairs(facts, authors(trees)).queries]
