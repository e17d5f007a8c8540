"""The loss of GaussCSE: by hand, against the numpy similarities, and whether a step goes the right way."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from entail.encoders.gaussian.distributions import LOG_VARIANCE_LIMIT, Gaussians, divergence, similarity
from entail.encoders.gaussian.form import SimilarityKind
from entail.gausscse.losses import (
    contrastive_loss,
    direction_loss,
    divergences,
    parameters_of,
    ranking_loss,
    similarities,
)

KINDS: list[SimilarityKind] = ["kl", "kl_mean", "kl_per_dim"]


def drawn(n: int, d: int, seed: int, *, spread: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    mean, log_variance = np.random.default_rng(seed).normal(0, spread, (2, n, d)).astype(np.float32)
    return torch.from_numpy(mean), torch.from_numpy(log_variance)


def as_record(mean: torch.Tensor, log_variance: torch.Tensor) -> Gaussians:
    return Gaussians(mean.numpy(), log_variance.numpy())


@pytest.mark.parametrize("kind", KINDS)
def test_similarities_are_those_of_the_record(kind: SimilarityKind) -> None:
    mean, log_variance = drawn(5, 7, 0)
    record, matrix = as_record(mean, log_variance), similarities(mean, log_variance, kind=kind)
    for row in range(5):
        expected = similarity(record[row], record, kind=kind)
        assert matrix[row].numpy() == pytest.approx(expected, rel=1e-4)


def test_ranking_and_direction_by_hand() -> None:
    """The second pair, which stands the wrong way, weighs three times."""
    forward, backward = torch.tensor([0.8, 0.3], requires_grad=True), torch.tensor([0.6, 0.5])
    loss = direction_loss(forward, backward, temperature=0.1, weights=torch.tensor([1.0, 3.0]))
    assert float(loss.detach()) == pytest.approx((math.log1p(math.exp(-2)) + 3 * math.log1p(math.exp(2))) / 4)
    (gradient,) = torch.autograd.grad(loss, forward)
    assert (gradient < 0).all()  # descending raises the similarity of pairs as they are
    loss = ranking_loss(torch.tensor([0.9, 0.4]), torch.tensor([0.5]), temperature=0.1)
    assert float(loss) == pytest.approx((math.log1p(math.exp(-4)) + math.log1p(math.exp(1))) / 2)


@pytest.mark.parametrize("apart", [1.0, 1e-2, 1e-4])
def test_divergences_of_gaussians_however_near_keep_their_digits(apart: float) -> None:
    (mean, log_variance), (moved, other) = drawn(6, 384, 3), drawn(6, 384, 4, spread=apart)
    logs = torch.cat([5 * log_variance, 5 * log_variance + other])
    limited = logs.clamp(-LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT)
    means = torch.cat([mean, mean + moved])
    matrix, record = divergences(means, limited), as_record(means, limited)
    for row in range(6):
        assert float(matrix[row, row + 6]) == pytest.approx(
            divergence(record[row], record[row + 6])[0], rel=1e-4
        )
    assert matrix.dtype == torch.float32


def loss_of(forward: torch.Tensor, *others: torch.Tensor, **options: Any) -> float:
    n = len(forward)
    same, weights = torch.eye(n, dtype=torch.bool), torch.ones(n)
    options = {"same": same, "weights": weights} | options
    return float(contrastive_loss(forward, others, temperature=0.5, **options))


def test_equation_3_by_hand() -> None:
    forward, t = torch.tensor([[0.9, 0.2], [0.4, 0.6]]), 0.5
    contradicted, backward = torch.tensor([[0.3], [0.1]]), torch.tensor([[0.5, 0.7], [0.2, 0.8]])
    expected = 0.0
    for i in range(2):
        row = [*forward[i].tolist(), *contradicted[i].tolist(), *backward[i].tolist()]
        expected += (math.log(sum(math.exp(s / t) for s in row)) - float(forward[i, i]) / t) / 2
    assert loss_of(forward, contradicted, backward) == pytest.approx(expected, rel=1e-5)
    assert loss_of(forward, torch.zeros(2, 0)) == loss_of(forward) < expected
    # What the same premise entails is no negative.
    assert loss_of(forward, same=torch.ones(2, 2, dtype=torch.bool)) == 0 < loss_of(forward)


def test_weights_make_a_weighted_mean() -> None:
    forward = torch.rand(3, 3, generator=torch.Generator().manual_seed(0))
    losses = [loss_of(forward, weights=torch.eye(3)[i]) for i in range(3)]
    assert loss_of(forward) == pytest.approx(sum(losses) / 3)
    weighted = loss_of(forward, weights=torch.tensor([1.0, 1.0, 4.0]))
    assert weighted == pytest.approx((losses[0] + losses[1] + 4 * losses[2]) / 6)


def test_parameters_are_cut_as_the_record_cuts_them() -> None:
    values = torch.tensor([[0.5, 99.0], [2.0, -99.0]])
    mean, log_variance = parameters_of(values, tanh=False)
    record = Gaussians.of(values.numpy())
    assert np.array_equal(mean.numpy(), record.mean)
    assert np.array_equal(log_variance.numpy(), record.log_variance)
    assert float(parameters_of(values, tanh=True)[0][1]) == pytest.approx(math.tanh(2.0))
