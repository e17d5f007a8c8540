import math
from typing import Any

import pytest
import torch

from entail.aeenc.losses import LOSSES, LossOptions, contrastive, drift, softmax, triplet_margin

SIMILARITIES = torch.tensor([[0.9, 0.8, 0.2, 0.5], [0.1, 0.4, 0.3, 0.0]])
LABELS = torch.tensor([[1, -1, -1, 0], [-1, 1, 1, -1]], dtype=torch.int8)


def test_triplet_margin_by_hand() -> None:
    # m .2; query 0: p+ .9 against .8 and .2: .1, 0; query 1: .4 against .1, .0: 0, 0; .3 against both: 0, 0
    loss, active = triplet_margin(SIMILARITIES, LABELS, LossOptions(reduction="mean"))
    assert loss.item() == pytest.approx(0.1 / 6)
    assert active.item() == pytest.approx(1 / 6)
    loss, _ = triplet_margin(SIMILARITIES, LABELS, LossOptions())
    assert loss.item() == pytest.approx(0.1 / 2)


def test_contrastive_by_hand() -> None:
    # D = 1 - cos; positives .1, .6, .7: D^2 / 2; negatives within m = .5: D = .2 -> .3^2 / 2; others beyond
    loss, active = contrastive(SIMILARITIES, LABELS, LossOptions())
    expected = (0.1**2 + 0.6**2 + 0.7**2 + 0.3**2) / 2 / 7
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert active.item() == pytest.approx(1 / 4)


def test_softmax_by_hand() -> None:
    tau = 0.5
    first = -math.log(math.exp(1.8) / (math.exp(1.8) + math.exp(1.6) + math.exp(0.4)))
    rivals = math.exp(0.2) + math.exp(0.0)
    second = [-math.log(math.exp(s / tau) / (math.exp(s / tau) + rivals)) for s in (0.4, 0.3)]
    loss, wrong = softmax(SIMILARITIES, LABELS, LossOptions(temperature=tau))
    assert loss.item() == pytest.approx((first + sum(second)) / 3, rel=1e-5)
    assert wrong.item() == 0
    without_negative = torch.tensor([1, 0, 0, 0], dtype=torch.int8)  # takes no part
    loss, _ = softmax(SIMILARITIES, torch.stack([LABELS[0], without_negative]), LossOptions(temperature=tau))
    assert loss.item() == pytest.approx(first, rel=1e-5)


@pytest.mark.parametrize("loss", [*LOSSES.values()], ids=[*LOSSES])
class TestEveryLoss:
    """Properties of every entry of the table, so of a new one too."""

    def test_the_gradient_raises_positives_and_lowers_negatives(self, loss: Any) -> None:
        similarities = torch.tensor([[0.5, 0.6, 0.4]], requires_grad=True)
        value, _ = loss(similarities, torch.tensor([[1, -1, 0]], dtype=torch.int8), LossOptions())
        value.backward()
        positive, negative, unlabelled = similarities.grad[0].tolist()
        assert positive < 0 < negative
        assert unlabelled == 0

    @pytest.mark.parametrize("labels", [[[0, 0, 0]], [[1, 1, 0]], [[-1, -1, 0]]])
    def test_one_class_gives_a_finite_loss_and_gradient(self, loss: Any, labels: Any) -> None:
        similarities = torch.tensor([[0.5, 0.6, 0.4]], requires_grad=True)
        value, active = loss(similarities, torch.tensor(labels, dtype=torch.int8), LossOptions())
        assert math.isfinite(value.item())
        assert 0 <= active.item() <= 1
        if value.requires_grad:
            value.backward()
            assert torch.isfinite(similarities.grad).all()

    def test_the_order_of_premises_does_not_matter(self, loss: Any) -> None:
        order = [2, 0, 3, 1]
        value, _ = loss(SIMILARITIES, LABELS, LossOptions())
        other_value, _ = loss(SIMILARITIES[:, order], LABELS[:, order], LossOptions())
        assert value.item() == pytest.approx(other_value.item(), rel=1e-5)


def test_drift_is_the_squared_distance_to_the_base() -> None:
    base = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert drift(base, base).item() == 0
    assert drift(torch.tensor([[0.0, 1.0], [0.0, 1.0]]), base).item() == pytest.approx(1.0)
