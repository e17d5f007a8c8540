"""A judge of entailment: trained on pairs of every label, saved, loaded, measured, and every refusal."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import softmax

from entail.cli import main
from entail.data.nli.pairs import LABELS, NliPair
from entail.encoders.catalogue import catalogue, resolve
from entail.encoders.cross.encoder import ADAPTER, HEAD
from entail.encoders.cross.pairs import Frame, cut_pairs
from entail.errors import EncoderError, EvaluationError, TrainingError, UnknownEncoderError
from entail.judge.config import JudgeConfig
from entail.judge.judges import (
    JudgeEvaluation,
    NliJudge,
    evaluate_judge,
    gold_labels,
    list_judges,
)
from entail.judge.training import clean_pairs, train_judge
from entail.training.loop.task import Event
from entail.training.method import Run

WORDS = [a + b for a in "bdfgl" for b in "aeiou"]
MARKS = {"entailment": "mu", "neutral": "na", "contradiction": "po"}
SMALL: dict[str, Any] = {"base": "tiny", "rank": 4, "batch_size": 16, "max_length": 24, "precision": "fp32"}
SETTINGS = JudgeConfig(epochs=6, learning_rate=0.02, evaluate_every=0, **SMALL)


def pairs(count: int, *, seed: int = 0) -> list[NliPair]:
    """Pairs whose hypothesis wears the mark of its label."""
    draw = np.random.default_rng(seed)
    nli_pairs = []
    for number in range(count):
        label = LABELS[number % 3]
        premise, hypothesis = (list(draw.choice(WORDS, size=size, replace=False)) for size in (6, 3))
        nli_pairs.append(NliPair(" ".join(premise), " ".join([*hypothesis, MARKS[label]]), label))
    return nli_pairs


@pytest.fixture
def mine(tiny_home: Path) -> Path:
    run = Run(data=["snli"], out=tiny_home / "mine")
    train_judge(pairs(96), replace(SETTINGS, epochs=1), dev=pairs(24, seed=1), run=run)
    return tiny_home / "mine"


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_it_learns_what_the_labels_mean(tiny_home: Path, tuning: Any) -> None:
    events: list[Event] = []
    config = replace(SETTINGS, tuning=tuning, learning_rate=0.02 if tuning == "lora" else 0.005)
    done = train_judge(
        pairs(144), config, dev=pairs(60, seed=1), run=Run(out=tiny_home / "mine", watch=events.append)
    )
    measured = done.further["dev"]
    assert measured["accuracy"] > 0.8
    assert done.fitted.best is not None
    assert done.fitted.best.score == pytest.approx(measured["accuracy"])
    assert json.dumps(done.to_json())
    judge = NliJudge("mine")
    evaluation = evaluate_judge(pairs(60, seed=2), judge)
    assert evaluation.accuracy > 0.8
    (sure,) = judge.entailment(["ba be bi bo bu da"], ["ba be mu"])
    (unsure,) = judge.entailment(["ba be bi bo bu da"], ["ba be po"])
    assert sure > unsure
    steps = [event.terms for event in events if "loss" in event.terms]
    assert steps[-1]["loss"] < steps[0]["loss"]


def test_what_was_saved_is_a_judge_and_no_encoder(mine: Path) -> None:
    assert sorted(path.name for path in mine.iterdir()) == ["README.md", ADAPTER, "entail.json", HEAD]
    assert list_judges() == ["mine"]
    assert "mine" not in {entry.name for entry in catalogue()}
    with pytest.raises(EncoderError, match="expected an encoder, found a judge of entailment"):
        resolve("mine")
    judge = NliJudge(mine)
    assert judge.name == "mine"
    assert judge.revision.startswith("mine@")
    assert "+tiny@" in judge.revision
    card = (mine / "README.md").read_text(encoding="utf-8")
    assert "license: other" in card  # of the base none is known
    assert "pipeline_tag: text-classification" in card
    assert "entail evaluate nli --judge mine" in card
    record = json.loads((mine / "entail.json").read_text(encoding="utf-8"))
    assert record["judge"] == {"max_length": 32, "labels": list(LABELS)}
    assert record["figures"]["pairs"] == 24
    low, high = (record["figures"]["dev"][f"95 % interval, {end}"] for end in ("from", "to"))
    assert low < record["figures"]["dev"]["accuracy"] < high


def test_one_pair_is_judged_as_among_others_and_as_transformers_does(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from entail.encoders.cross.encoder import load_cross, open_cross

    sample = pairs(9, seed=3)
    premises, hypotheses = [p.premise for p in sample], [p.hypothesis for p in sample]
    judge = NliJudge("mine")
    together = judge.probabilities(premises, hypotheses)
    assert together.sum(axis=1) == pytest.approx(np.ones(9))
    alone = np.vstack([judge.probabilities([p], [h]) for p, h in zip(premises, hypotheses, strict=True)])
    assert np.abs(alone - together).max() < 1e-5
    assert judge.entailment(premises, hypotheses).tolist() == together[:, 0].tolist()
    assert judge.entailment([], []).shape == (0,)
    parts, _ = open_cross(mine, "judge", first="")
    monkeypatch.setattr("entail.encoders.cross.encoder.read_bert", lambda folder: None)
    stock = load_cross(parts, outputs=3, max_length=32, device="cpu")
    rows, _ = cut_pairs(stock.tokenize, stock.frame, premises, hypotheses, max_length=32)
    assert np.abs(softmax(stock.values(rows), axis=1) - together).max() < 1e-4
    assert stock.score(rows) == pytest.approx(stock.values(rows)[:, 0])


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


def test_what_is_no_judge_is_refused(tiny_home: Path, mine: Path) -> None:
    with pytest.raises(UnknownEncoderError):
        NliJudge("lost")
    with pytest.raises(EncoderError):
        NliJudge("tiny")
    record = json.loads((mine / "entail.json").read_text(encoding="utf-8"))
    for changed in (
        {"method": "arcf"},
        {"judge": {"labels": ["yes", "no"]}},
        {"judge": {"max_length": "x"}},
        {"base_revision": "tiny@other"},
    ):
        (mine / "entail.json").write_text(json.dumps({**record, **changed}), encoding="utf-8")
        with pytest.raises(EncoderError):
            NliJudge("mine")
    (mine / "entail.json").write_text(json.dumps(record), encoding="utf-8")
    (mine / HEAD).write_bytes(b"torn")
    with pytest.raises(EncoderError, match=r"head\.safetensors"):
        NliJudge("mine")


def test_what_cannot_be_trained_is_told(tiny_home: Path) -> None:
    with pytest.raises(TrainingError, match="found 4 of neutral"):
        train_judge([NliPair(f"a{i}", "b", "neutral") for i in range(4)], SETTINGS)
    valid = pairs(6)
    torn = [NliPair("a", "b", "neutral"), NliPair("a", "b", "entailment")]
    with pytest.raises(TrainingError, match="found 0 of no label"):
        train_judge([*valid, *torn], SETTINGS, dev=valid)
    with pytest.raises(TrainingError, match="found something else in 'tiny'"):
        train_judge(pairs(6), SETTINGS, run=Run(out=tiny_home / "tiny"))
    with pytest.raises(TrainingError, match="smoothing"):
        JudgeConfig(smoothing=1.0)
    two = [pair for pair in pairs(24) if pair.label != "neutral"]
    done = train_judge(two, replace(SETTINGS, epochs=1))
    assert "neutral" in done.warnings[0]
    assert done.further["dev"] is None


def test_from_the_command_line(mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dev = tmp_path / "dev.jsonl"
    rows = [{"premise": p.premise, "hypothesis": p.hypothesis, "label": p.label} for p in pairs(12, seed=1)]
    rows.append({**rows[0], "label": "-"})
    dev.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert main(["evaluate", "nli", "--data", str(dev), "--judge", "mine", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["judge"], figures["n"], figures["majority"]) == ("mine", 12, pytest.approx(1 / 3))
    assert figures["data"]["skipped"]["other_labels"] == {"-": 1}
    assert main(["evaluate", "nli", "--data", str(dev), "--judge", "nli-minilm", "--json"]) == 1


def test_long_texts_lose_their_end_the_hypothesis_last() -> None:
    frame = Frame((1,), (2,), (2,), 0, True)

    def tokenize(texts: Sequence[str]) -> list[list[int]]:
        return [[int(word) for word in text.split()] for text in texts]

    rows, cut = cut_pairs(
        tokenize,
        frame,
        ["4 5 6 7 8 9", "4", "4 5 6 7 8 9 10 11", "4 5"],
        ["10 11", "4 5 6 7 8 9", "10 11 12 13 14 15", "6 7"],
        max_length=9,
    )
    assert rows == [
        ((4, 5, 6, 7), (10, 11)),
        ((4,), (4, 5, 6, 7, 8)),
        ((4, 5, 6), (10, 11, 12)),
        ((4, 5), (6, 7)),
    ]
    assert cut == 3


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
    assert figures["confusion"] == {
        "entailment": {"entailment": 1, "not_entailment": 0},
        "not_entailment": {"entailment": 1, "not_entailment": 3},
    }


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
    premises = ["ba be bi", "bo " * 100, "ba"]
    entailments = judge.entailment(premises, ["ba", "be", "bi bo"])
    ids = [[2, 5, 6, 7, 3, 5, 3], [2, 5, 3, 7, 8, 3]]
    for at, token_ids in zip((0, 2), ids, strict=True):
        types = [0] * (token_ids.index(3) + 1)
        types += [1] * (len(token_ids) - len(types))
        with torch.no_grad():
            scores = model(torch.tensor([token_ids]), token_type_ids=torch.tensor([types])).logits
        assert entailments[at] == pytest.approx(float(scores.softmax(dim=1)[0, 1]), abs=1e-5)
    assert np.isfinite(entailments).all()
    assert judge.name == "nli"
    assert np.isfinite(judge.entailment(["ba be", "ba " * 99], ["bi " * 200, "bo"])).all()
    probabilities = judge.probabilities(premises, ["ba", "be", "bi bo"])
    assert probabilities[:, 0].tolist() == entailments.tolist()
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(3))


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
