"""The loss of GaussCSE: by hand, against the numpy similarities, and whether a step goes the right way."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from entail.encoders.gaussian.distributions import LOG_VARIANCE_LIMIT, Gaussians, divergence, similarity
from entail.encoders.gaussian.form import SimilarityKind
from entail.gausscse.losses import (
    contrastive,
    direction_loss,
    divergences,
    paired_similarities,
    parameters_of,
    ranking_loss,
    similarities,
)

Pair = tuple[torch.Tensor, torch.Tensor]
KINDS: list[SimilarityKind] = ["kl", "kl_mean", "kl_per_dim"]


def drawn(n: int, d: int, seed: int, *, spread: float = 1.0) -> Pair:
    draw = np.random.default_rng(seed)
    mean, log_variance = draw.normal(0, spread, (2, n, d)).astype(np.float32)
    return torch.from_numpy(mean), torch.from_numpy(log_variance)


def as_record(pair: Pair) -> Gaussians:
    return Gaussians(pair[0].numpy(), pair[1].numpy())


def test_one_dimension_by_hand() -> None:
    first: Pair = (torch.tensor([[1.0]]), torch.tensor([[0.0]]))
    second: Pair = (torch.tensor([[0.0]]), torch.tensor([[math.log(2)]]))
    # KL = (log 2 + (1 + 1) / 2 - 1) / 2
    assert float(divergences(first, second)) == pytest.approx(math.log(2) / 2)
    assert float(divergences(second, first)) == pytest.approx((-math.log(2) + 3 - 1) / 2)
    assert float(similarities(first, second, kind="kl")) == pytest.approx(1 / (1 + math.log(2) / 2))


@pytest.mark.parametrize("kind", KINDS)
def test_similarities_are_those_of_the_record(kind: SimilarityKind) -> None:
    first, second = drawn(5, 7, 0), drawn(5, 7, 1)
    matrix = similarities(first, second, kind=kind)
    for row in range(5):
        expected = similarity(as_record(first)[[row] * 5], as_record(second), kind=kind)
        assert matrix[row].numpy() == pytest.approx(expected, rel=1e-4)
    paired = paired_similarities(first, second, kind=kind)
    assert paired.numpy() == pytest.approx(matrix.diagonal().numpy(), rel=1e-4)


def test_directed_by_hand_and_the_way_it_pulls() -> None:
    """The second pair, which stands the wrong way, weighs three times."""
    forward, backward = torch.tensor([0.8, 0.3], requires_grad=True), torch.tensor([0.6, 0.5])
    weights = torch.tensor([1.0, 3.0])
    loss = direction_loss(forward, backward, temperature=0.1, weights=weights)
    expected = (math.log1p(math.exp(-2)) + 3 * math.log1p(math.exp(2))) / 4
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-5)
    (gradient,) = torch.autograd.grad(loss, forward)
    assert (gradient < 0).all()  # descending raises the similarity of pairs as they are
    assert abs(gradient[1]) > 10 * abs(gradient[0])


def test_ranking_by_hand_and_the_way_it_pulls() -> None:
    entailed = torch.tensor([0.9, 0.4], requires_grad=True)
    unentailed = torch.tensor([0.5], requires_grad=True)
    loss = ranking_loss(entailed, unentailed, temperature=0.1)
    expected = (math.log1p(math.exp(-4)) + math.log1p(math.exp(1))) / 2
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-5)
    loss.backward()  # type: ignore[no-untyped-call]  # not typed there
    assert entailed.grad is not None
    assert unentailed.grad is not None
    assert bool((entailed.grad < 0).all())
    assert bool((unentailed.grad > 0).all())
    assert abs(float(entailed.grad[1])) > 10 * abs(float(entailed.grad[0]))  # the one that stands below


@pytest.mark.parametrize("far", [0.0, 1e3])
def test_divergences_of_near_and_of_far_away_means(far: float) -> None:
    mean, log_variance = drawn(6, 32, 2, spread=0.3)
    moved: Pair = (mean + far, log_variance)
    matrix = divergences(moved, moved)
    assert matrix.diagonal().abs().max() < 1e-2
    expected = divergence(as_record((mean, log_variance))[[0] * 6], as_record((mean, log_variance)))
    assert matrix[0].numpy() == pytest.approx(expected, abs=2e-2)
    assert bool((matrix >= 0).all())


@pytest.mark.parametrize("apart", [1.0, 1e-2, 1e-4])
def test_divergences_of_gaussians_however_near_keep_their_digits(apart: float) -> None:
    mean, log_variance = drawn(6, 384, 3)
    limited = (5 * log_variance).clamp(-LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT)
    moved, other = drawn(6, 384, 4, spread=apart)
    near = (mean + moved, (limited + other).clamp(-LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT))
    matrix = divergences((mean, limited), near)
    for row in range(6):
        expected = divergence(as_record((mean, limited))[row], as_record(near))
        assert matrix[row].numpy() == pytest.approx(expected, rel=1e-4)
    assert matrix.dtype == torch.float32


def test_a_premise_alone_and_its_hypothesis_by_hand() -> None:
    first: Pair = (torch.zeros(2, 1), torch.tensor([[0.0], [1.0]]))
    second: Pair = (torch.tensor([[1.0], [3.0]]), torch.tensor([[-1.0], [0.5]]))
    s = similarities(second, first, kind="kl")  # s(e_j, p_i) at (j, i)
    back = similarities(first, second, kind="kl")
    t = 0.5
    expected = 0.0
    for i in range(2):
        below = sum(math.exp(float(s[j, i]) / t) + math.exp(float(back[j, i]) / t) for j in range(2))
        expected -= math.log(math.exp(float(s[i, i]) / t) / below) / 2
    loss, terms = contrastive(first, second, None, kind="kl", temperature=t)
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert terms["similarity"] == pytest.approx(float(s.diagonal().mean()))
    other, _ = contrastive(first, second, None, kind="kl", temperature=t, reversal="by_premise")
    assert float(other) != pytest.approx(expected, rel=1e-5)
    without, _ = contrastive(first, second, None, kind="kl", temperature=t, reversed_set=False)
    assert float(without) < expected


def test_contradictions_are_negatives_of_every_premise() -> None:
    premises, entailed, contradicted = drawn(3, 4, 0), drawn(3, 4, 1), drawn(2, 4, 2)
    options: dict[str, Any] = {"kind": "kl_mean", "temperature": 0.1, "reversed_set": False}
    forward = similarities(entailed, premises, kind="kl_mean").T / 0.1
    against = similarities(contradicted, premises, kind="kl_mean").T / 0.1
    expected = torch.logsumexp(torch.cat([forward, against], dim=1), dim=1) - forward.diagonal()
    loss, _ = contrastive(premises, entailed, contradicted, **options)
    assert float(loss) == pytest.approx(float(expected.mean()), rel=1e-5)
    empty = (torch.zeros(0, 4), torch.zeros(0, 4))
    alone, _ = contrastive(premises, entailed, None, **options)
    assert float(contrastive(premises, entailed, empty, **options)[0]) == float(alone)


def test_what_the_same_premise_entails_is_no_negative() -> None:
    premises, entailed = drawn(3, 4, 0), drawn(3, 4, 1)
    premises = (premises[0][[0, 0, 2]], premises[1][[0, 0, 2]])
    same = torch.tensor([[True, True, False], [True, True, False], [False, False, True]])
    options: dict[str, Any] = {"kind": "kl_mean", "temperature": 0.1, "reversed_set": False}
    plain, _ = contrastive(premises, entailed, None, **options)
    masked, _ = contrastive(premises, entailed, None, same_premise=same, **options)
    assert float(masked) < float(plain)
    of_hypotheses, _ = contrastive(premises, entailed, None, same_entailed=same, **options)
    assert float(of_hypotheses) == float(masked)


def test_weights_make_a_weighted_mean() -> None:
    premises, entailed = drawn(3, 4, 0), drawn(3, 4, 1)
    options: dict[str, Any] = {"kind": "kl_mean", "temperature": 0.1}
    plain, _ = contrastive(premises, entailed, None, **options)
    alike, _ = contrastive(premises, entailed, None, weights=torch.full((3,), 2.0), **options)
    assert float(alike) == pytest.approx(float(plain))
    losses = [
        float(contrastive(premises, entailed, None, weights=torch.eye(3)[i], **options)[0]) for i in range(3)
    ]
    assert sum(losses) / 3 == pytest.approx(float(plain))
    weighted, _ = contrastive(premises, entailed, None, weights=torch.tensor([1.0, 1.0, 4.0]), **options)
    assert float(weighted) == pytest.approx((losses[0] + losses[1] + 4 * losses[2]) / 6)


@pytest.mark.parametrize("reversal", ["by_entailed", "by_premise"])
@pytest.mark.parametrize("kind", ["kl_mean", "kl_per_dim"])
def test_a_step_raises_the_premises_variance_and_lowers_the_hypotheses(kind: Any, reversal: Any) -> None:
    values = torch.from_numpy(np.random.default_rng(3).normal(0, 0.2, (2, 8, 32)).astype(np.float32))
    log_variances = torch.zeros(2, 8, 16, requires_grad=True)
    premises = (values[0, :, :16], log_variances[0])
    entailed = (values[1, :, :16], log_variances[1])
    loss, before = contrastive(premises, entailed, None, kind=kind, temperature=0.05, reversal=reversal)
    loss.backward()  # type: ignore[no-untyped-call]  # not typed there
    assert log_variances.grad is not None
    stepped = (log_variances - 0.1 * log_variances.grad).detach()
    assert float(stepped[0].mean()) > 0 > float(stepped[1].mean())
    after, terms = contrastive(
        (premises[0], stepped[0]),
        (entailed[0], stepped[1]),
        None,
        kind=kind,
        temperature=0.05,
        reversal=reversal,
    )
    assert float(after) < float(loss.detach())
    assert terms["similarity reversed"] < before["similarity reversed"]


def test_parameters_are_cut_as_the_record_cuts_them() -> None:
    values = torch.tensor([[0.5, 99.0], [2.0, -99.0]])
    mean, log_variance = parameters_of(values, tanh=False)
    record = Gaussians.of(values.numpy())
    assert np.array_equal(mean.numpy(), record.mean)
    assert np.array_equal(log_variance.numpy(), record.log_variance)
    assert float(parameters_of(values, tanh=True)[0][1]) == pytest.approx(math.tanh(2.0))
