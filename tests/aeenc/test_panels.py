"""Panels beside the paper's claim, on each side of each limit."""

import numpy as np
import pytest

from entail.aeenc.panels import GroupSummary, Panel, judge
from entail.statistics.separation import Separation


def group(count: int = 5) -> GroupSummary:
    return GroupSummary.of(np.linspace(0, 1, count))


def panel(letter: str, auc: tuple[float, float, float] | None, shared: float = 0.5, *, fn: int = 5) -> Panel:
    """Make a panel whose separation is (low, figure, high); the draws of `shared` scatter by 0.05."""
    separation = None
    if auc is not None:
        draws = shared + np.linspace(-0.05, 0.05, 101)
        low, figure, high = auc
        separation = Separation(figure, (low, high), shared, (shared - 0.05, shared + 0.05), draws, draws)
    name = None if letter == "a" else f"encoder {letter}"
    measure = "token overlap" if letter == "a" else "cosine"
    return Panel(letter, measure, name, {"TP": group(), "FN": group(fn), "FP": group()}, separation)


HIGH = (0.6, 0.7, 0.8)


def test_a_group_by_hand() -> None:
    summary = GroupSummary.of(np.array([0.1, 0.2, 0.6]))
    assert summary.mean == pytest.approx(0.3)
    assert summary.sd == pytest.approx(np.sqrt((0.04 + 0.01 + 0.09) / 3))
    assert summary.quartiles == pytest.approx((0.15, 0.2, 0.4))
    assert GroupSummary.of(np.empty(0)) == GroupSummary(0, None, None, None)


@pytest.mark.parametrize(
    ("auc", "holds", "words"),
    [
        (HIGH, True, "FP stand above FN: P(FP > FN) = 0.700 [0.600, 0.800], Cliff's delta +0.400 (medium)"),
        ((0.51, 0.53, 0.55), True, "(negligible)"),
        ((0.1, 0.2, 0.3), False, "FP stand below FN"),
        ((0.45, 0.55, 0.65), None, "neither FP nor FN can be said to stand above"),
        ((0.5, 0.6, 0.7), None, "is open"),
        ((1.0, 1.0, 1.0), True, "(large)"),
    ],
)
def test_above(auc: tuple[float, float, float], holds: bool | None, words: str) -> None:
    verdict = judge([panel("a", auc), panel("b", HIGH)])[0]
    assert (verdict.panel, verdict.claim, verdict.holds) == ("a", "FP above FN", holds)
    assert words in verdict.words


@pytest.mark.parametrize(
    ("shared", "holds", "words"),
    [(0.7, True, "overlap more"), (0.3, False, "overlap less"), (0.5, None, "cannot")],
)
def test_overlapping_is_against_panel_b(shared: float, holds: bool | None, words: str) -> None:
    verdict = judge([panel("a", HIGH), panel("b", HIGH, 0.5), panel("c", HIGH, shared)])[2]
    assert (verdict.panel, verdict.claim, verdict.holds) == ("c", "FP and FN overlap", holds)
    assert words in verdict.words
    assert f"shared {shared:.3f} against 0.500" in verdict.words


@pytest.mark.parametrize(
    ("auc", "holds", "words"),
    [
        ((0.45, 0.5, 0.55), True, "FP and FN are balanced: Cliff's delta +0.000 [-0.100, +0.100]"),
        ((0.6, 0.7, 0.8), False, "FP stand above FN"),
        ((0.1, 0.2, 0.3), False, "FP stand below FN"),
        ((0.45, 0.55, 0.65), None, "FP may stand above FN"),
        ((0.3, 0.45, 0.55), None, "FP may stand below FN"),
    ],
)
def test_balanced(auc: tuple[float, float, float], holds: bool | None, words: str) -> None:
    verdicts = judge([panel("a", HIGH), panel("b", HIGH), panel("c", HIGH), panel("d", auc)])
    verdict = verdicts[-1]
    assert (verdict.panel, verdict.claim, verdict.holds) == ("d", "FP and FN balanced", holds)
    assert words in verdict.words


def test_what_was_not_measured_is_said() -> None:
    verdicts = judge([panel("a", HIGH), panel("b", HIGH)])
    assert [(v.panel, v.holds) for v in verdicts[2:]] == [("c", None), ("d", None)]
    assert "was not measured; give an encoder tuned on gold triplets" in verdicts[2].words
    assert [v.panel for v in judge([panel(letter, HIGH) for letter in "abc"])] == ["a", "b", "c", "c", "d"]
