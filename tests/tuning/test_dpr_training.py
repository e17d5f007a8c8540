"""The contrastive stage: its loss by hand, what is learnt, and one adapter carried through both stages."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.encoders.catalogue import resolve
from entail.encoders.encoder import load
from entail.errors import CheckpointError, TrainingError
from entail.evaluation.passages.store import PassageStore
from entail.tuning.config import DprConfig, TuningConfig
from entail.tuning.dpr import train_dpr
from entail.tuning.dpr_task import DprTask
from entail.tuning.examples import EntailedPair, Example, Examples, examples_of, with_hard_negatives
from entail.tuning.training import train_tuning

Pairs = Callable[..., list[EntailedPair]]

SETTINGS = DprConfig(
    base="tiny",
    rank=4,
    epochs=4,
    batch_size=12,
    max_length=32,
    learning_rate=0.01,
    warmup_steps=2,
    precision="fp32",
)


@pytest.fixture
def examples(pool: PassageStore, passages_and_questions: Any) -> Examples:
    return with_hard_negatives(examples_of(pool, passages_and_questions[1]), depth=6)


class Unit:
    """A tower of two dimensions: every text has the vector that it is given."""

    device = "cpu"

    def __init__(self, vectors: dict[str, tuple[float, float]]) -> None:
        self._vectors = vectors
        self.asked: list[list[str]] = []

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]

    def vectors(self, texts: Sequence[str]) -> Any:
        import torch

        self.asked.append(list(texts))
        return torch.tensor([self._vectors[text] for text in texts], requires_grad=True)

    def encode(self, texts: Sequence[str]) -> Any:
        return np.array([self._vectors[text] for text in texts], dtype=np.float32)


class Texts(list[Any]):
    """Passages in memory."""


def small(passages: Sequence[str], asked: Sequence[Example]) -> Examples:
    from entail.data.passages.files import Passage

    store: Any = Texts(Passage(str(at), text) for at, text in enumerate(passages))
    return Examples(store, tuple(asked))


def test_the_loss_by_hand() -> None:
    # "a" and "b" share the gold passage P; "c" has Q, and R is gold of "c", too; N is a hard negative of "a".
    asked = [
        Example("a", (), (0,), (3,)),
        Example("b", (), (0,)),
        Example("c", (), (1, 2)),
        Example("d", (), (2,)),
    ]
    tower: Any = Unit(
        {"a": (1, 0), "b": (0, 1), "c": (0.6, 0.8), "d": (0, 1)}
        | {"P": (1, 0), "Q": (0, 1), "R": (0.8, 0.6), "N": (0.6, 0.8)}
    )
    config = replace(SETTINGS, temperature=0.5, batch_size=4)
    task = DprTask(config, small(["P", "Q", "R", "N"], asked), tower)
    loss, terms = task.loss(np.arange(4))
    assert tower.asked == [["a", "b", "c", "d"], ["P", "Q", "R", "N"]]  # a passage is encoded once
    rows = {
        "a": ([1, 0, 0.8, 0.6], 0),
        "b": ([0, 1, 0.6, 0.8], 0),
        "c": ([0.6, 0.8, 1.0], 1),  # without R, which answers it
        "d": ([0, 1, 0.6, 0.8], 2),
    }
    expected = [
        np.log(sum(np.exp(2 * one) for one in cosines)) - 2 * cosines[gold] for cosines, gold in rows.values()
    ]
    assert float(loss.detach()) == pytest.approx(np.mean(expected), abs=1e-5)
    assert terms == {"first": 0.25, "passages": 4.0}


def test_every_epoch_takes_the_next_hard_negative() -> None:
    tower: Any = Unit({})
    asked = [Example("a", (), (0,), (1, 2, 3)), Example("b", (), (0,))]
    task = DprTask(replace(SETTINGS, negatives=1), small(["P", "1", "2", "3"], asked), tower)
    seen = []
    for epoch in range(3):
        task.batches(epoch)
        _, texts = task.passages_of(np.array([0, 1]))
        assert len(texts) == 2
        seen.append(next(text for at, text in texts.items() if at))
    assert seen == ["1", "2", "3"]  # the hardest first
    alone = DprTask(replace(SETTINGS, negatives=0), task.examples, tower)
    assert list(alone.passages_of(np.array([0]))[1].values()) == ["P"]
    many = DprTask(replace(SETTINGS, negatives=9), task.examples, tower)
    assert set(many.passages_of(np.array([0]))[1]) == {0, 1, 2, 3}


def test_dev_is_ranked_over_its_own_passages() -> None:
    tower: Any = Unit({"a": (1, 0), "b": (0, 1), "P": (1, 0), "Q": (0.8, 0.6), "N": (0, 1)})
    dev = small(["P", "Q", "N"], [Example("a", (), (0,)), Example("b", (), (1,), (2,))])
    found = DprTask(SETTINGS, dev, tower, dev=dev).evaluate()
    assert found is not None
    assert found[0] == pytest.approx(0.75)
    assert found[1] == {"MRR": pytest.approx(0.75), "R@1": 0.5}


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_it_learns_which_passage_answers(tiny_home: Path, examples: Examples, tuning: Any) -> None:
    config = replace(SETTINGS, tuning=tuning, epochs=8)
    done = train_dpr(examples, config, dev=examples, data=["squad"], out=tiny_home / "mine")
    assert done.fitted.best is not None
    assert done.fitted.best.figures["MRR"] > done.fitted.evaluations[0].figures["MRR"] + 0.1
    assert not done.warnings
    assert done.counts["questions"] == 48
    assert done.counts["hard_negatives"] > 48
    told = json.loads((tiny_home / "mine" / "entail.json").read_text(encoding="utf-8"))
    assert told["method"] == "dpr"
    assert "tuned" not in told
    card = (tiny_home / "mine" / "README.md").read_text(encoding="utf-8")
    assert "Dense passage retrieval" in card
    texts = [examples.store[at].whole for at in range(len(examples.store))]
    scores = (
        load("mine").encode_queries([one.question for one in examples.examples])
        @ load("mine").encode_premises(texts).T
    )
    ranks = 1 + (scores > scores.diagonal()[:, None]).sum(axis=1)
    assert (1 / ranks).mean() == pytest.approx(done.fitted.best.figures["MRR"], abs=0.02)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_pooling_of_its_own_is_kept_with_the_weights(
    tiny_home: Path, examples: Examples, pooling: Any
) -> None:
    from sentence_transformers import SentenceTransformer

    config = replace(SETTINGS, tuning="full", pooling=pooling, epochs=1)
    train_dpr(examples, config, out=tiny_home / "mine")
    asked = ["ba be bi", "bo bu"]
    stock = SentenceTransformer(str(tiny_home / "mine"), device="cpu")
    features = stock.preprocess(asked)
    tokens = stock[0](features)["token_embeddings"]
    there = features["attention_mask"][:, :, None]
    expected = tokens[:, 0] if pooling == "cls" else (tokens * there).sum(1) / there.sum(1)
    expected = (expected / expected.norm(dim=1, keepdim=True)).detach().numpy()
    np.testing.assert_allclose(load("mine").encode_queries(asked), expected, atol=1e-5)
    with pytest.raises(TrainingError, match=f"pooling={pooling} needs tuning=full"):
        replace(SETTINGS, pooling=pooling)


def test_one_adapter_goes_through_both_stages(tiny_home: Path, examples: Examples, pairs: Pairs) -> None:
    tuning = TuningConfig(
        base="tiny", rank=4, epochs=2, batch_size=16, max_length=32, learning_rate=0.01, precision="fp32"
    )
    train_tuning(pairs(32), tuning, out=tiny_home / "tuned")
    config = replace(SETTINGS, epochs=1)
    without = train_dpr(examples, config, dev=examples, out=tiny_home / "plain")
    done = train_dpr(examples, replace(config, initial="tuned"), dev=examples, out=tiny_home / "mine")
    untrained, tuned = without.fitted.evaluations[0], done.fitted.evaluations[0]
    assert untrained.figures != tuned.figures
    entry = resolve("mine")
    assert entry.base is not None
    assert entry.base.name == "tiny"
    told = json.loads((tiny_home / "mine" / "entail.json").read_text(encoding="utf-8"))
    assert told["tuned"]["revision"] == resolve("tuned").revision
    assert told["tuned"]["config"]["prompt"] == "hypothesis"
    # The start of the second stage is what the first one wrote.
    from entail.training.adapters.tower import Lora, cast_precision
    from entail.tuning.tower import PassageTower

    start = PassageTower(
        resolve("tiny"),
        lora=Lora(rank=4, alpha=8),
        device="cpu",
        max_length=32,
        initial=resolve("tuned").path,
    )
    assert np.allclose(start.encode(["ba be bi"]), load("tuned").encode_queries(["ba be bi"]), atol=1e-5)
    assert cast_precision("fp32", "cpu") == "fp32"
    with pytest.raises(CheckpointError, match="initial"):
        train_dpr(examples, replace(config, initial="tuned"), dev=examples, out=tiny_home / "plain")


def test_a_stopped_training_goes_on_to_the_same_weights(tiny_home: Path, examples: Examples) -> None:
    config = replace(SETTINGS, epochs=2, dropout=0.1)
    train_dpr(examples, config, out=tiny_home / "whole")
    asked = iter(range(100))
    with pytest.raises(TrainingError, match="stopped on request after step 6"):
        train_dpr(examples, config, out=tiny_home / "again", stop=lambda: next(asked) == 5)
    resumed = train_dpr(examples, config, out=tiny_home / "again")
    assert resumed.fitted.resumed == 1
    weights = "adapter_model.safetensors"
    assert (tiny_home / "again" / weights).read_bytes() == (tiny_home / "whole" / weights).read_bytes()


def test_what_cannot_be_learnt_from_is_refused(
    tiny_home: Path, examples: Examples, pool: PassageStore, trained: Callable[..., Path]
) -> None:
    with pytest.raises(TrainingError, match="at least 2, found 0"):
        train_dpr(examples_of(pool, []), SETTINGS)
    with pytest.raises(TrainingError, match="expected an adapter on 'tiny' to go on from, found 'other'"):
        train_dpr(examples, replace(SETTINGS, initial="other"))
    with pytest.raises(TrainingError, match="something else"):
        train_dpr(examples, SETTINGS, out=tiny_home / "tiny")
    plain = replace(examples, examples=tuple(replace(one, negatives=()) for one in examples.examples))
    done = train_dpr(plain, replace(SETTINGS, epochs=1))
    assert "no question has a hard negative" in done.warnings[0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"temperature": 0.0}, "temperature: expected more than 0"),
        ({"negatives": -1}, "negatives: expected at least 0"),
        ({"initial": "x", "tuning": "full"}, "needs tuning=lora"),
    ],
)
def test_settings_that_cannot_be(values: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        DprConfig(**values)
