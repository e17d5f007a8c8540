"""From questions with explanations to a scorer on disk, and every way it can be refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.ranking import ChainRanker
from entail.arcf.config import ArcfConfig
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.scorer import load_scorer, scorer_folder
from entail.arcf.training import ArcfTraining, train_arcf
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import FactTables
from entail.encoders.catalogue import catalogue, resolve
from entail.encoders.cross.encoder import ADAPTER, HEAD
from entail.errors import CheckpointError, EncoderError, TrainingError
from entail.evaluation.chains import evaluate_chains, tfidf_rankings
from entail.training.loop.task import Event

SETTINGS = ArcfConfig(
    base="tiny",
    rank=4,
    k=6,
    batch_tokens=400,
    prefixes=3,
    prefixes_a_step=4,
    epochs=6,
    learning_rate=0.01,
    max_length=32,
    dropout=0.0,
    dev_questions=4,
    precision="fp32",
)


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_it_learns_which_facts_explain(tiny_home: Path, world: Any, tuning: Any) -> None:
    events: list[Event] = []
    config = replace(SETTINGS, tuning=tuning, learning_rate=0.01 if tuning == "lora" else 0.003)
    training = train_arcf(
        world.questions,
        world.facts,
        config,
        dev=world.dev,
        data=["worldtree"],
        out=tiny_home / "mine",
        watch=events.append,
    )
    untrained = training.fitted.evaluations[0]
    assert training.fitted.best is not None
    assert training.fitted.best.score > untrained.score + 0.1
    assert set(untrained.figures) == {"step MAP", "step P@1", "stop"}
    assert training.counts["questions"] == 18
    assert training.counts["steps"] == training.fitted.steps == 6 * 14
    steps = [event.terms for event in events if "loss" in event.terms]
    assert np.mean([s["loss"] for s in steps[-5:]]) < np.mean([s["loss"] for s in steps[:5]])
    assert set(steps[0]) >= {"pairs in order", "margin", "tokens", "samples"}

    near = _neighbourhoods(world.facts)
    rankings = [ranked.ranking for ranked in ChainRanker(load_scorer("mine"), near).rank(world.dev)]
    evaluation = evaluate_chains(world.dev, world.facts, rankings)
    lexical = evaluate_chains(world.dev, world.facts, tfidf_rankings(world.dev, near.similarities))
    assert evaluation.map > lexical.map
    assert json.dumps(training.to_json())


def _neighbourhoods(facts: FactTables) -> Neighbourhoods:
    return Neighbourhoods(facts, k=6)


@pytest.fixture
def mine(tiny_home: Path, world: Any) -> ArcfTraining:
    return train_arcf(
        world.questions, world.facts, replace(SETTINGS, epochs=1), data=["worldtree"], out=tiny_home / "mine"
    )


def test_what_was_saved_is_a_scorer_and_no_encoder(tiny_home: Path, mine: ArcfTraining, world: Any) -> None:
    scorer = load_scorer("mine")
    assert scorer.form.k == 6
    assert scorer.form.max_length == 32
    assert scorer.revision.startswith("mine@")
    assert "+tiny@" in scorer.revision
    assert "mine" not in {entry.name for entry in catalogue()}
    with pytest.raises(EncoderError, match="expected an encoder, found a scorer of facts"):
        resolve("mine")
    with pytest.raises(EncoderError, match="no scorer of facts is called 'tiny'; here are: mine"):
        load_scorer("tiny")
    assert scorer_folder(tiny_home / "mine") == tiny_home / "mine"
    card = (tiny_home / "mine" / "README.md").read_text(encoding="utf-8")
    assert "license: other" in card
    assert "entail rank --scorer mine" in card
    record = json.loads((tiny_home / "mine" / "entail.json").read_text(encoding="utf-8"))
    assert record["base"] == "tiny"
    assert record["trained_on"]["data"] == ["worldtree"]
    assert record["trained_on"]["gold facts in no table"] == 0

    # In torch alone, the last layer for one token, as transformers has it in full.
    stock = load_scorer("mine", stock=True)
    inputs = PremiseScorer(scorer, world.facts).inputs
    (question_ids,) = inputs.questions([("ba bi", "bo")])
    prefix = inputs.prefix(question_ids, [3]).ids
    pairs = [(prefix, ()), *((prefix, candidate) for candidate in inputs.candidates)]
    scores, stock_scores = scorer.pairs.score(pairs), stock.pairs.score(pairs)
    assert np.abs(scores - stock_scores).max() < 1e-4
    assert scores.std() > 0
    alone = np.array([scorer.pairs.score([pair])[0] for pair in pairs[:9]])
    assert np.abs(alone - scores[:9]).max() < 1e-5
    assert scorer.pairs.score([]).shape == stock.pairs.score([]).shape == (0,)
    assert scorer.pairs.spent.rows == len(pairs) + 9
    assert scorer.pairs.spent.padded >= scorer.pairs.spent.tokens


@pytest.mark.parametrize(
    "told",
    [
        {"loss": "bxent"},
        {"loss": "nce", "noise": True, "epochs": 2},
        {"scheme": "single-fact", "loss": "bxent"},
        {"metric": "overlap", "stop": False},
    ],
)
def test_every_setting_trains(tiny_home: Path, world: Any, told: dict[str, Any]) -> None:
    config = replace(SETTINGS, **{"epochs": 1, "prefixes": 1, **told})
    done = train_arcf(world.questions, world.facts, config, dev=world.dev)
    assert done.folder is None
    assert done.form.scheme == config.scheme
    assert done.form.stop == (config.stop and config.scheme == "arcf")
    assert len(done.fitted.evaluations) == 1 + config.epochs
    assert "stop" in done.fitted.evaluations[0].figures or not done.form.stop


def test_a_token_budget_ends_a_training(tiny_home: Path, world: Any) -> None:
    events: list[Event] = []
    config = replace(SETTINGS, epochs=2, prefixes_a_step=1, token_budget=2000)
    train_arcf(world.questions, world.facts, config, watch=events.append)
    assert 1000 < sum(event.terms.get("tokens", 0) for event in events) <= 2000


def test_a_stopped_training_goes_on_to_the_same_weights(tiny_home: Path, world: Any) -> None:
    config = replace(SETTINGS, epochs=2, prefixes=1, dropout=0.1)

    def train(name: str, **options: Any) -> ArcfTraining:
        return train_arcf(
            world.questions,
            world.facts,
            options.pop("config", config),
            dev=world.dev,
            out=tiny_home / name,
            **options,
        )

    train("whole")
    counter = iter(range(100))
    with pytest.raises(TrainingError, match="stopped on request after step 7"):
        train("again", stop=lambda: next(counter) == 6)
    assert train("again").fitted.resumed == 1
    for file in (f"{ADAPTER}/adapter_model.safetensors", HEAD):
        assert (tiny_home / "again" / file).read_bytes() == (tiny_home / "whole" / file).read_bytes()
    with pytest.raises(CheckpointError, match=r"config\.seed"):
        train("again", config=replace(config, seed=1))


def test_bad_data_is_refused(tiny_home: Path, world: Any) -> None:
    strange = Question("Q", "ba", "be", {"ffff": "CENTRAL"})
    with pytest.raises(TrainingError, match="expected questions with gold facts in the tables"):
        train_arcf([strange], world.facts, SETTINGS)
    blind = [replace(question, gold={}) for question in world.dev]
    with pytest.raises(TrainingError, match="expected dev questions with explanations, found none of 6"):
        train_arcf(world.questions, world.facts, SETTINGS, dev=blind)
    with pytest.raises(TrainingError, match="something else"):
        train_arcf(world.questions, world.facts, SETTINGS, out=tiny_home / "tiny")


def test_a_damaged_scorer_is_refused(tiny_home: Path, mine: ArcfTraining) -> None:
    file = tiny_home / "mine" / "entail.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    for key, value, message in (
        ("scorer", {"k": "many"}, "'k' in 'scorer'"),
        ("scorer", {}, "expected a scorer of facts"),
        ("method", "aeenc", "expected a scorer of facts"),
        ("base", None, "adapter's base"),
        ("base_revision", "tiny@0123", "tiny@0123"),
    ):
        file.write_text(json.dumps({**record, key: value}), encoding="utf-8")
        with pytest.raises(EncoderError, match=message):
            load_scorer("mine")
    file.write_text(json.dumps(record), encoding="utf-8")
    (tiny_home / "mine" / HEAD).write_bytes(b"torn")
    with pytest.raises(EncoderError, match=r"head\.safetensors"):
        load_scorer("mine")


def test_chances_begin_where_there_are_as_many_as_positives(tiny_home: Path, world: Any) -> None:
    """bXENT: else every score begins far above 0, and learning is spent on the bias."""
    events: list[Event] = []
    config = replace(SETTINGS, loss="bxent", reading="apart", learning_rate=1e-9, epochs=1)
    train_arcf(world.questions, world.facts, config, watch=events.append)
    losses = [event.terms["loss"] for event in events if "loss" in event.terms]
    assert np.mean(losses) < 2.0  # the cosines' weight is 20: unbalanced it is above 4
