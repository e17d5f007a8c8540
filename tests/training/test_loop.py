"""The training loop: schedule, resumption, checkpoints, batches."""

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from entail.errors import CheckpointError, DivergedError, TrainingError
from entail.training.loop.batches import BatchTask, batches
from entail.training.loop.fit import CHECKPOINT, fit
from entail.training.loop.task import Schedule


class Line:
    """Learn y = 2 x with dropout on the way, so that the random generator matters."""

    def __init__(
        self, *, batches: int = 5, scores: list[float] | None = None, poison_at: int | None = None
    ) -> None:
        torch.manual_seed(3)
        self.layer = nn.Linear(4, 1)
        self.x = torch.randn(batches * 8, 4)
        self.y = 2 * self.x.sum(dim=1, keepdim=True)
        self.count, self.scores, self.poison_at = batches, scores, poison_at
        self.seen = 0
        self.rounds = []

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.layer.named_parameters())

    def begin_epoch(self, epoch: int) -> None:
        self.rounds.append(epoch)

    def batches(self, epoch: int) -> list[Any]:
        return [(epoch, i) for i in range(self.count)]

    def steps(self, epochs: int) -> int:
        return epochs * self.count

    def loss(self, batch: Any) -> Any:
        self.seen += 1
        at = batch[1] * 8
        x = nn.functional.dropout(self.x[at : at + 8], p=0.3)
        loss = (self.layer(x) - self.y[at : at + 8]).square().mean()
        if self.poison_at == self.seen:
            loss = loss * float("nan")
        return loss, {"mse": float(loss.detach())}

    def evaluate(self) -> Any:
        if self.scores is not None:
            return self.scores.pop(0), {}
        with torch.no_grad():
            return -float((self.layer(self.x) - self.y).square().mean()), {"norm": 1.0}

    def state(self) -> Any:
        return {"rounds": self.rounds}

    def restore(self, state: Any) -> None:
        self.rounds = list(state["rounds"])


SCHEDULE = Schedule(epochs=3, learning_rate=0.05, checkpoint_seconds=0)


def weights(task: Any) -> Any:
    return torch.cat([p.detach().flatten() for p in task.parameters.values()])


def test_the_learning_rate_rises_and_falls_to_nothing_and_a_step_is_as_long() -> None:
    task, rates = Line(batches=20), []
    before = weights(task).clone()
    changes: list[Any] = []

    def watch(event: Any) -> None:
        if event.terms:
            rates.append(event.learning_rate)
            changes.append((weights(task) - before).abs())

    schedule = Schedule(epochs=2, learning_rate=1.0, warmup=0.25, weight_decay=0.0)
    fit(task, task.parameters, schedule, watch=watch)
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == pytest.approx(1.0)
    assert rates.index(max(rates)) in (9, 10)
    assert rates[-1] == pytest.approx(1 / 30)
    assert torch.allclose(changes[0], torch.full_like(changes[0], rates[0]), rtol=1e-3), "AdamW's first"


def test_dev_is_measured_within_an_epoch_and_at_its_end() -> None:
    task = Line(scores=[0.0, 0.2, 0.5, 0.5, 0.4, 0.3, 0.1])
    schedule = Schedule(epochs=2, learning_rate=0.05, evaluate_steps=2)
    reports: list[Any] = []
    fitted = fit(task, task.parameters, schedule, watch=lambda event: reports.append(event.evaluated))
    assert [evaluated for evaluated in reports if evaluated] == list(fitted.evaluations)
    measured = [(e.step, e.epoch) for e in fitted.evaluations]
    assert measured == [(0, 0), (2, 0), (4, 0), (5, 1), (6, 1), (8, 1), (10, 2)]
    assert fitted.best == fitted.evaluations[2], "the first of equal ones"
    assert 0 < fitted.seconds < 60


@pytest.mark.parametrize("killed_after", [1, 5, 7, 14])
def test_a_killed_run_resumes_to_the_same_weights_bit_for_bit(tmp_path: Path, killed_after: int) -> None:
    whole = Line()
    fit(whole, whole.parameters, SCHEDULE, folder=tmp_path / "whole", fingerprint={"base": "b"})

    class Killed(BaseException):
        pass

    def kill(event: Any) -> None:
        if event.step == killed_after + 1:
            raise Killed

    first = Line()
    with pytest.raises(Killed):
        fit(first, first.parameters, SCHEDULE, folder=tmp_path / "a", fingerprint={"base": "b"}, watch=kill)
    torch.rand(17)  # whatever else drew in between
    second = Line()
    with torch.no_grad():
        second.layer.weight.fill_(9.0)
    fitted = fit(second, second.parameters, SCHEDULE, folder=tmp_path / "a", fingerprint={"base": "b"})
    assert fitted.resumed == 1
    assert torch.equal(weights(whole), weights(second))
    assert second.rounds == whole.rounds


def test_the_best_weights_are_kept_not_the_last() -> None:
    snapshots = []
    task = Line(scores=[0.0, 0.3, 0.9, 0.1])
    inner = task.evaluate
    task.evaluate = lambda: (snapshots.append(weights(task).clone()), inner())[1]
    fitted = fit(task, task.parameters, SCHEDULE)
    assert fitted.best.epoch == 2
    assert torch.equal(weights(task), snapshots[2])


def test_a_loss_that_is_not_finite_stops_with_the_step(tmp_path: Path) -> None:
    task = Line(poison_at=4)
    with pytest.raises(DivergedError, match=r"nan at step 4 .*lower the learning rate"):
        fit(task, task.parameters, SCHEDULE, folder=tmp_path)
    assert math.isfinite(float(weights(task).sum()))
    assert (tmp_path / CHECKPOINT).is_file()


def test_a_stop_on_request_leaves_a_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    task = Line()
    with pytest.raises(TrainingError, match="stopped on request after step 2"):
        fit(task, task.parameters, SCHEDULE, folder=tmp_path, stop=lambda: task.seen == 2)
    second, third = Line(), Line()
    done = fit(second, second.parameters, SCHEDULE, folder=tmp_path)
    assert (done.steps, second.seen) == (15, 13)
    assert fit(third, third.parameters, SCHEDULE, folder=tmp_path).best == done.best
    assert third.seen == 0  # nothing is left to do
    assert torch.equal(weights(second), weights(third))


def test_a_checkpoint_of_another_training_is_refused_naming_both_sides(tmp_path: Path) -> None:
    task = Line()
    fit(task, task.parameters, SCHEDULE, folder=tmp_path, fingerprint={"base": "minilm@1"})
    with pytest.raises(CheckpointError, match=r"base: expected 'minilm@2', found 'minilm@1'"):
        fit(task, task.parameters, SCHEDULE, folder=tmp_path, fingerprint={"base": "minilm@2"})
    fit(task, task.parameters, SCHEDULE, folder=tmp_path, fingerprint={"base": "minilm@2"}, resume=False)


def test_a_full_disk_leaves_the_old_checkpoint_and_a_damaged_one_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Line()
    fit(task, task.parameters, SCHEDULE, folder=tmp_path)
    before = (tmp_path / CHECKPOINT).read_bytes()

    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(CheckpointError, match="No space left"):
        fit(task, task.parameters, SCHEDULE, folder=tmp_path, resume=False)
    assert (tmp_path / CHECKPOINT).read_bytes() == before
    assert {file.name for file in tmp_path.iterdir()} == {CHECKPOINT, ".lock"}
    (tmp_path / CHECKPOINT).write_bytes(b"half of it")
    with pytest.raises(CheckpointError, match="damaged"):
        fit(task, task.parameters, SCHEDULE, folder=tmp_path)


def test_nothing_to_train_is_an_error() -> None:
    task = Line(batches=0)
    with pytest.raises(TrainingError, match="found none"):
        fit(task, task.parameters, SCHEDULE)
    with pytest.raises(TrainingError, match="weights"):
        fit(task, {}, SCHEDULE)


LENGTHS = st.lists(st.integers(1, 200), max_size=200)


@given(LENGTHS, st.integers(1, 17), st.integers(0, 5), st.integers(0, 5))
def test_every_text_is_in_one_batch(lengths: Sequence[int], size: int, seed: int, epoch: int) -> None:
    dealt = batches(lengths, batch_size=size, seed=seed, epoch=epoch)
    assert sorted(np.concatenate([*dealt, np.empty(0, dtype=int)]).tolist()) == list(range(len(lengths)))
    assert all(0 < len(batch) <= size for batch in dealt)
    again = batches(lengths, batch_size=size, seed=seed, epoch=epoch)
    assert all(np.array_equal(a, b) for a, b in zip(dealt, again, strict=True))


def test_like_lengths_go_together_and_epochs_combine_other_texts() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, size=512)
    padded = sum(len(b) * lengths[b].max() for b in batches(lengths, batch_size=32, seed=0, epoch=0))
    assert padded < 1.15 * lengths.sum()
    first, second = (batches([10] * 64, batch_size=8, seed=0, epoch=e) for e in (0, 1))
    assert {frozenset(b.tolist()) for b in first} != {frozenset(b.tolist()) for b in second}
    task = BatchTask(SimpleNamespace(batch_size=2, seed=0), [1] * 5)
    assert task.steps(2) == 2 * len(task.batches(0)) == 6
