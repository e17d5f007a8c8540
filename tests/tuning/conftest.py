"""Miniature passages over the words that `tiny` knows: a question names two words of its passage."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.passages.files import Question
from entail.evaluation.passages.store import PassageStore, store_passages
from entail.tuning.examples import EntailedPair, Examples, examples_of, with_missing_negatives
from tests.conftest import SYLLABLES


@pytest.fixture(scope="session")
def pairs() -> Callable[..., list[EntailedPair]]:
    """Return what makes premises of 8 syllables, and as hypothesis the first three of them."""

    def made(count: int, *, seed: int = 0) -> list[EntailedPair]:
        draw = np.random.default_rng(seed)
        entailed_pairs = []
        for _ in range(count):
            words = list(draw.choice(SYLLABLES, size=8, replace=False))
            entailed_pairs.append(EntailedPair(" ".join(words), " ".join(words[:3])))
        return entailed_pairs

    return made


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

    def written(name: str, rows: Sequence[int]) -> Path:
        paragraphs = [
            {
                "context": texts[at],
                "qas": [
                    {
                        "id": questions[at].id,
                        "question": questions[at].text,
                        "answers": [{"text": questions[at].answers[0]}],
                    }
                ],
            }
            for at in rows
        ]
        file = tmp_path / name
        file.write_text(json.dumps({"data": [{"title": "T", "paragraphs": paragraphs}]}), encoding="utf-8")
        return file

    nli = tmp_path / "nli.jsonl"
    rows = [("ba be bi", "ba", "entailment"), ("ba be", "bo", "neutral"), ("bi bo", "bi", "entailment")]
    nli.write_text(
        "\n".join(json.dumps({"premise": p, "hypothesis": h, "label": label}) for p, h, label in rows),
        encoding="utf-8",
    )
    return {"train": written("train.json", range(36)), "dev": written("dev.json", range(36, 48)), "nli": nli}
