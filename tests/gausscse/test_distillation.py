"""Distillation: an encoder of Gaussians that learns the similarities of others."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from entail.data.nli.pairs import NliPair
from entail.data.nli.triplets import NliTriplets
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.errors import CheckpointError, EncoderError, TrainingError
from entail.gausscse.config import GausscseConfig
from entail.gausscse.losses import distillation_loss
from entail.gausscse.training import train_gausscse
from entail.gausscse.verdict import logits
from entail.training.loop.task import Event
from entail.training.method import Run

SETTINGS = GausscseConfig(
    base="tiny", rank=4, epochs=1, batch_size=8, learning_rate=0.01, evaluate_every=4, precision="fp32"
)


@pytest.fixture
def taught(tiny_home: Path, triplets: NliTriplets) -> Path:
    """Return the home of two trained encoders, `one` and `two`."""
    for seed, name in enumerate(("one", "two")):
        config = replace(SETTINGS, epochs=6, seed=seed, direction=1.0)
        train_gausscse(triplets, config, run=Run(out=tiny_home / name))
    return tiny_home


def test_the_loss_is_of_all_pairs_of_labelled_ones_and_of_their_margins() -> None:
    taught = torch.tensor([[9.0, 1.0, 2.0], [0.0, 9.0, -1.0], [1.0, 1.0, 9.0]])
    apart = torch.tensor([[5.0, 0.0, 0.5], [2.0, 5.0, 0.0], [0.0, -1.0, 5.0]])
    premise, hypothesis = torch.tensor([0]), torch.tensor([1])
    loss = distillation_loss((taught + apart).sigmoid(), taught.sigmoid(), premise, hypothesis)
    everything = (0.5**2 + 2**2 + 1**2) / 6
    assert loss.item() == pytest.approx(everything + 2**2 + 0 + 2**2, rel=1e-4)


def test_a_student_of_teachers_alone_takes_over_their_directions(
    taught: Path, triplets: NliTriplets, nli_pairs: Callable[..., list[NliPair]]
) -> None:
    events: list[Event] = []
    config = replace(SETTINGS, epochs=9, seed=7, teachers="one,two", distillation=1.0)
    train_gausscse(triplets, config, run=Run(out=taught / "student", watch=events.append))
    distances = [event.terms["taught"] for event in events if "taught" in event.terms]
    assert np.mean(distances[-4:]) < np.mean(distances[:4]) / 2
    unseen = [pair for pair in nli_pairs(40, seed=2) if pair.label == "entailment"]
    premises, hypotheses = [p.premise for p in unseen], [p.hypothesis for p in unseen]

    def margins(name: str) -> np.ndarray:
        encoder = GaussianEncoder(name)
        return logits(encoder.similarities(hypotheses, premises)) - logits(
            encoder.similarities(premises, hypotheses)
        )

    teachers = (margins("one") + margins("two")) / 2
    assert np.corrcoef(margins("student"), teachers)[0, 1] > 0.5


def test_a_checkpoint_is_bound_to_its_teachers(taught: Path, triplets: NliTriplets) -> None:
    config = replace(SETTINGS, teachers="one")
    calls = iter(range(100))
    with pytest.raises(TrainingError, match="stopped on request"):
        train_gausscse(triplets, config, run=Run(out=taught / "student", stop=lambda: next(calls) == 4))
    train_gausscse(triplets, replace(SETTINGS, seed=5), run=Run(out=taught / "third"))
    (taught / "one").rename(taught / "before")
    (taught / "third").rename(taught / "one")
    with pytest.raises(CheckpointError, match="teachers"):
        train_gausscse(triplets, config, run=Run(out=taught / "student"))


def test_a_teacher_of_another_similarity_is_refused(gaussian: str, triplets: NliTriplets) -> None:
    with pytest.raises(TrainingError, match="similarity"):
        train_gausscse(triplets, replace(SETTINGS, teachers=gaussian, similarity="kl_per_dim"))


@pytest.mark.parametrize(
    ("names", "error"), [("nobody", EncoderError), ("tiny", EncoderError), (" , ", TrainingError)]
)
def test_teachers_that_cannot_be(
    tiny_home: Path, triplets: NliTriplets, names: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        train_gausscse(triplets, replace(SETTINGS, teachers=names))
