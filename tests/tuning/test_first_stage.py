"""Evaluation of the first stage: what the premise gains."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from entail.encoders.catalogue import resolve
from entail.tuning.config import TuningConfig
from entail.tuning.examples import EntailedPair
from entail.tuning.masking import Prompts
from entail.tuning.task import MaskedTask
from entail.tuning.tower import MaskedTower

Pairs = Callable[..., list[EntailedPair]]

CONFIG = TuningConfig(
    base="tiny",
    tuning="full",
    max_length=32,
    learning_rate=0.01,
    warmup_steps=2,
    precision="fp32",
    dropout=0.0,
    epochs=4,
    batch_size=16,
)


def masked_task(config: TuningConfig, pairs: list[EntailedPair]) -> MaskedTask:
    tower = MaskedTower(resolve("tiny"), lora=None, device="cpu", max_length=32, dropout=0.0)
    form = Prompts(tower.tokenizer, variant=config.prompt, max_length=32, name="tiny")
    prompts = form.of(pairs)
    return MaskedTask(config, form, prompts, tower, dev=prompts)


def test_the_gain_is_that_of_the_own_premise(tiny_home: Path, pairs: Pairs) -> None:
    task = masked_task(CONFIG, pairs(8))
    evaluation = task.evaluate()
    assert evaluation is not None
    # By hand: the same masks, another premise of the same length.
    losses = []
    for shift in (0, 4):
        rows = []
        for at, prompt in enumerate(task.prompts):
            other = task.prompts[(at + shift) % 8]
            ids = np.concatenate([other.ids[: prompt.first], prompt.ids[prompt.first :]])
            draw = np.random.default_rng((0, at))
            rows.append(task.form.mask(replace(prompt, ids=ids), beta=0.8, draw=draw))
        parts = (torch.from_numpy(part) for part in task.form.pad(rows))
        with task.tower.inference():
            losses.append(float(task.tower.token_losses(*parts)[0].mean()))
    assert evaluation[1]["loss"] == pytest.approx(losses[0], abs=1e-5)
    assert evaluation[1]["premise_gain"] == pytest.approx(losses[1] - losses[0], abs=1e-5)


def test_a_premise_that_is_masked_itself_has_no_gain(tiny_home: Path, pairs: Pairs) -> None:
    evaluation = masked_task(replace(CONFIG, prompt="plain"), pairs(40)).evaluate()
    assert evaluation is not None
    assert set(evaluation[1]) == {"loss", "accuracy"}
