"""Figures 2 and 3 of the entailment tuning paper over a user's passages and pairs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.nli.pairs import NliPair
from entail.data.records import Corpus
from entail.errors import EvaluationError
from entail.evaluation.passages.pool import KnownQuestion, Pool, read_pool
from entail.tuning.relevance import (
    LabelledPairs,
    Relevance,
    compare_premises,
    measure_claims,
    read_labelled,
    summarise_claims,
    summarise_premises,
)

TEXTS = ["Tesla was born in Smiljan.", "Tesla studied in Graz for years.", "Edison was born in Milan."]
POOL = Pool("three", Corpus.of("three", TEXTS))
QUESTIONS = [
    KnownQuestion("Where was Tesla born?", ("Smiljan",), frozenset({0})),
    KnownQuestion("Where did Tesla study?", ("Graz",), frozenset({1})),
    KnownQuestion("Where was Edison born?", ("Milan",), frozenset({2})),
]


class FakeJudge:
    """A judge with a probability for each passage, whatever the claim."""

    name = "fake"

    def entailment(self, premises: Sequence[str], hypotheses: Sequence[str], *, progress: Any = None) -> Any:
        assert len(premises) == len(hypotheses)
        values = dict(zip(TEXTS, (0.9, 0.6, 0.1), strict=True))
        return np.array([values[premise] for premise in premises])


def test_claims_of_a_pool() -> None:
    figure = measure_claims(POOL, QUESTIONS, FakeJudge())
    assert figure.groups["passages that answer"].tolist() == [0.9, 0.6, 0.1]
    assert figure.groups["hard negatives"].tolist() == [0.1, 0.9, 0.9]
    assert figure.left_out == 0
    assert figure.rows[0] == {
        "question": "Where was Tesla born?",
        "claim": "There exists a known place where Tesla was born.",
        "passage that answers": TEXTS[0],
        "P(it entails the claim)": 0.9,
        "hard negative": TEXTS[2],
        "P(that entails the claim)": 0.1,
    }
    words = summarise_claims(figure)
    assert "**39 % of comparisons**" in words  # (2 + 1 + 0.5) / 9
    assert "0.53 for answering passages, 0.63 for hard negatives" in words
    assert "Few values (3 a group)" in words


def test_a_passage_with_an_answer_is_no_hard_negative() -> None:
    question = KnownQuestion("Where was Tesla born?", ("Smiljan", "Milan"), frozenset({0}))
    figure = measure_claims(POOL, [question, QUESTIONS[2]], FakeJudge())
    assert [row["hard negative"] for row in figure.rows] == [TEXTS[1], TEXTS[0]]
    without = KnownQuestion("Where was Edison born?", ("Milan", "Tesla"), frozenset({2}))
    assert measure_claims(POOL, [question, without], FakeJudge()).left_out == 1
    with pytest.raises(EvaluationError, match="three: expected passages"):
        measure_claims(POOL, [without], FakeJudge())


def test_answers_and_gold_of_a_repeated_question_are_joined(tmp_path: Path) -> None:
    paragraphs = [
        {
            "context": text,
            "qas": [{"id": text, "question": "Where?", "answers": [{"text": answer} for answer in answers]}],
        }
        for text, answers in ((TEXTS[0], ("Smiljan", "in Smiljan")), (TEXTS[1], ("Graz", "Smiljan")))
    ]
    file = tmp_path / "two.json"
    file.write_text(json.dumps({"data": [{"title": "", "paragraphs": paragraphs}]}), encoding="utf-8")
    question = read_pool(file, name="two.json").find_question("where ?")
    assert question is not None
    assert set(question.answers) == {"Smiljan", "in Smiljan", "Graz"}
    assert question.gold == frozenset({0, 1})


def test_pairs_are_sampled_half_of_either_label() -> None:
    rows = [f"p{number},h{number},{('entailment', 'neutral')[number % 2]}" for number in range(200)]
    content = "\n".join(["premise,hypothesis,label", *rows, "p,h,contradiction"]).encode()
    pairs = read_labelled(content, name="a.csv")
    assert pairs.summary.startswith("201 pairs (100 entailment, 100 neutral, 1 contradiction)")
    sample = pairs.sample(5)
    assert [pair.label for pair in sample] == ["entailment"] * 3 + ["neutral"] * 2
    assert [pair.premise for pair in sample] == ["p0", "p66", "p132", "p1", "p101"]
    assert len(pairs.sample(1000)) == 200


class FakeEncoder:
    """An encoder with a vector for each text."""

    revision = premise_revision = "1"
    dimension, symmetric = 2, True

    def __init__(self, name: str, **vectors: tuple[float, float]) -> None:
        self.name = name
        self.vectors = {"q": (0, 1), "h": (0.8, 0.6), "=g": (0.6, 0.8), **vectors}

    def encode_queries(self, texts: Sequence[str], *, progress: Any = None) -> Any:
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)

    encode_premises = encode_queries


def test_premises_of_one_kind_cannot_be_compared() -> None:
    with pytest.raises(EvaluationError, match="found 1 pairs of 1 premises"):
        compare_premises([NliPair("p", "h", "entailment")], FakeEncoder("one"))


def test_premises_of_two_encoders() -> None:
    pairs = LabelledPairs("2 pairs", (NliPair("p", "h", "entailment"),), (NliPair("q", "=g", "neutral"),))
    encoders = FakeEncoder("one", p=(1, 0)), FakeEncoder("two", p=(0, 1))
    figures = [compare_premises(pairs.sample(2), encoder) for encoder in encoders]
    words = summarise_premises(figures[0])
    assert "**50 % of comparisons**" in words
    assert "**100 %**" in words
    assert "0.80 entailing, 0.80 neutral, 0.60 irrelevant" in words
    assert [row["similarity by one"] for row in figures[0].rows] == [0.8, 0.8]
    first, second = figures[1].rows
    assert (first["similarity by two"], first["similarity of an irrelevant premise by two"]) == (0.6, 0.6)
    assert (second["label"], second["hypothesis"], second["premise"]) == ("neutral", "=g", "q")


def test_nearly_all_is_not_called_all() -> None:
    many = {"entailing": np.linspace(0.5, 1, 300), "neutral": np.full(300, 0.5), "irrelevant": np.zeros(300)}
    words = summarise_premises(Relevance("m", "b", many))
    assert "**over 99 % of comparisons**" in words
    assert "**100 %**" in words
    assert "Few values" not in words
