"""The losses by hand, and their properties."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from entail.arcf.config import Loss
from entail.arcf.training import prefix_loss
from entail.errors import TrainingError

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
