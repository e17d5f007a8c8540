"""Similarities of pairs, and decisions by them, by hand: encoders are told what to say."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from entail.data.nli.pairs import NliPair
from entail.encoders.gaussian.distributions import Gaussians
from entail.errors import EncoderError, EvaluationError
from entail.evaluation.nli.decisions import evaluate_direction, evaluate_nli, pair_similarities


class Told:
    """A Gaussian encoder, told each sentence's means and then its log variances."""

    name, revision, dimension, kind = "told", "told@1", 1, "kl"

    def __init__(self, told: Mapping[str, tuple[float, ...]]) -> None:
        self.told = told

    def encode(self, texts: Sequence[str], *, progress: Any = None) -> Gaussians:
        assert len(texts) == len(set(texts)), "each once"
        return Gaussians.of(np.array([self.told[text] for text in texts], dtype=np.float32))


class Points:
    """An encoder of points at told angles."""

    name, revision, premise_revision, dimension = "points", "points@1", "points@1", 2

    def __init__(self, angles: Mapping[str, float], *, threshold: float | None = None) -> None:
        self.angles, self.symmetric, self.threshold = angles, True, threshold
        self.encoded: list[tuple[str, list[str]]] = []

    def encode_queries(self, texts: Sequence[str], *, progress: Any = None, side: str = "query") -> Any:
        self.encoded.append((side, list(texts)))
        angles = np.array([self.angles[text] for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    def encode_premises(self, texts: Sequence[str], *, progress: Any = None) -> Any:
        return self.encode_queries(texts, side="premise")


WIDE, MIDDLE, NARROW = (0.0, 2.0), (0.0, 1.0), (0.0, 0.0)
GAUSSIAN = Told(
    dict.fromkeys(("a long premise", "brief", "an even longer one"), WIDE)
    | dict.fromkeys(("short", "a longer hypothesis"), NARROW)
    | dict.fromkeys(("same", "size"), MIDDLE)
)


def entailment(premise: str, hypothesis: str, **more: Any) -> NliPair:
    return NliPair(premise, hypothesis, "entailment", **more)


def test_gaussians_by_hand() -> None:
    encoder = Told({"p": (0.0, 2.0), "h": (0.0, 0.0), "g": (1.0, 2.0)})
    pairs = [entailment("p", "h"), NliPair("p", "g", "neutral"), entailment("h", "h")]
    similarities = pair_similarities(pairs, encoder)
    # KL(h || p) = (2 + e^-2 - 1) / 2, KL(p || h) = (-2 + e^2 - 1) / 2; of equal variances v 1 / (2 v).
    narrow = 1 / (1 + (2 + math.exp(-2) - 1) / 2)
    wide = 1 / (1 + (-2 + math.exp(2) - 1) / 2)
    same = 1 / (1 + math.exp(-2) / 2)
    assert similarities.forward == pytest.approx([narrow, same, 1])
    assert similarities.backward == pytest.approx([wide, same, 1])
    assert similarities.wider == pytest.approx([1, 0, 0])


def test_points_are_compared_by_cosine_and_the_hypothesis_is_the_query() -> None:
    pairs = [NliPair("ab", "abcd", "neutral"), entailment("ab", "ab")]
    encoder = Points({"ab": math.pi / 6, "abcd": math.pi / 3})
    similarities = pair_similarities(pairs, encoder)
    assert similarities.forward == pytest.approx([math.cos(math.pi / 6), 1], abs=1e-6)
    assert (similarities.backward, similarities.wider) == (None, None)
    assert encoder.encoded == [("premise", ["ab"]), ("query", ["abcd", "ab"])]  # each once


COSINES = {"a": 0.9, "b": 0.6, "c": 0.5, "d": 0.2, "e": 0.0, "x": 0.55, "y": 0.3, "p": 1.0}
ANGLES = {text: math.acos(cosine) for text, cosine in COSINES.items()}
LABELS = {"a": "entailment", "b": "neutral", "c": "contradiction", "d": "entailment", "e": "neutral"}
PAIRS = [NliPair("p", name, label) for name, label in LABELS.items()]


def test_entailment_by_hand() -> None:
    evaluation = evaluate_nli(PAIRS, Points(ANGLES, threshold=0.55))
    assert evaluation.correct.tolist() == [True, False, True, False, True]
    figures = evaluation.to_json()
    json.dumps(figures, allow_nan=False)
    assert (figures["n"], figures["accuracy"], figures["majority"], figures["entailment"]) == (5, 0.6, 0.6, 2)
    assert figures["auprc"] == pytest.approx(0.5 * 1 + 0.5 * 2 / 4)
    low, high = figures["interval"]
    assert 0 < low < 0.6 < high < 1
    without = evaluate_nli(PAIRS[1:3], Points(ANGLES)).to_json()
    assert (without["auprc"], without["accuracy"], without["majority"]) == (None, 1, 1)


def test_where_the_threshold_comes_from() -> None:
    dev = [NliPair("p", "x", "entailment"), NliPair("p", "y", "neutral")]
    for stored, pairs, value, source in (
        (0.3, None, 0.3, "encoder"),
        (0.0, None, 0.0, "encoder"),  # 0 is a threshold like any other
        (0.3, dev, 0.425, "dev"),
        (None, None, 0.75, "data"),
    ):
        evaluation = evaluate_nli(PAIRS, Points(ANGLES, threshold=stored), dev=pairs)
        figures = evaluation.figures
        assert (figures["threshold"], figures["threshold_from"]) == (pytest.approx(value), source)
        assert len(evaluation.correct) == 5


DIRECTED = [
    entailment("a long premise", "short"),  # right; length is right, too
    entailment("brief", "a longer hypothesis"),  # right; length is wrong
    entailment("short", "an even longer one"),  # wrong; length is wrong
    entailment("same", "size"),  # a tie, and of the same length
    entailment("same", "same"),  # equal
    entailment("short", "brief", forward="entailment", backward="entailment"),  # bilateral
    NliPair("short", "a long premise", "neutral"),
]


def test_direction_by_hand() -> None:
    evaluation = evaluate_direction(DIRECTED, GAUSSIAN)
    assert evaluation.correct.tolist() == [True, True, False, False, False]
    figures = evaluation.to_json()
    json.dumps(figures, allow_nan=False)
    assert (figures["accuracy"], figures["n"], figures["length_baseline"]) == (0.4, 5, 0.2)
    longer = figures["longer_entailed"]
    assert (longer["accuracy"], longer["n"]) == (0.5, 2)
    assert longer["interval"] == pytest.approx([0.0945, 0.9055], abs=1e-4)
    assert figures["bilateral_left_out"] == 1
    assert (figures["by_variance"]["accuracy"], figures["by_variance"]["longer_entailed"]["n"]) == (0.4, 2)
    assert (figures["encoder"], figures["revision"]) == ("told", "told@1")
    nothing = evaluate_direction(DIRECTED[:1], GAUSSIAN).to_json()["longer_entailed"]
    assert nothing == {"accuracy": None, "n": 0, "interval": None}


def test_what_cannot_be_decided_is_refused() -> None:
    points = Points(ANGLES)
    with pytest.raises(EncoderError):
        evaluate_direction(DIRECTED, points)
    assert points.encoded == []  # refused before anything is encoded
    nan = [NliPair("p", "h", "neutral")], Points({"p": math.nan, "h": 0})
    for refuse in (
        lambda: pair_similarities(*nan),
        lambda: pair_similarities([], points),
        lambda: evaluate_nli(PAIRS, points, dev=[]),
        lambda: evaluate_direction(DIRECTED[6:], GAUSSIAN),
        lambda: evaluate_direction(DIRECTED[5:], GAUSSIAN),
    ):
        with pytest.raises(EvaluationError):
            refuse()
