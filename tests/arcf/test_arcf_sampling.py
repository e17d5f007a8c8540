"""Samples of a step, and the losses of their scores."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from entail.arcf.config import ArcfConfig, Loss
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.sampling import STOP, PreparedQuestion, Sampler
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.training import prefix_loss
from entail.data.worldtree.questions import Question, gold_positions
from entail.data.worldtree.tables import FactTables
from entail.errors import SamplingError, TrainingError
from tests.arcf.conftest import FakeScorer

CONFIG = ArcfConfig(architecture="cross", k=6, batch_tokens=2000)


def sampler(world: Any, config: ArcfConfig = CONFIG, **told: Any) -> Sampler:
    scorer = FakeScorer(lambda a, b: 0.0)
    inputs = Inputs(scorer.tokenize, scorer.frame, max_length=200, facts=world.facts.texts)
    near = Neighbourhoods(world.facts, k=config.k)
    return Sampler(config, told.get("questions", world.questions), inputs, near)


def test_samples_are_what_can_be_seen_after_some_gold_facts(world: Any) -> None:
    sampling = sampler(world)
    near = Neighbourhoods(world.facts, k=6)
    sizes = set()
    samples = sampling.epoch(0)
    assert sorted(sample.question for sample in samples) == list(range(len(world.questions)))
    for sample in samples:
        question = world.questions[sample.question]
        gold = set(gold_positions(question, world.facts))
        assert set(sample.prefix) <= gold
        visible = near.visible(near.of_text(question.text), sample.prefix)
        candidates = sample.candidates
        positives, negatives = candidates[: sample.positives], candidates[sample.positives :]
        left = gold & set(visible)
        if left:
            assert set(positives) == left
            assert STOP in negatives
        else:
            assert positives == (STOP,)
        assert set(negatives) - {STOP} == set(visible) - gold
        pairs, terms = sampling.rows(sample)
        assert terms is None
        assert len({ids for ids, _ in pairs}) == 1
        assert [candidate == () for _, candidate in pairs] == [fact == STOP for fact in sample.candidates]
        assert sample.tokens == sum(len(a) + len(b) + 3 for a, b in pairs)
        sizes.add(len(sample.prefix))
    assert sizes == {0, 1, 2, 3}


def test_a_gold_sentence_of_another_table_is_no_negative(world: Any) -> None:
    size = len(world.facts)
    again = tuple(replace(f, uid=f"{f.uid}-2", text=f.text.upper()) for f in world.facts.facts)
    twice = replace(world, facts=FactTables((*world.facts.facts, *again)))
    sampling = sampler(twice, replace(CONFIG, k=2 * size, batch_tokens=20_000))
    for sample in sampling.epoch(0):
        gold = gold_positions(world.questions[sample.question], world.facts)
        assert not {fact + size for fact in gold} & set(sample.candidates)


def test_the_same_seed_and_epoch_draw_the_same(world: Any) -> None:
    sampling = sampler(world)
    assert sampling.epoch(1) == sampling.epoch(1) == sampler(world).epoch(1)
    assert sampling.epoch(0) != sampling.epoch(1)
    assert sampler(world, replace(CONFIG, seed=1)).epoch(1) != sampling.epoch(1)


def test_further_negatives_are_left_out_when_a_batch_is_full(world: Any) -> None:
    sampling = sampler(world, replace(CONFIG, batch_tokens=64, k=30))
    for sample in sampling.epoch(0):
        negatives = len(sample.candidates) - sample.positives
        assert negatives >= 1
        assert sample.tokens <= 64 or negatives == 1


def test_nothing_to_learn_from(world: Any) -> None:
    strange = Question("Q", "ba", "be", {"ffff": "CENTRAL"})
    with pytest.raises(SamplingError):
        sampler(world, questions=[strange])
    sampling = sampler(world)
    # All that is visible is gold: a prefix of all of it leaves no negative.
    sampling.questions = [PreparedQuestion((1, 2), (), np.array([], dtype=np.int64))]
    with pytest.raises(SamplingError):
        sampling.epoch(0)
    with pytest.raises(TrainingError):
        ArcfConfig(tuning="full")  # which the architecture bi excludes


KINDS: tuple[Loss, ...] = ("ranknet", "nce")


def test_losses_by_hand() -> None:
    scores, positive = torch.tensor([2.0, 0.5, 1.0, -1.0]), torch.tensor([True, True, False, False])
    bad = math.exp(1) + math.exp(-1)
    expected = {
        "ranknet": sum(math.log(1 + math.exp(n - p)) for p in (2.0, 0.5) for n in (1.0, -1.0)) / 4,
        "nce": -sum(math.log(math.exp(p) / (math.exp(p) + bad)) for p in (2.0, 0.5)) / 2,
    }
    losses = {kind: float(prefix_loss(scores, positive, kind=kind)) for kind in KINDS}
    assert losses == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@given(st.floats(-1e4, 1e4), st.lists(st.floats(-20, 20), min_size=2, max_size=6))
def test_losses_are_finite_and_do_not_change_when_all_scores_move(
    kind: Loss, by: float, values: list[float]
) -> None:
    scores, positive = torch.tensor(values, dtype=torch.float64), torch.arange(len(values)) < 1
    loss, moved_loss = (float(prefix_loss(s, positive, kind=kind)) for s in (scores, scores + by))
    assert 0 <= loss == pytest.approx(moved_loss, abs=1e-6)
    for alike in (positive | True, positive & False):
        with pytest.raises(TrainingError):
            prefix_loss(scores, alike, kind=kind)
