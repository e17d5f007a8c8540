"""The losses by hand, and the direction of their gradients."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from entail.arcf.config import Loss
from entail.arcf.training import prefix_loss
from entail.errors import TrainingError

KINDS: tuple[Loss, ...] = ("ranknet", "nce")
SCORES = torch.tensor([2.0, 0.5, 1.0, -1.0])
POSITIVE = torch.tensor([True, True, False, False])


def test_losses_by_hand() -> None:
    bad = math.exp(1) + math.exp(-1)
    expected = {
        "ranknet": sum(math.log(1 + math.exp(n - p)) for p in (2.0, 0.5) for n in (1.0, -1.0)) / 4,
        "nce": -sum(math.log(math.exp(p) / (math.exp(p) + bad)) for p in (2.0, 0.5)) / 2,
    }
    losses = {kind: float(prefix_loss(SCORES, POSITIVE, kind=kind)) for kind in KINDS}
    assert losses == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@given(st.floats(-50, 50), st.lists(st.floats(-20, 20), min_size=2, max_size=6))
def test_losses_do_not_change_when_all_scores_move(kind: Loss, by: float, values: list[float]) -> None:
    scores, positive = torch.tensor(values, dtype=torch.float64), torch.arange(len(values)) < 1
    loss, moved_loss = (prefix_loss(logits, positive, kind=kind) for logits in (scores, scores + by))
    assert float(loss) == pytest.approx(float(moved_loss), abs=1e-6)
    assert float(loss) >= 0


@pytest.mark.parametrize("kind", KINDS)
def test_great_scores_stay_finite_and_both_sides_are_needed(kind: Loss) -> None:
    for values in ([1e4, -1e4], [-1e4, 1e4]):
        assert torch.isfinite(prefix_loss(torch.tensor(values), torch.tensor([True, False]), kind=kind))
    for positive in ([True, True], [False, False]):
        with pytest.raises(TrainingError):
            prefix_loss(torch.zeros(2), torch.tensor(positive), kind=kind)
