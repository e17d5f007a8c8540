import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from entail.data.nli.pairs import NliPair
from entail.errors import EvaluationError, SettingsError
from entail.evaluation.nli.entailment import evaluate_nli


class Told:
    """Cosines of each pair as it was told of its hypothesis."""

    name, revision, premise_revision, dimension, symmetric = "told", "told@1", "told@1", 2, False

    def __init__(self, told: dict[str, float], *, threshold: float | None = None) -> None:
        self.told = told
        self.threshold = threshold

    def encode_queries(self, texts: Sequence[str], *, progress: Any = None) -> Any:
        cosines = np.array([self.told.get(text, 0.0) for text in texts])
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)

    def encode_premises(self, texts: Sequence[str], *, progress: Any = None) -> Any:
        return np.array([[1.0, 0.0]] * len(texts))


ENCODER = Told({"a": 0.9, "b": 0.6, "c": 0.5, "d": 0.2, "x": 0.55, "y": 0.3})
PAIRS = [
    NliPair("p", "a", "entailment"),
    NliPair("p", "b", "neutral"),
    NliPair("p", "c", "contradiction"),
    NliPair("p", "d", "entailment"),
    NliPair("p", "e", "neutral"),
]


def test_by_hand() -> None:
    evaluation = evaluate_nli(PAIRS, ENCODER, threshold=0.55)
    assert evaluation.correct.tolist() == [True, False, True, False, True]
    assert (evaluation.n, evaluation.accuracy, evaluation.majority) == (
        5,
        pytest.approx(3 / 5),
        pytest.approx(3 / 5),
    )
    assert evaluation.auprc == pytest.approx(0.5 * 1 + 0.5 * 2 / 4)
    assert (evaluation.threshold, evaluation.threshold_from) == (0.55, "given")


def test_where_the_threshold_comes_from() -> None:
    stored = Told(ENCODER.told, threshold=0.3)
    dev = [NliPair("p", "x", "entailment"), NliPair("p", "y", "neutral")]
    assert evaluate_nli(PAIRS, stored).threshold_from == "encoder"
    assert evaluate_nli(PAIRS, stored).threshold == 0.3
    assert evaluate_nli(PAIRS, stored, threshold=0.1).threshold == 0.1
    fitted = evaluate_nli(PAIRS, stored, dev=dev)
    assert (fitted.threshold, fitted.threshold_from, fitted.n) == (pytest.approx(0.425), "dev", 5)
    own = evaluate_nli(PAIRS, ENCODER)
    assert (own.threshold, own.threshold_from) == (pytest.approx(0.75), "data")
    assert own.accuracy == pytest.approx(4 / 5)
    # What the encoder stored may be 0, which is a threshold like any other.
    assert evaluate_nli(PAIRS, Told(ENCODER.told, threshold=0.0)).threshold_from == "encoder"


def test_as_json() -> None:
    figures = evaluate_nli(PAIRS, ENCODER, threshold=0.55).to_json()
    json.dumps(figures, allow_nan=False)
    assert (
        figures | {"accuracy": 0.6, "n": 5, "entailment": 2, "encoder": "told", "revision": "told@1"}
        == figures
    )
    low, high = figures["interval"]
    assert 0 < low < 0.6 < high < 1
    assert {"auprc", "auprc_stepped", "threshold", "threshold_from", "majority"} <= set(figures)


def test_without_entailment_there_is_no_area() -> None:
    evaluation = evaluate_nli(PAIRS[1:3], ENCODER)
    assert (evaluation.auprc, evaluation.auprc_stepped, evaluation.accuracy, evaluation.majority) == (
        None,
        None,
        1,
        1,
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"threshold": 0.5, "dev": PAIRS}, SettingsError, "found both"),
        ({"threshold": float("nan")}, SettingsError, "finite number"),
        ({"dev": []}, EvaluationError, "dev pair to fit"),
    ],
)
def test_bad_input(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        evaluate_nli(PAIRS, ENCODER, **options)
