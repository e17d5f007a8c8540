"""Errors and warnings of AE-Enc trainings."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from entail.aeenc.config import PAPER, AeencConfig
from entail.aeenc.training import train_aeenc
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, ExplanationTree, Step
from entail.errors import DivergedError, TrainingError
from entail.index.factory import retriever
from entail.training.loop.task import Event
from entail.training.method import Run

Trees = tuple[ExplanationTree, ...]

SETTINGS = replace(
    PAPER,
    base="tiny",
    tuning="lora",
    rank=4,
    epochs=2,
    batch_size=8,
    k=8,
    learning_rate=0.02,
    precision="fp32",
)


def said(*pairs: tuple[str, str, bool]) -> Judgements:
    return Judgements.of_pairs(JudgedPair(*pair) for pair in pairs)


@pytest.mark.parametrize(
    "changes",
    [
        {"rank": 0},
        {"premises_per_step": 3},
        {"rounds": -1},
        {"learning_rate": float("nan")},
        {"margin": float("inf")},
        {"distil": -1.0},
        {"dropout": 1.0},
        {"loss": "hinge"},
        {"live_k": 5, "towers": "dual"},
        {"gold": False, "live_k": 0},
        {"initial": "x", "tuning": "full"},
    ],
)
def test_an_invalid_setting_is_named(changes: dict[str, Any]) -> None:
    with pytest.raises(TrainingError, match=next(iter(changes))):
        AeencConfig(**changes)


def test_no_positives(facts: Corpus) -> None:
    with pytest.raises(TrainingError, match="expected accepted premises, found none"):
        train_aeenc(facts, SETTINGS, judgements=said(("ba be", facts.texts[0], False)))
    bare = ExplanationTree(id="t", hypothesis="ba be", sentences={"sent1": facts.texts[0]})
    with pytest.raises(TrainingError, match="expected trees with proofs"):
        train_aeenc(facts, SETTINGS, trees=[bare])


@pytest.mark.parametrize("changes", [{"rounds": 1}, {"rounds": 0, "live_k": 5}])
def test_authors_who_never_reject_give_no_negatives_however_one_samples(
    facts: Corpus, changes: dict[str, Any]
) -> None:
    """Only trees say no to what nobody looked at."""
    accepted = [("ba be", text, True) for text in facts.texts[:3]]
    with pytest.raises(TrainingError, match="expected hard negatives, found none with 3 positives"):
        train_aeenc(facts, replace(SETTINGS, **changes), judgements=said(*accepted))


def test_missing_gold_is_warned_of_counted_and_named(home: Path, facts: Corpus, trees: Trees) -> None:
    lost = trees[0].sentences["sent1"]
    corpus = Corpus.of("fewer", [text for text in facts.texts if text != lost])
    training = train_aeenc(corpus, SETTINGS, trees=trees, dev=trees)
    assert lost in training.warnings[0]
    assert training.to_json()["missing"] == [lost]
    assert training.to_json()["dropped"]["missing"] == 1


def test_a_loss_that_is_nan_stops_with_what_to_do(home: Path, facts: Corpus, trees: Trees) -> None:
    events: list[Event] = []
    with pytest.raises(DivergedError, match=r"became (nan|inf) at step \d+.*lower the learning rate"):
        train_aeenc(
            facts,
            replace(SETTINGS, learning_rate=1e30, epochs=20),
            trees=trees,
            run=Run(out=home / "mine", watch=events.append),
        )
    assert not (home / "mine").exists()


def test_weights_that_are_worse_on_dev_than_the_start_are_warned_of_with_both_figures(
    home: Path, facts: Corpus, trees: Trees
) -> None:
    """Dev takes what the base retrieves first for gold, so that nothing can do better than the start."""
    queries = [tree.hypothesis for tree in trees]
    nearest = retriever("tiny", facts).search(queries, k=2).positions
    dev = [
        replace(
            tree,
            sentences={f"sent{i}": facts.texts[p] for i, p in enumerate(positions, start=1)},
            intermediates={},
            steps=(Step(("sent1", "sent2"), "hypothesis"),),
            distractors=(),
        )
        for tree, positions in zip(trees, nearest, strict=True)
    ]
    training = train_aeenc(facts, SETTINGS, trees=trees, dev=dev, run=Run(out=home / "worse"))
    start, best = training.fitted.evaluations[0], training.fitted.best
    assert best is not None
    assert best.score < start.score == 1.0
    (warning,) = training.warnings
    assert f"MAP {best.score:.4f} against 1.0000" in warning
    better = train_aeenc(facts, SETTINGS, trees=trees, dev=trees)
    assert better.fitted.best is not None
    assert better.fitted.best.score > better.fitted.evaluations[0].score
    assert not better.warnings


@pytest.mark.parametrize(("tuning", "message"), [("lora", "adapter 'mine'; take 'tiny'"), ("full", "routes")])
def test_a_trained_base_is_refused(
    home: Path, facts: Corpus, trees: Trees, tuning: Any, message: str
) -> None:
    train_aeenc(facts, replace(SETTINGS, tuning=tuning), trees=trees, run=Run(out=home / "mine"))
    with pytest.raises(TrainingError, match=message):
        train_aeenc(facts, replace(SETTINGS, base="mine"), trees=trees)
