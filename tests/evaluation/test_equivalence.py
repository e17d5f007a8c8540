"""Pairs that entail both ways are told from those that entail one way."""

import json

import numpy as np
import pytest

from entail.data.nli.pairs import NliPair
from entail.evaluation.nli.equivalence import EquivalenceEvaluation, evaluate_equivalence
from tests.evaluation.test_direction import ENCODER

SAME = NliPair("same", "size", "entailment", "entailment", "entailment")  # equal Gaussians
WIDER = NliPair("a long premise", "short", "entailment", "entailment", "neutral")
BACKWARD = NliPair("short", "brief", "neutral", "neutral", "entailment")
NEITHER = NliPair("short", "a longer hypothesis", "neutral", "neutral", "neutral")


def test_a_pair_is_equivalent_if_both_similarities_exceed_the_threshold() -> None:
    evaluation = evaluate_equivalence([SAME, WIDER, BACKWARD, NEITHER], ENCODER, threshold=0.9)
    assert evaluation is not None
    assert evaluation.equivalent.tolist() == [True, False, False]  # a pair that does not entail is left out
    assert evaluation.called.tolist() == [True, False, False]
    assert evaluate_equivalence([WIDER, BACKWARD], ENCODER, threshold=0.9) is None
    assert evaluate_equivalence([NliPair("same", "size", "entailment")], ENCODER, threshold=0.9) is None


def test_figures_by_hand() -> None:
    figures = EquivalenceEvaluation(
        threshold=0.5,
        lower=np.array([0.9, 0.4, 0.8, 0.1]),
        equivalent=np.array([True, True, False, False]),
    ).to_json()
    json.dumps(figures, allow_nan=False)
    assert (figures["accuracy"], figures["majority"]) == (0.5, 0.5)
    assert (figures["recall"]["accuracy"], figures["recall"]["n"]) == (0.5, 2)
    assert (figures["precision"]["accuracy"], figures["precision"]["n"]) == (0.5, 2)
    assert figures["auprc"] == pytest.approx((1 + 2 / 3) / 2, abs=0.01)
