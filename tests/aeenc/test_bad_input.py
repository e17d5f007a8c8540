"""Errors and warnings of AE-Enc trainings."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from entail.aeenc.config import AeencConfig
from entail.aeenc.training import train_aeenc
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, ExplanationTree
from entail.errors import TrainingError
from entail.index.factory import retriever
from entail.training.method import Run
from tests.aeenc.conftest import Trees, small

SETTINGS = small(epochs=2, learning_rate=0.02, rounds=1)


@pytest.mark.parametrize(
    "changes",
    [
        {"live_k": 5, "towers": "dual"},
        {"gold": False, "live_k": 0},
        {"initial": "x", "tuning": "full"},
    ],
)
def test_an_invalid_setting_is_named(changes: dict[str, Any]) -> None:
    with pytest.raises(TrainingError, match=next(iter(changes))):
        AeencConfig(**changes)


def test_what_teaches_nothing_is_refused(facts: Corpus) -> None:
    """Only trees say no to what nobody looked at: authors who never reject give no negatives."""
    bare = ExplanationTree(id="t", hypothesis="ba be", sentences={"sent1": facts.texts[0]})
    with pytest.raises(TrainingError):
        train_aeenc(facts, SETTINGS, trees=[bare])
    for accepted, changes in ((False, {}), (True, {"rounds": 1}), (True, {"rounds": 0, "live_k": 5})):
        judged = Judgements.of_pairs(JudgedPair("ba be", text, accepted) for text in facts.texts[:3])
        with pytest.raises(TrainingError):
            train_aeenc(facts, replace(SETTINGS, **changes), judgements=judged)


def test_missing_gold_is_warned_of_counted_and_named(home: Path, facts: Corpus, trees: Trees) -> None:
    lost = trees[0].sentences["sent1"]
    corpus = Corpus.of("fewer", [text for text in facts.texts if text != lost])
    training = train_aeenc(corpus, SETTINGS, trees=trees, dev=trees)
    assert lost in training.warnings[0]
    assert training.to_json()["missing"] == [lost]
    assert training.to_json()["dropped"]["missing"] == 1


def test_weights_that_are_worse_on_dev_than_the_start_are_warned_of(
    home: Path, facts: Corpus, trees: Trees
) -> None:
    """Dev takes what the base retrieves first for gold, so that nothing can do better than the start."""
    nearest = retriever("tiny", facts).search([tree.hypothesis for tree in trees], k=2).positions
    dev = [
        ExplanationTree.of_premises(tree.id, tree.hypothesis, [facts.texts[p] for p in positions])
        for tree, positions in zip(trees, nearest, strict=True)
    ]
    training = train_aeenc(facts, SETTINGS, trees=trees, dev=dev)
    start, best = training.fitted.evaluations[0], training.fitted.best
    assert best is not None
    assert best.score < start.score == 1.0
    assert len(training.warnings) == 1
    better = train_aeenc(facts, SETTINGS, trees=trees, dev=trees)
    assert better.fitted.best is not None
    assert better.fitted.best.score > better.fitted.evaluations[0].score
    assert not better.warnings


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_a_trained_base_is_refused(home: Path, facts: Corpus, trees: Trees, tuning: Any) -> None:
    train_aeenc(facts, replace(SETTINGS, tuning=tuning), trees=trees, run=Run(out=home / "mine"))
    with pytest.raises(TrainingError):
        train_aeenc(facts, replace(SETTINGS, base="mine"), trees=trees)
