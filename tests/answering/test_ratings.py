"""Ratings that a generator writes, read and averaged."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from entail.answering.ratings import rate_answers
from entail.answering.records import Answer
from entail.data.passages.files import Question

QUESTIONS = [
    Question("q0", "who?", ("Ann", "Bob")),
    Question("q1", "when?"),
    Question("q2", "where?", ("x",)),
]


def answer(number: int, text: str) -> Answer:
    question = QUESTIONS[number]
    return Answer(question.id, question.text, text, None, None, (), 0, cut=False)


def test_ratings_are_asked_for_and_averaged() -> None:
    judge_prompts: list[str] = []

    def write(prompts: Sequence[str]) -> list[str]:
        judge_prompts.extend(prompts)
        return ["Rating: 4 of 5"] if "Reference" in prompts[0] else ["1", "I cannot say"]

    ratings = rate_answers([answer(0, "Ann"), answer(1, "1969"), answer(2, "")], QUESTIONS, write)
    assert ratings.correctness == (4, 1)  # without a reference none; an empty answer is wrong
    assert ratings.relevancy == (1, None, 0)
    assert ratings.to_json() == {
        "correctness": 2.5,
        "relevancy": 0.5,
        "unrated": {"correctness": 0, "relevancy": 1},
    }
    assert len(judge_prompts) == 3
    assert "Ann; Bob" in judge_prompts[0]


@pytest.mark.parametrize(
    ("text", "rating"), [("5", 5), ("4.5", None), ("10", None), ("is 2.", 2), ("", None)]
)
def test_a_rating_is_a_number_of_the_range(text: str, rating: int | None) -> None:
    assert rate_answers([answer(0, "Ann")], QUESTIONS[:1], lambda prompts: [text]).correctness == (rating,)


def test_from_the_command_line(causal: Path, seq2seq: Path, run_json: Any, tmp_path: Path) -> None:
    pool, questions = tmp_path / "pool.txt", tmp_path / "questions.jsonl"
    pool.write_text("ba be\nbi bo\n", encoding="utf-8")
    questions.write_text('{"question": "ba", "answer": ["be"]}\n', encoding="utf-8")
    command = [
        "answer",
        "--model",
        "rewriter",
        "--fusion",
        "--passages",
        str(pool),
        "--questions",
        str(questions),
    ]
    report = run_json(*command, "--out", str(tmp_path / "answers.jsonl"), "--judge", "writer")
    assert report["kind"] == "seq2seq"
    assert report["judge"]["name"] == "writer"
    assert set(report["judge"]["unrated"]) == {"correctness", "relevancy"}
    wrong = run_json(*command, "--out", str(tmp_path / "other.jsonl"), "--judge", "tiny", code=1)
    assert "writes text" in wrong["error"]["message"]
