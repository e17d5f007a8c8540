"""Agreement on candidates, against published examples and scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from entail.teams.judgements import judgement_agreement


def test_pairs_are_those_of_scikit_learn() -> None:
    draw = np.random.default_rng(0)
    gold = draw.random(200) < 0.3
    copies = {name: np.where(draw.random(200) < error, ~gold, gold) for name, error in QUALITY.items()}
    judged = {at: {name: bool(copies[name][at]) for name in QUALITY} for at in range(200)}
    result = judgement_agreement(judged)
    assert (result.n, result.complete, len(result.pairs)) == (200, 200, 3)
    for pair in result.pairs:
        expected = cohen_kappa_score(copies[pair.first], copies[pair.second])
        assert pair.kappa == pytest.approx(expected)
    ranked = sorted(result.pairs, key=lambda pair: -(pair.kappa or 0))
    assert [(pair.first, pair.second) for pair in ranked] == [("Ada", "Ben"), ("Ada", "Cyd"), ("Ben", "Cyd")]


QUALITY = {"Ada": 0.02, "Ben": 0.1, "Cyd": 0.3}


@pytest.mark.parametrize(
    ("rows", "alpha", "fleiss"),
    [
        # Krippendorff, Computing Krippendorff's alpha-reliability (2011), A: binary data, two observers.
        ([*zip((0, 1, 0, 0, 0, 0, 0, 0, 1, 0), (1, 1, 1, 0, 0, 1, 0, 0, 0, 0), strict=True)], 0.095, None),
        # By hand: mean of 1, 1/3, 1/3, 1; shares of a half.
        ([(1, 1, 1), (1, 1, 0), (0, 0, 1), (0, 0, 0)], 1 - (4 / 12) / (6 / 11), (2 / 3 - 1 / 2) / (1 / 2)),
    ],
)
def test_published_examples(rows: list[tuple[int, ...]], alpha: float, fleiss: float | None) -> None:
    judged = {
        at: dict(zip(("Ada", "Ben", "Cyd"), map(bool, row), strict=False)) for at, row in enumerate(rows)
    }
    result = judgement_agreement(judged)
    assert result.alpha == pytest.approx(alpha, abs=5e-4)
    assert fleiss is None or result.fleiss == pytest.approx(fleiss)


def test_only_candidates_that_several_judged_count() -> None:
    judged = {1: {"Ada": True, "Ben": True}, 2: {"Ada": False}, 3: {"Ben": True, "Cyd": False}, 4: {}}
    result = judgement_agreement(judged)
    assert (result.n, result.complete, result.fleiss) == (2, 0, None)
    assert {(pair.first, pair.second): pair.n for pair in result.pairs} == {
        ("Ada", "Ben"): 1,
        ("Ben", "Cyd"): 1,
    }
    assert judgement_agreement({1: {"Ada": True, "Ben": True}}).alpha is None
    assert judgement_agreement({}).n == 0
