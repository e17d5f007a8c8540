"""Miniature passages over the words that `tiny` knows: a question names two words of its passage."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.passages.files import Question
from entail.evaluation.passages.store import PassageStore, store_passages
from entail.tuning.examples import EntailedPair, Examples, examples_of, with_missing_negatives
from tests.conftest import SYLLABLES

SMALL: dict[str, Any] = {
    **{"base": "tiny", "rank": 4, "max_length": 32, "learning_rate": 0.01},
    **{"warmup_steps": 2, "precision": "fp32"},
}
"""Settings of a training that takes a second."""


def pairs(count: int, *, seed: int = 0) -> list[EntailedPair]:
    """Make premises of 8 syllables, and as hypothesis the first three of them."""
    draw = np.random.default_rng(seed)
    rows = [list(draw.choice(SYLLABLES, size=8, replace=False)) for _ in range(count)]
    return [EntailedPair(" ".join(words), " ".join(words[:3])) for words in rows]


@pytest.fixture(scope="session")
def passages_and_questions() -> tuple[list[str], list[Question]]:
    """48 passages of 8 syllables; of each a question for two of its words, its answer another of them."""
    draw = np.random.default_rng(1)
    texts, questions = [], []
    for number in range(48):
        words = list(draw.choice(SYLLABLES, size=8, replace=False))
        texts.append(" ".join(words))
        questions.append(
            Question(f"q{number}", " ".join(words[:2]), (f"{words[4]} {words[5]}",), (f"p{number}",))
        )
    return texts, questions


@pytest.fixture
def pool(tmp_path: Path, passages_and_questions: Any) -> PassageStore:
    texts, _ = passages_and_questions
    file = tmp_path / "pool.tsv"
    file.write_text("".join(f"p{at}\t{text}\n" for at, text in enumerate(texts)), encoding="utf-8")
    return store_passages([file], tmp_path / "kept")


@pytest.fixture
def examples(pool: PassageStore, passages_and_questions: Any) -> Examples:
    """Questions with hard negatives over the pool."""
    return with_missing_negatives(examples_of(pool, passages_and_questions[1]), depth=6)


@pytest.fixture
def squad(tmp_path: Path, passages_and_questions: Any) -> dict[str, Path]:
    """SQuAD files of the miniature passages, and entailment pairs."""
    texts, questions = passages_and_questions

    def written(name: str, rows: slice) -> Path:
        qas = (
            {"id": question.id, "question": question.text, "answers": [{"text": question.answers[0]}]}
            for question in questions[rows]
        )
        paragraphs = [{"context": text, "qas": [qa]} for text, qa in zip(texts[rows], qas, strict=True)]
        file = tmp_path / name
        file.write_text(json.dumps({"data": [{"title": "T", "paragraphs": paragraphs}]}), encoding="utf-8")
        return file

    nli = tmp_path / "nli.jsonl"
    rows = [("ba be bi", "ba", "entailment"), ("ba be", "bo", "neutral"), ("bi bo", "bi", "entailment")]
    lines = [json.dumps({"premise": p, "hypothesis": h, "label": label}) for p, h, label in rows]
    nli.write_text("\n".join(lines), encoding="utf-8")
    return {"train": written("train.json", slice(36)), "dev": written("dev.json", slice(36, 48)), "nli": nli}
