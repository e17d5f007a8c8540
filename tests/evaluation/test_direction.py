import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from entail.data.nli.pairs import NliPair
from entail.encoders.gaussian.distributions import Gaussians
from entail.errors import EncoderError, EvaluationError
from entail.evaluation.nli.direction import (
    evaluate_direction,
)


class Told:
    """A Gaussian encoder, told each sentence's means and then its log variances."""

    name, revision, dimension, kind = "told", "told@1", 1, "kl"

    def __init__(self, told: dict[str, tuple[float, ...]]) -> None:
        self.told = told

    def encode(self, texts: Sequence[str], *, progress: Any = None) -> Gaussians:
        return Gaussians.of(np.array([self.told[text] for text in texts], dtype=np.float32))


class Points:
    name, revision, premise_revision, dimension, symmetric = "points", "1", "1", 1, True

    def encode_queries(self, texts: Sequence[str], *, progress: Any = None) -> Any:
        raise AssertionError("refused before anything is encoded")

    encode_premises = encode_queries


WIDE, MIDDLE, NARROW = (0.0, 2.0), (0.0, 1.0), (0.0, 0.0)
ENCODER = Told(
    {
        "a long premise": WIDE,
        "short": NARROW,
        "brief": WIDE,
        "a longer hypothesis": NARROW,
        "an even longer one": WIDE,
        "same": MIDDLE,
        "size": MIDDLE,
    }
)


def entailment(premise: str, hypothesis: str, **more: Any) -> NliPair:
    return NliPair(premise, hypothesis, "entailment", **more)


PAIRS = [
    entailment("a long premise", "short"),  # right; length is right, too
    entailment("brief", "a longer hypothesis"),  # right; length is wrong
    entailment("short", "an even longer one"),  # wrong; length is wrong
    entailment("same", "size"),  # a tie, and of the same length
    entailment("same", "same"),  # equal
    entailment("short", "brief", forward="entailment", backward="entailment"),  # bilateral
    NliPair("short", "a long premise", "neutral"),
]


def test_by_hand() -> None:
    evaluation = evaluate_direction(PAIRS, ENCODER)
    assert evaluation.correct.tolist() == [True, True, False, False, False]
    assert (evaluation.n, evaluation.bilateral, evaluation.equal) == (5, 1, 1)
    assert (evaluation.accuracy, evaluation.length_baseline) == (pytest.approx(2 / 5), pytest.approx(1 / 5))
    assert evaluation.longer_entailed.tolist() == [False, True, True, False, False]
    assert (evaluation.wider > 0).tolist() == [True, True, False, False, False]


def test_as_json() -> None:
    figures = evaluate_direction(PAIRS, ENCODER).to_json()
    json.dumps(figures, allow_nan=False)
    assert (figures["accuracy"], figures["n"], figures["length_baseline"]) == (0.4, 5, 0.2)
    longer = figures["longer_entailed"]
    assert (longer["accuracy"], longer["n"]) == (0.5, 2)
    assert longer["interval"] == pytest.approx([0.0945, 0.9055], abs=1e-4)
    assert (figures["ties"], figures["same_length"], figures["equal_sentences"]) == (2, 2, 1)
    assert figures["bilateral_left_out"] == 1
    assert figures["by_variance"]["accuracy"] == 0.4
    assert figures["by_variance"]["longer_entailed"]["n"] == 2
    assert (figures["encoder"], figures["revision"]) == ("told", "told@1")


def test_the_second_rule_is_its_own() -> None:
    # Of two dimensions: the premise is wider in all, but narrow where the means are apart.
    encoder = Told({"p": (0.0, 0.0, 2.0, -1.5), "h": (0.0, 3.0, 0.0, 0.0)})
    evaluation = evaluate_direction([entailment("p", "h")], encoder)
    assert evaluation.margins[0] < 0
    assert evaluation.wider == pytest.approx([0.25])
    assert (evaluation.accuracy, evaluation.to_json()["by_variance"]["accuracy"]) == (0, 1)


def test_without_a_longer_hypothesis_there_is_no_figure_there() -> None:
    assert evaluate_direction(PAIRS[:1], ENCODER).to_json()["longer_entailed"] == {
        "accuracy": None,
        "n": 0,
        "interval": None,
    }


def test_points_are_refused_before_anything_is_encoded() -> None:
    with pytest.raises(EncoderError, match="a point encoder given where a Gaussian one is needed"):
        evaluate_direction(PAIRS, Points())


def test_what_has_no_direction() -> None:
    for pairs, count in ((PAIRS[6:], 0), (PAIRS[5:], 1)):
        with pytest.raises(EvaluationError, match=f"{count} of them of entailment"):
            evaluate_direction(pairs, ENCODER)


def test_the_length_baseline_counts_characters_as_they_stand() -> None:
    pairs = [
        entailment("one two ", "one two"),
        entailment("é", "é"),
        entailment("ab", "abc"),
        entailment("abcd", "ab c"),
        NliPair("long premise", "h", "neutral"),
    ]
    assert evaluate_direction(pairs, Told(defaultdict(lambda: MIDDLE))).length_baseline == 0.25
