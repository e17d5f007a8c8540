import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from entail.aeenc.losses import contrastive, drift, softmax, triplet_margin, variance

SIMILARITIES = torch.tensor([[0.9, 0.8, 0.2, 0.5], [0.1, 0.4, 0.3, 0.0]])
LABELS = torch.tensor([[1, -1, -1, 0], [-1, 1, 1, -1]], dtype=torch.int8)


def test_triplet_margin_by_hand() -> None:
    # m .2; query 0: p+ .9 against .8 and .2: .1, 0; query 1: .4 against .1, .0: 0, 0; .3 against both: 0, 0
    loss, active = triplet_margin(SIMILARITIES, LABELS, margin=0.2)
    assert loss.item() == pytest.approx(0.1 / 6)
    assert active.item() == pytest.approx(1 / 6)


def test_triplet_margin_summed_is_a_mean_over_queries() -> None:
    loss, _ = triplet_margin(SIMILARITIES, LABELS, margin=0.2, reduction="sum")
    assert loss.item() == pytest.approx(0.1 / 2)


def test_contrastive_by_hand() -> None:
    # D = 1 - cos; positives .1, .6, .7: D^2 / 2; negatives within m = .5: D = .2 -> .3^2 / 2; others beyond
    loss, active = contrastive(SIMILARITIES, LABELS, margin=0.5)
    expected = (0.1**2 + 0.6**2 + 0.7**2 + 0.3**2) / 2 / 7
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert active.item() == pytest.approx(1 / 4)


def test_softmax_by_hand() -> None:
    tau = 0.5
    first = -math.log(math.exp(1.8) / (math.exp(1.8) + math.exp(1.6) + math.exp(0.4)))
    rivals = math.exp(0.2) + math.exp(0.0)
    second = [-math.log(math.exp(s / tau) / (math.exp(s / tau) + rivals)) for s in (0.4, 0.3)]
    loss, wrong = softmax(SIMILARITIES, LABELS, temperature=tau)
    assert loss.item() == pytest.approx((first + sum(second)) / 3, rel=1e-5)
    assert wrong.item() == 0


@pytest.mark.parametrize(
    "loss", [triplet_margin, lambda s, y: triplet_margin(s, y, reduction="sum"), contrastive, softmax]
)
def test_the_gradient_raises_positives_and_lowers_negatives(loss: Any) -> None:
    similarities = torch.tensor([[0.5, 0.6, 0.4]], requires_grad=True)
    labels = torch.tensor([[1, -1, 0]], dtype=torch.int8)
    value, _ = loss(similarities, labels)
    value.backward()
    positive, negative, unknown = similarities.grad[0].tolist()
    # going down the gradient
    assert -positive > 0
    assert -negative < 0
    assert unknown == 0


@pytest.mark.parametrize("loss", [triplet_margin, contrastive, softmax])
@pytest.mark.parametrize("labels", [[[0, 0, 0]], [[1, 1, 0]], [[-1, -1, 0]]])
def test_one_class_alone_gives_a_finite_loss_and_gradient(loss: Any, labels: Any) -> None:
    similarities = torch.tensor([[0.5, 0.6, 0.4]], requires_grad=True)
    value, active = loss(similarities, torch.tensor(labels, dtype=torch.int8))
    assert math.isfinite(value.item())
    assert 0 <= active.item() <= 1
    if value.requires_grad:
        value.backward()
        assert torch.isfinite(similarities.grad).all()


def test_drift_is_the_squared_distance_to_the_base() -> None:
    base = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert drift(base, base).item() == 0
    assert drift(torch.tensor([[0.0, 1.0], [0.0, 1.0]]), base).item() == pytest.approx(1.0)


@given(st.permutations(range(4)))
def test_the_order_of_premises_does_not_matter(order: Any) -> None:
    for loss in (triplet_margin, contrastive, softmax):
        one, _ = loss(SIMILARITIES, LABELS)
        other, _ = loss(SIMILARITIES[:, order], LABELS[:, order])
        assert one.item() == pytest.approx(other.item(), rel=1e-5)


def test_variance_is_nothing_when_all_are_one_and_does_not_depend_on_their_number() -> None:
    assert variance(torch.tensor([[1.0, 0.0]] * 3)) == pytest.approx(0)
    assert variance(torch.tensor([[1.0, 0.0], [-1.0, 0.0]])) == pytest.approx(2)
    draw = torch.Generator().manual_seed(0)
    spread = torch.nn.functional.normalize(torch.randn(4000, 8, generator=draw), dim=1)
    assert variance(spread) == pytest.approx(1, abs=0.01)
    few = [variance(spread[at : at + 4]) for at in range(0, 4000, 4)]
    assert sum(few) / len(few) == pytest.approx(1, abs=0.05)
