"""What the Claims page measures of relevance, by hand."""

import csv
import io
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
    RelevanceFigure,
    joined_rows,
    measure_claims,
    measure_premises,
    read_labelled,
    summarise_claims,
    summarise_premises,
    summary_rows,
)
from entail.ui.shared.downloads import rows_csv

TEXTS = ["Tesla was born in Smiljan.", "Tesla studied in Graz for years.", "Edison was born in Milan."]
ASKED = [
    KnownQuestion("Where was Tesla born?", ("Smiljan",), frozenset({0})),
    KnownQuestion("Where did Tesla study?", ("Graz",), frozenset({1})),
    KnownQuestion("Where was Edison born?", ("Milan",), frozenset({2})),
]


class Told:
    """A judge to whom each passage has its probability, whatever the claim."""

    name = "told"

    def __init__(self, *values: float) -> None:
        self.values = dict(zip(TEXTS, values, strict=False))

    def entailment(self, premises: Sequence[str], hypotheses: Sequence[str], *, progress: Any = None) -> Any:
        assert len(premises) == len(hypotheses)
        return np.array([self.values[premise] for premise in premises])


def test_claims_of_a_pool_by_hand() -> None:
    figure = measure_claims(Pool("three", Corpus.of("three", TEXTS)), ASKED, Told(0.9, 0.6, 0.1))
    assert figure.relevance.groups["passages that answer"].tolist() == [0.9, 0.6, 0.1]
    assert figure.relevance.groups["hard negatives"].tolist() == [0.1, 0.9, 0.9]
    assert figure.left_out == 0
    assert figure.rows[0] == {
        "question": "Where was Tesla born?",
        "claim": "There exists a known place where Tesla was born.",
        "passage that answers": TEXTS[0],
        "P(it entails the claim)": "0.900000",
        "hard negative": TEXTS[2],
        "P(that entails the claim)": "0.100000",
    }
    said = summarise_claims(figure)
    assert "above hard negatives in **39 of 100 comparisons**" in said  # (2 + 1 + 0.5) / 9
    assert "0.53 for answering passages, 0.63 for hard negatives" in said
    assert "Of 3 questions, 1 score" in said
    assert "Few values (3 a group)" in said


def test_no_passage_that_holds_any_of_the_answers_is_a_hard_negative() -> None:
    pool = Pool("three", Corpus.of("three", TEXTS))
    one = KnownQuestion("Where was Tesla born?", ("Smiljan", "Milan"), frozenset({0}))
    figure = measure_claims(pool, [one, ASKED[2]], Told(0.9, 0.6, 0.1))
    assert [row["hard negative"] for row in figure.rows] == [TEXTS[1], TEXTS[0]]
    alone = KnownQuestion("Where was Edison born?", ("Milan", "Tesla"), frozenset({2}))
    assert measure_claims(pool, [one, alone], Told(0.9, 0.6, 0.1)).left_out == 1
    with pytest.raises(EvaluationError, match="three: expected passages that look as if they answered"):
        measure_claims(pool, [alone], Told(0.9, 0.6, 0.1))


def test_a_file_brings_all_answers_and_gold_passages_of_a_question(tmp_path: Path) -> None:
    def paragraph(text: str, *answers: str) -> dict[str, object]:
        told = [{"text": answer} for answer in answers]
        return {"context": text, "qas": [{"id": text, "question": "Where?", "answers": told}]}

    file = tmp_path / "two.json"
    rows = [paragraph(TEXTS[0], "Smiljan", "in Smiljan"), paragraph(TEXTS[1], "Graz", "Smiljan")]
    file.write_text(json.dumps({"data": [{"title": "", "paragraphs": rows}]}), encoding="utf-8")
    known = read_pool(file, name="two.json").known("where ?")
    assert known is not None
    assert set(known.answers) == {"Smiljan", "in Smiljan", "Graz"}
    assert known.gold == frozenset({0, 1})
    assert known.answer in known.answers


def test_pairs_are_drawn_half_of_either_label() -> None:
    lines = ["premise,hypothesis,label"]
    for number in range(200):
        label = ("entailment", "neutral")[number % 2]
        lines.append(f"p{number},h{number},{label}")
    lines.append("p,h,contradiction")
    read = read_labelled("\n".join(lines).encode(), name="a.csv")
    assert read.summary.startswith("201 pairs (100 entailment, 100 neutral, 1 contradiction)")
    drawn = read.sample(5)
    assert [pair.label for pair in drawn] == ["entailment"] * 3 + ["neutral"] * 2
    assert [pair.premise for pair in drawn] == ["p0", "p66", "p132", "p1", "p101"]
    assert len(read.sample(1000)) == 200


class Vectors:
    """An encoder whose vectors are told."""

    revision = premise_revision = "1"
    dimension, symmetric = 2, True

    def __init__(self, name: str, **vectors: tuple[float, float]) -> None:
        self.name = name
        self.vectors = vectors

    def encode_queries(self, texts: Sequence[str], *, progress: Any = None) -> Any:
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)

    encode_premises = encode_queries


PAIRS = LabelledPairs("2 pairs", (NliPair("p", "h", "entailment"),), (NliPair("q", "=g", "neutral"),))


def test_premises_by_hand_and_as_tables() -> None:
    one = Vectors("one", p=(1, 0), q=(0, 1), h=(0.8, 0.6), **{"=g": (0.6, 0.8)})
    two = Vectors("two", p=(0, 1), q=(0, 1), h=(0.8, 0.6), **{"=g": (0.6, 0.8)})
    figures = [measure_premises(PAIRS.sample(2), encoder) for encoder in (one, two)]
    said = summarise_premises(figures[0])
    assert "above neutral ones in **50 of 100 comparisons**" in said
    assert "above irrelevant ones in **100 of 100**" in said
    assert "0.80 entailing, 0.80 neutral, 0.60 irrelevant" in said
    first, second = csv.DictReader(io.StringIO(rows_csv(joined_rows(figures))))
    assert (first["similarity by one"], first["similarity by two"]) == ("0.800000", "0.600000")
    assert first["similarity of an irrelevant premise by one"] == "0.600000"
    assert (second["label"], second["hypothesis"], second["premise"]) == ("neutral", "'=g", "q")
    rows = summary_rows(figures)
    assert [(row["by"], row["group"]) for row in rows[2:4]] == [("one", "irrelevant"), ("two", "entailing")]
    assert rows[2]["share of comparisons with entailing above"] == "1.000000"
    assert rows[0]["share of comparisons with entailing above"] == ""


def test_what_is_nearly_all_is_not_called_all() -> None:
    many = {"entailing": np.linspace(0.5, 1, 300), "neutral": np.full(300, 0.5), "irrelevant": np.zeros(300)}
    said = summarise_premises(RelevanceFigure(Relevance("m", "b", many), ()))
    assert "**over 99 of 100 comparisons**" in said
    assert "**100 of 100**" in said
    assert "Few values" not in said
