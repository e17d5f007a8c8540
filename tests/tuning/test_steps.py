"""Check of a step: its words, its subsets of premises, and the model that values them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.nli.pairs import NliPair
from entail.errors import EncoderError, TrainingError, UnknownEncoderError
from entail.judge.config import JudgeConfig
from entail.judge.judges import NliJudge, list_judges
from entail.judge.steps import (
    FEATURES,
    StepForm,
    StepVerifier,
    candidate_subsets,
    list_verifiers,
    missing_words,
    word_features,
)
from entail.judge.training import train_judge
from entail.training.method import Run

SMALL: dict[str, Any] = {"base": "tiny", "rank": 4, "batch_size": 4, "max_length": 24, "precision": "fp32"}
PAIRS = [
    NliPair("ba be", "bi", "entailment"),
    NliPair("da de", "bi", "neutral"),
    NliPair("fa fe", "bi", "contradiction"),
]
WEIGHTS = dict.fromkeys((*FEATURES, "judge"), 0.0) | {"covered": 8.0, "mean unlinked": -2.0}


@pytest.fixture
def verifier(tiny_home: Path) -> StepVerifier:
    """A check that asks only how much of the conclusion the premises cover, and how much is unlinked."""
    folder = tiny_home / "mine"
    train_judge(PAIRS, JudgeConfig(epochs=1, evaluate_every=0, **SMALL), run=Run(out=folder))
    path = folder / "entail.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    form = StepForm(weights=WEIGHTS, bias=-6.0)
    path.write_text(json.dumps({**record, "steps": form.to_json()}), encoding="utf-8")
    return StepVerifier("mine")


def test_a_check_is_no_judge_of_passages(verifier: StepVerifier) -> None:
    assert (list_verifiers(), list_judges()) == (["mine"], [])


def test_the_verdict_names_what_is_missing_and_what_adds_nothing(verifier: StepVerifier) -> None:
    whole = (["snow is ice", "ice melts in heat"], "snow melts in heat")
    off_topic = ([*whole[0], "grass grows on soil"], whole[1])
    dropped = (whole[0][:1], whole[1])
    holds, same, fails = verifier.check([whole, off_topic, dropped])
    assert (holds.idle, holds.missing, fails.missing) == ((), (), ("melts", "heat"))
    assert (same.probability, same.idle) == (holds.probability, (2,))
    assert fails.probability < 0.5 < holds.probability
    assert verifier.check([]) == []


def test_states_have_limits() -> None:
    form = StepForm(weights=WEIGHTS, bias=0.0, holds=0.9, fails=0.3)
    assert [form.state(p) for p in (0.9, 0.89, 0.3, 0.29)] == [
        "holds",
        "cannot tell",
        "cannot tell",
        "not yet",
    ]


def test_of_many_premises_the_least_needed_go_first() -> None:
    premises = ["a stone falls", "b sun", "c moon", "d star", "sky has stones", "rain is wet"]
    subsets = list(candidate_subsets(premises, "a stone falls in the sky"))
    assert [len(subset) for subset in subsets] == [6, 5, 4, 3, 2]
    assert subsets[-1] == (0, 4)


def test_words_are_compared_by_their_stems() -> None:
    values = word_features(["ice melts", "melting needs heat"], "ice needs heat")
    features = dict(zip(FEATURES, values, strict=True))
    assert [features[name] for name in ("covered", "bridged", "linked", "mean unlinked")] == [1, 1, 1, 0]
    assert [features[name] for name in ("best alone", "most own")] == pytest.approx([2 / 3, 2 / 3])
    assert word_features([], "ice") == (0.0,) * len(FEATURES)
    assert missing_words(["suns shine"], "The sun, shining, warms it.") == ("warms",)


@pytest.mark.parametrize(
    "entry", [{}, {"weights": {"covered": 1.0}, "bias": 0.0}, {"weights": WEIGHTS, "bias": 0.0, "holds": 2.0}]
)
def test_a_damaged_form_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(EncoderError):
        StepForm.read(entry, name="mine")


def test_only_a_check_is_loaded(tiny_home: Path) -> None:
    train_judge(PAIRS, JudgeConfig(epochs=1, evaluate_every=0, **SMALL), run=Run(out=tiny_home / "plain"))
    with pytest.raises(EncoderError):
        StepVerifier("plain")
    with pytest.raises(UnknownEncoderError):
        StepVerifier("nowhere/at-all")


def test_a_judge_goes_on_from_another(tiny_home: Path, tmp_path: Path) -> None:
    first = JudgeConfig(epochs=40, learning_rate=0.02, evaluate_every=0, **SMALL)
    train_judge(PAIRS, first, run=Run(out=tiny_home / "first"))
    further = JudgeConfig(initial="first", epochs=1, learning_rate=1e-9, evaluate_every=0, **SMALL)
    train_judge(PAIRS, further, run=Run(out=tiny_home / "further"))
    texts = [pair.premise for pair in PAIRS], [pair.hypothesis for pair in PAIRS]
    values = [NliJudge(name).probabilities(*texts) for name in ("first", "further")]
    assert np.allclose(*values, atol=5e-3)  # the adapter is stored in half precision
    assert not np.allclose(values[0], 1 / 3, atol=0.1)
    whole = JudgeConfig(epochs=1, evaluate_every=0, tuning="full", **SMALL)
    train_judge(PAIRS, whole, run=Run(out=tiny_home / "whole"))
    with pytest.raises(TrainingError):
        train_judge(PAIRS, JudgeConfig(initial="whole", **SMALL), run=Run(out=tmp_path / "none"))
