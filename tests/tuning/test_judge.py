"""A judge of entailment: trained on pairs of every label, saved, loaded, measured, and every refusal.

A check of a step is one, too: its words, its subsets of premises, and the model that values them.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import softmax

from entail.data.nli.pairs import LABELS, NliPair
from entail.encoders.cross.encoder import ADAPTER, HEAD, load_cross, open_cross
from entail.encoders.cross.pairs import Frame, cut_pairs
from entail.errors import EncoderError, EvaluationError, TrainingError, UnknownEncoderError
from entail.judge.config import JudgeConfig
from entail.judge.judges import JudgeEvaluation, NliJudge, evaluate_judge, gold_labels, list_judges
from entail.judge.steps import (
    FEATURES,
    StepForm,
    StepVerifier,
    candidate_subsets,
    list_verifiers,
    missing_words,
    word_features,
)
from entail.judge.training import clean_pairs, train_judge
from entail.training.method import Run
from tests.conftest import SYLLABLES

WORDS = SYLLABLES[:25]
MARKS = {"entailment": "mu", "neutral": "na", "contradiction": "po"}
SETTINGS = JudgeConfig(
    **{"base": "tiny", "rank": 4, "batch_size": 16, "max_length": 24, "precision": "fp32"},
    **{"epochs": 6, "learning_rate": 0.02, "evaluate_every": 0},
)


def pairs(count: int, *, seed: int = 0) -> list[NliPair]:
    """Pairs whose hypothesis wears the mark of its label."""
    draw = np.random.default_rng(seed)
    nli_pairs = []
    for number in range(count):
        label = LABELS[number % 3]
        premise, hypothesis = (list(draw.choice(WORDS, size=size, replace=False)) for size in (6, 3))
        nli_pairs.append(NliPair(" ".join(premise), " ".join([*hypothesis, MARKS[label]]), label))
    return nli_pairs


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_it_learns_what_the_labels_mean(tiny_home: Path, tuning: Any) -> None:
    config = replace(SETTINGS, tuning=tuning, learning_rate=0.02 if tuning == "lora" else 0.005)
    done = train_judge(pairs(144), config, dev=pairs(60, seed=1), run=Run(out=tiny_home / "mine"))
    measured = done.further["dev"]
    assert measured["accuracy"] > 0.8
    assert done.fitted.best is not None
    assert done.fitted.best.score == pytest.approx(measured["accuracy"])
    judge = NliJudge("mine")
    assert evaluate_judge(pairs(60, seed=2), judge).accuracy > 0.8
    sure, unsure = judge.entailment(["ba be bi bo bu da"] * 2, ["ba be mu", "ba be po"])
    assert sure > unsure


def test_what_was_saved_judges_as_transformers_does_and_is_refused_when_damaged(
    tiny_home: Path, tmp_path: Path, run_json: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, dev = tiny_home / "mine", pairs(24, seed=1)
    train_judge(pairs(96), replace(SETTINGS, epochs=1), dev=dev, run=Run(data=["snli"], out=mine))
    assert sorted(path.name for path in mine.iterdir()) == ["README.md", ADAPTER, "entail.json", HEAD]
    assert list_judges() == ["mine"]
    card = (mine / "README.md").read_text(encoding="utf-8")
    assert "license: other" in card  # of the base none is known
    assert "pipeline_tag: text-classification" in card
    assert "entail evaluate nli --judge mine" in card
    record = json.loads((mine / "entail.json").read_text(encoding="utf-8"))
    assert record["judge"] == {"max_length": 32, "labels": list(LABELS)}
    assert record["figures"]["pairs"] == 24
    low, high = (record["figures"]["dev"][f"95 % interval, {end}"] for end in ("from", "to"))
    assert low < record["figures"]["dev"]["accuracy"] < high

    sample = pairs(9, seed=3)
    premises, hypotheses = [p.premise for p in sample], [p.hypothesis for p in sample]
    judge = NliJudge(mine)
    assert (judge.name, "+tiny@" in judge.revision) == ("mine", True)
    together = judge.probabilities(premises, hypotheses)
    assert together.sum(axis=1) == pytest.approx(np.ones(9))
    alone = np.vstack([judge.probabilities([p], [h]) for p, h in zip(premises, hypotheses, strict=True)])
    assert np.abs(alone - together).max() < 1e-5
    assert judge.entailment(premises, hypotheses).tolist() == together[:, 0].tolist()
    assert judge.entailment([], []).shape == (0,)
    file = tmp_path / "dev.jsonl"
    rows = [{"premise": p.premise, "hypothesis": p.hypothesis, "label": p.label} for p in dev[:12]]
    file.write_text("\n".join(map(json.dumps, [*rows, {**rows[0], "label": "-"}])), encoding="utf-8")
    evaluate = ["evaluate", "nli", "--data", str(file), "--judge"]
    figures = run_json(*evaluate, "mine")
    assert (figures["judge"], figures["n"], figures["majority"]) == ("mine", 12, pytest.approx(1 / 3))
    assert figures["data"]["skipped"]["other_labels"] == {"-": 1}
    run_json(*evaluate, "nli-minilm", code=1)

    parts, _ = open_cross(mine, "judge", first="")
    with monkeypatch.context() as patch:
        patch.setattr("entail.encoders.cross.encoder.read_bert", lambda folder: None)
        stock = load_cross(parts, outputs=3, max_length=32, device="cpu")
    token_pairs, _ = cut_pairs(stock.tokenize, stock.frame, premises, hypotheses, max_length=32)
    assert np.abs(softmax(stock.values(token_pairs), axis=1) - together).max() < 1e-4
    assert stock.score(token_pairs) == pytest.approx(stock.values(token_pairs)[:, 0])

    for changed in ({"labels": ["yes", "no"]}, {"max_length": "x"}):
        (mine / "entail.json").write_text(json.dumps({**record, "judge": changed}), encoding="utf-8")
        with pytest.raises(EncoderError):
            NliJudge("mine")
    with pytest.raises(UnknownEncoderError):
        NliJudge("lost")


def test_pairs_that_cannot_be_learnt_from_are_left_out() -> None:
    rain = NliPair("it rains", "it is wet", "entailment")
    both = [NliPair("a", "b", "neutral"), NliPair("a ", " b", "contradiction")]
    both.append(NliPair("a", "d", "not_entailment"))
    clean = clean_pairs([rain, *both, rain, NliPair("c", "d", "neutral")], [NliPair("c", " d", "entailment")])
    assert clean.pairs == (rain,)
    assert clean.counts == {
        **{"pairs": 1, "entailment": 1, "neutral": 0, "contradiction": 0},
        **{"repeated": 2, "with two labels": 1, "pairs of dev": 1, "not_entailment": 1},
    }


def test_what_cannot_be_trained_is_told(tiny_home: Path) -> None:
    with pytest.raises(TrainingError, match="found 4 of neutral"):
        train_judge([NliPair(f"a{i}", "b", "neutral") for i in range(4)], SETTINGS)
    valid = pairs(6)
    torn = [NliPair("a", "b", "neutral"), NliPair("a", "b", "entailment")]
    with pytest.raises(TrainingError, match="found 0 of no label"):
        train_judge([*valid, *torn], SETTINGS, dev=valid)
    with pytest.raises(TrainingError, match="smoothing"):
        JudgeConfig(smoothing=1.0)
    two = [pair for pair in pairs(24) if pair.label != "neutral"]
    done = train_judge(two, replace(SETTINGS, epochs=1))
    assert "neutral" in done.warnings[0]
    assert done.further["dev"] is None


def test_long_texts_lose_their_end_the_hypothesis_last() -> None:
    rows, cut = cut_pairs(
        lambda texts: [[int(word) for word in text.split()] for text in texts],
        Frame((1,), (2,), (2,), 0, True),
        ["4 5 6 7 8 9", "4", "4 5 6 7 8 9 1 2", "4 5"],
        ["1 2", "4 5 6 7 8 9", "1 2 3 4 5 6", "6 7"],
        max_length=9,
    )
    expected = [((4, 5, 6, 7), (1, 2)), ((4,), (4, 5, 6, 7, 8)), ((4, 5, 6), (1, 2, 3)), ((4, 5), (6, 7))]
    assert (rows, cut) == (expected, 3)


def test_figures_by_hand() -> None:
    figures = JudgeEvaluation(
        np.array([[0.6, 0.3, 0.1], [0.4, 0.3, 0.3], [0.2, 0.1, 0.7], [0.1, 0.8, 0.1]]), np.array([0, 1, 2, 1])
    ).to_json()
    assert figures["accuracy"] == 0.75
    assert figures["majority"] == 0.5
    assert figures["entailment_accuracy"] == 1.0
    assert figures["entailment_auprc"] == 1.0
    assert figures["confusion"]["neutral"] == {"entailment": 1, "neutral": 1, "contradiction": 0}
    assert figures["interval"][0] < 0.75 < figures["interval"][1]
    with pytest.raises(EvaluationError, match="expected at least one pair"):
        evaluate_judge([], NliJudge.__new__(NliJudge))


def test_neutral_and_contradiction_are_one_class_where_the_data_says_so() -> None:
    labels: list[Any] = ["entailment", "not_entailment", "not_entailment", "neutral", "not_entailment"]
    gold = gold_labels([NliPair("p", str(i), label) for i, label in enumerate(labels)])
    values = [[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.2, 0.7], [0.4, 0.3, 0.3]]
    figures = JudgeEvaluation(np.array(values), gold).to_json()
    assert figures["accuracy"] == figures["majority"] == 0.8
    entailed, other = ({"entailment": yes, "not_entailment": no} for yes, no in ((1, 0), (1, 3)))
    assert figures["confusion"] == {"entailment": entailed, "not_entailment": other}


def classifier(folder: Path, tiny: Path, labels: Sequence[str]) -> Any:
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig.from_pretrained(tiny, id2label=dict(enumerate(labels)), num_labels=len(labels))
    model = BertForSequenceClassification(config)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder)
    return model.eval()


def test_any_classifier_of_entailment_is_a_judge(tiny_home: Path) -> None:
    model = classifier(tiny_home / "nli", tiny_home / "tiny", ["CONTRADICTION", "ENTAILMENT", "NEUTRAL"])
    judge = NliJudge("nli")
    texts = ["ba be bi", "bo " * 100, "ba", "ba be", "ba " * 99], ["ba", "be", "bi bo", "bi " * 200, "bo"]
    entailments = judge.entailment(*texts)
    for at, first, second in ((0, [2, 5, 6, 7, 3], [5, 3]), (2, [2, 5, 3], [7, 8, 3])):
        types = torch.tensor([[0] * len(first) + [1] * len(second)])
        with torch.no_grad():
            scores = model(torch.tensor([[*first, *second]]), token_type_ids=types).logits
        assert entailments[at] == pytest.approx(float(scores.softmax(dim=1)[0, 1]), abs=1e-5)
    assert np.isfinite(entailments).all()
    assert judge.name == "nli"
    probabilities = judge.probabilities(*texts)
    assert probabilities[:, 0].tolist() == entailments.tolist()
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(5))


def test_what_judges_no_entailment_is_refused(tiny_home: Path) -> None:
    classifier(tiny_home / "nli", tiny_home / "tiny", ["entailment", "other"])
    two = NliJudge("nli")
    sample = [NliPair("ba", "be", "neutral"), NliPair("bi bo", "bu", "entailment")]
    entailment = two.entailment(["ba", "bi bo"], ["be", "bu"])
    evaluation = evaluate_judge(sample, two)
    assert evaluation.accuracy == np.mean((entailment > 0.5) == [False, True])
    assert evaluation.to_json()["confusion"].keys() == {"entailment", "not_entailment"}
    with pytest.raises(EncoderError):
        two.probabilities(["ba"], ["be"])
    classifier(tiny_home / "mood", tiny_home / "tiny", ["good", "bad"])
    with pytest.raises(EncoderError):
        NliJudge("mood")


ONCE = replace(SETTINGS, epochs=1, batch_size=4)
PREMISES = ("ba be", "da de", "fa fe")
PAIRS = [NliPair(premise, "bi", label) for premise, label in zip(PREMISES, LABELS, strict=True)]
WEIGHTS = dict.fromkeys((*FEATURES, "judge"), 0.0) | {"covered": 8.0, "mean unlinked": -2.0}


def test_the_verdict_names_what_is_missing_and_what_adds_nothing(tiny_home: Path) -> None:
    """Of a check that asks only how much of the conclusion the premises cover, and how much is unlinked."""
    path = tiny_home / "mine" / "entail.json"
    train_judge(PAIRS, ONCE, run=Run(out=path.parent))
    with pytest.raises(EncoderError):
        StepVerifier("mine")
    with pytest.raises(UnknownEncoderError):
        StepVerifier("nowhere/at-all")
    record = json.loads(path.read_text(encoding="utf-8"))
    form = StepForm(weights=WEIGHTS, bias=-6.0)
    path.write_text(json.dumps({**record, "steps": form.to_json()}), encoding="utf-8")
    assert (list_verifiers(), list_judges()) == (["mine"], [])  # it is no judge of passages

    whole = (["snow is ice", "ice melts in heat"], "snow melts in heat")
    off_topic = ([*whole[0], "grass grows on soil"], whole[1])
    dropped = (whole[0][:1], whole[1])
    verifier = StepVerifier("mine")
    holds, same, fails = verifier.check([whole, off_topic, dropped])
    assert (holds.idle, holds.missing, fails.missing) == ((), (), ("melts", "heat"))
    assert (same.probability, same.idle) == (holds.probability, (2,))
    assert fails.probability < 0.5 < holds.probability
    (again,) = verifier.check([(["in the heat, snow melts"], whole[1])])
    form = replace(form, bias=-20.0)
    path.write_text(json.dumps({**record, "steps": form.to_json()}), encoding="utf-8")
    (low,) = StepVerifier("mine").check([(["in the heat, snow melts"], whole[1])])
    assert (low.missing, low.state, low.probability < again.probability) == ((), "cannot tell", True)
    assert verifier.check([]) == []


def test_states_have_limits() -> None:
    form = StepForm(weights=WEIGHTS, bias=0.0, holds=0.9, fails=0.3)
    states = [form.state(probability) for probability in (0.9, 0.89, 0.3, 0.29)]
    assert states == ["holds", "cannot tell", "cannot tell", "not yet"]


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


def test_a_judge_goes_on_from_another(tiny_home: Path) -> None:
    train_judge(PAIRS, replace(ONCE, epochs=40), run=Run(out=tiny_home / "first"))
    further = replace(ONCE, initial="first", learning_rate=1e-9)
    train_judge(PAIRS, further, run=Run(out=tiny_home / "further"))
    values = [NliJudge(name).probabilities(PREMISES, ["bi"] * 3) for name in ("first", "further")]
    assert np.allclose(*values, atol=5e-3)  # the adapter is stored in half precision
    assert not np.allclose(values[0], 1 / 3, atol=0.1)
    train_judge(PAIRS, replace(ONCE, tuning="full", learning_rate=None), run=Run(out=tiny_home / "whole"))
    with pytest.raises(TrainingError):
        train_judge(PAIRS, replace(ONCE, initial="whole"))
