"""Prefixes, positives and negatives, and what a batch may hold."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.config import ArcfConfig
from entail.arcf.sampling import STOP, PreparedQuestion, Sampler, prepare_questions
from entail.arcf.scoring.inputs import Inputs
from entail.data.worldtree.questions import Question, gold_positions
from entail.data.worldtree.tables import FactTables
from entail.errors import SamplingError, TrainingError

CONFIG = ArcfConfig(k=6, batch_tokens=2000)


def sampler(world: Any, fake: Any, config: ArcfConfig = CONFIG, **told: Any) -> Sampler:
    scorer = fake(lambda a, b: 0.0)
    inputs = Inputs(scorer.tokenize, scorer.frame, max_length=200, facts=world.facts.texts)
    near = Neighbourhoods(world.facts, k=config.k)
    return Sampler(
        config, prepare_questions(told.get("questions", world.questions), inputs, near), inputs, near
    )


def test_samples_are_what_can_be_seen_after_some_gold_facts(world: Any, fake: Any) -> None:
    sampling = sampler(world, fake, replace(CONFIG, prefixes=4))
    near = Neighbourhoods(world.facts, k=6)
    sizes = set()
    samples = sampling.epoch(0)
    assert len(samples) == 4 * len(world.questions)
    for sample in samples:
        question = world.questions[sample.question]
        gold = set(gold_positions(question, world.facts))
        assert set(sample.prefix) <= gold
        assert len(set(sample.prefix)) == len(sample.prefix)
        visible = near.visible(near.of_text(question.text), sample.prefix)
        positives, negatives = (
            sample.candidates[: sample.positives],
            sample.candidates[sample.positives :],
        )
        left = gold & set(visible)
        if left:
            assert set(positives) == left
            assert STOP in negatives
        else:
            assert positives == (STOP,)
        assert set(negatives) - {STOP} == set(visible) - gold
        assert len(set(sample.candidates)) == len(sample.candidates)
        pairs = sampling.pairs(sample)
        assert len({ids for ids, _ in pairs}) == 1
        assert [candidate == () for _, candidate in pairs] == [fact == STOP for fact in sample.candidates]
        assert sample.tokens == sum(len(a) + len(b) + 3 for a, b in pairs)
        sizes.add(len(sample.prefix))
    assert sizes == {0, 1, 2, 3}


@pytest.mark.parametrize("kind", ["visible", "all", "mixed"])
def test_a_gold_sentence_of_another_table_is_no_negative(world: Any, fake: Any, kind: Any) -> None:
    size = len(world.facts)
    again = tuple(replace(f, uid=f"{f.uid}-2", text=f.text.upper()) for f in world.facts.facts)
    twice = replace(world, facts=FactTables((*world.facts.facts, *again)))
    sampling = sampler(twice, fake, replace(CONFIG, k=2 * size, negatives=kind, batch_tokens=20_000))
    for sample in sampling.epoch(0):
        gold = gold_positions(world.questions[sample.question], world.facts)
        assert not {fact + size for fact in gold} & set(sample.candidates)


def test_the_same_seed_and_epoch_draw_the_same(world: Any, fake: Any) -> None:
    sampling = sampler(world, fake)
    assert sampling.epoch(1) == sampling.epoch(1) == sampler(world, fake).epoch(1)
    assert sampling.epoch(0) != sampling.epoch(1)
    assert sampler(world, fake, replace(CONFIG, seed=1)).epoch(1) != sampling.epoch(1)


def test_further_negatives_are_left_out_when_a_batch_is_full(world: Any, fake: Any) -> None:
    sampling = sampler(world, fake, replace(CONFIG, batch_tokens=64, k=30))
    for sample in sampling.epoch(0):
        negatives = len(sample.candidates) - sample.positives
        assert negatives >= 1
        assert sample.tokens <= 64 or negatives == 1


def test_the_bare_prefix_can_be_left_out(world: Any, fake: Any) -> None:
    samples = sampler(world, fake, replace(CONFIG, stop=False)).epoch(0)
    assert samples
    assert all(STOP not in sample.candidates for sample in samples)


def test_single_facts_have_no_prefix_and_negatives_from_anywhere(world: Any, fake: Any) -> None:
    config = replace(CONFIG, scheme="single-fact", k=2, batch_tokens=5000)
    assert config.negatives_from == "mixed"
    for kind in (None, "all", "visible"):
        sampling = sampler(world, fake, replace(config, negatives=kind))
        for sample in sampling.epoch(0):
            gold = set(gold_positions(world.questions[sample.question], world.facts))
            assert sample.prefix == ()
            assert set(sample.candidates[: sample.positives]) == gold
            negatives = set(sample.candidates[sample.positives :])
            assert not negatives & gold
            assert STOP not in negatives
            assert len(negatives) > 20 if kind != "visible" else len(negatives) <= 2


def test_noise_replaces_gold_by_what_was_visible(world: Any, fake: Any) -> None:
    config = replace(CONFIG, noise=True, noise_share=1.0, epochs=4, prefixes=6)
    sampling = sampler(world, fake, config)
    plain = sampler(world, fake, replace(config, noise=False))
    assert sampling.epoch(1) == plain.epoch(1)  # the first half of the epochs is as without
    wrong = 0
    for sample in sampling.epoch(2):
        question = world.questions[sample.question]
        gold = set(gold_positions(question, world.facts))
        wrong += len(set(sample.prefix) - gold)
        assert not set(sample.candidates) & set(sample.prefix)
        assert not set(sample.candidates[sample.positives :]) & gold
    assert wrong > 10


def test_nothing_to_learn_from(world: Any, fake: Any) -> None:
    strange = Question("Q", "ba", "be", {"ffff": "CENTRAL"})
    with pytest.raises(SamplingError, match="found none of 1"):
        sampler(world, fake, questions=[strange])
    sampling = sampler(world, fake, replace(CONFIG, stop=False))
    far = PreparedQuestion((1, 2), (5,), np.array([7]))
    with pytest.raises(SamplingError, match="take a larger k"):
        Sampler(
            replace(CONFIG, stop=False), [replace(far, gold=())], sampling._inputs, sampling._neighbourhoods
        ).epoch(0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("k", 0),
        ("loss", "triplet"),
        ("negatives", "hard"),
        ("noise_share", 2.0),
        ("learning_rate", 0.0),
        ("weight_decay", float("inf")),
        ("warmup", float("nan")),
        ("dropout", 1.0),
    ],
)
def test_settings_out_of_range_are_named(field: str, value: object) -> None:
    changed: dict[str, Any] = {field: value}
    with pytest.raises(TrainingError, match=f"^{field}: "):
        ArcfConfig(**changed)
