"""From how many trees on it pays, as `scripts/learning_curve.py` says it from its figures."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

RESULT = Path(__file__).parent.parent.parent / "docs" / "results" / "aeenc_learning.json"


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("learning_curve")


def run(score: float, reads: float) -> dict[str, Any]:
    measures = {"MAP": score, "Hit@10": 0.7, "Hit@50": 0.9}
    return {"query_excluded": measures, "effort": {"reads_per_accepted": reads}, "seconds": 1.0}


def result(**sizes: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return figures of some sizes, (MAP, reads) of each seed; untrained they are .5 and 17."""
    return {
        "figures": {
            "untrained": run(0.5, 17.0),
            "sizes": {
                name.removeprefix("trees_"): {str(seed): run(*one) for seed, one in enumerate(runs)}
                for name, runs in sizes.items()
            },
        },
        "hardware": {"cpu": "some", "cores": 2, "gpus": []},
        "commit": "abc",
        "command": "python scripts/learning_curve.py",
    }


def test_an_interval_is_students_over_the_seeds(script: ModuleType) -> None:
    assert script.interval([0.01, 0.02, 0.03]) == pytest.approx(
        (0.02 - 4.3027 * 0.01 / 3**0.5, 0.04484), abs=1e-5
    )
    assert script.interval([0.01]) is None


def test_it_pays_from_where_on_every_interval_is_above_nothing(script: ModuleType) -> None:
    sure, unsure = [(0.51, 15.0), (0.512, 15.2), (0.511, 15.1)], [(0.49, 15.0), (0.53, 15.2), (0.51, 15.1)]
    told = result(trees_10=sure, trees_30=unsure, trees_100=sure)
    assert script.pays_from(told["figures"]) == 100  # that it also gained after 10 says nothing of 30
    page = "\n".join(script.markdown(told))
    assert "**It pays from 100 trees on**: MAP is higher by 0.011 there" in page
    assert "fewest" not in page
    assert "| 30 | 0.010 | -0.040 to 0.060 | 1.90 | 1.65 to 2.15 | 2 of 3 |" in page


def test_the_page_is_made_from_the_committed_figures(script: ModuleType) -> None:
    page = RESULT.with_suffix(".md").read_text(encoding="utf-8")
    assert page.splitlines() == list(script.markdown(json.loads(RESULT.read_text(encoding="utf-8"))))
    assert "**It pays from 10 trees on**, the fewest that were tried" in page
