"""Searching lifted Gaussians brings what comparing every pair in double precision brings."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import Independent, Normal, kl_divergence

from entail.encoders.gaussian.distributions import Gaussians
from entail.errors import RetrievalError
from entail.index.gaussian import MEAN_LIMIT, LiftedGaussians

DIRECTIONS: Any = ["entailing", "entailed"]


def _random(
    draw: np.random.Generator,
    count: int,
    dimension: int,
    *,
    width: float,
    spread: float = 1,
    shift: float = 0,
) -> Gaussians:
    mean = shift + spread * draw.normal(size=(count, dimension))
    logs = np.clip(width * draw.normal(size=(count, dimension)), -10, 10)
    return Gaussians(mean.astype(np.float32), logs.astype(np.float32))


def _distribution(gaussians: Gaussians) -> Independent:
    mean = torch.from_numpy(gaussians.mean).double()
    return Independent(Normal(mean, torch.from_numpy(gaussians.log_variance).double().div(2).exp()), 1)


def _brute_force(query: Gaussians, premises: Gaussians, direction: str) -> np.ndarray:
    single = _distribution(query[np.zeros(len(premises), dtype=int)])
    many = _distribution(premises)
    pair = (single, many) if direction == "entailing" else (many, single)
    divergences: np.ndarray = kl_divergence(*pair).numpy()
    return divergences


def _check(premises: Gaussians, queries: Gaussians, k: int, direction: Any) -> None:
    neighbours = LiftedGaussians(premises, direction).nearest(queries, k=k)
    for row in range(len(queries)):
        expected = _brute_force(queries[row], premises, direction)
        positions, divergences = neighbours.positions[row], neighbours.divergences[row]
        assert len(set(positions)) == k
        # torch's formula itself cancels digits: what is closer than that may change places.
        own = 1e-9 * (1 + np.abs(expected))
        assert (np.abs(divergences - expected[positions]) <= own[positions]).all()
        left_out = np.setdiff1d(np.arange(len(premises)), positions)
        assert (expected[left_out] >= divergences[-1] - own[left_out]).all()
        for better, worse in pairwise(zip(divergences, positions, strict=True)):
            assert better < worse  # by divergence, then by position


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 250),
    dimension=st.integers(1, 24),
    k=st.integers(1, 60),
    width=st.sampled_from([0.0, 0.1, 1.0, 4.0]),
    spread=st.sampled_from([0.0, 1e-4, 1.0, 30.0]),
    shift=st.sampled_from([0.0, 100.0]),
)
def test_search_is_comparing_every_pair(
    direction: Any,
    seed: int,
    count: int,
    dimension: int,
    k: int,
    width: float,
    spread: float,
    shift: float,
) -> None:
    draw = np.random.default_rng(seed)
    premises = _random(draw, count, dimension, width=width, spread=spread, shift=shift)
    near = premises[:1].mean + 0.01 * draw.normal(size=dimension)
    queries = Gaussians.of(np.concatenate([near, premises[:1].log_variance], axis=1).astype(np.float32))
    strange = _random(draw, 1, dimension, width=3, spread=10)
    both = Gaussians.of(np.concatenate([queries.values, strange.values]))
    _check(premises, both, min(k, count), direction)


@pytest.mark.parametrize("engine", ["flat", "panorama"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_duplicates_and_what_is_nearly_one_are_told_apart(
    direction: Any, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTAIL_INDEX", engine)
    draw = np.random.default_rng(3)
    base = _random(draw, 60, 16, width=0.5).values
    nearly = np.nextafter(base, np.float32(0))  # one step of float32 in every number
    premises = Gaussians.of(np.concatenate([base, nearly, base, nearly, base])[draw.permutation(300)])
    _check(premises, Gaussians.of(base[:12]), 7, direction)
    neighbours = LiftedGaussians(premises, direction).nearest(Gaussians.of(base[:12]), k=7)
    for row in range(12):
        same = np.flatnonzero((premises.values == base[row]).all(axis=1))
        assert neighbours.positions[row, :3].tolist() == same.tolist()
        assert neighbours.divergences[row, :3].tolist() == [0, 0, 0]
        assert (neighbours.divergences[row, 3:] > 0).all()
    alike = LiftedGaussians(premises[np.zeros(200, dtype=int)], direction)
    assert alike.nearest(Gaussians.of(base[:1] + 1), k=4).positions.tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize("engine", ["flat", "panorama"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_crowd_that_float32_cannot_tell_apart_is_widened(
    direction: Any, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTAIL_INDEX", engine)
    draw = np.random.default_rng(4)
    # Two crowds whose premises are a few steps of float32 apart, and the corpus's mean between them.
    side = np.where(draw.permutation(500) < 250, np.float32(50), np.float32(-50))[:, None]
    means = side + draw.integers(0, 4, size=(500, 8)).astype(np.float32) * np.float32(4e-6)
    premises = Gaussians(means, np.zeros_like(means))
    queries = Gaussians(np.full((2, 8), 20, np.float32), np.zeros((2, 8), np.float32))
    _check(premises, queries, 5, direction)


def test_what_float32_cannot_hold_is_refused() -> None:
    far = np.zeros((100, 8), np.float32)
    far[50, 0] = 4 * MEAN_LIMIT
    with pytest.raises(RetrievalError):
        LiftedGaussians(Gaussians.of(far), "entailed")
    lifted = LiftedGaussians(Gaussians.of(far[:50]), "entailing")
    with pytest.raises(RetrievalError):
        lifted.nearest(Gaussians.of(far[50:51]), k=1)
