"""Answers to many questions: figures, measures by hand, and the command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.answering.answerer import Answer
from entail.answering.answers import answer_figures, exact_match, f1, normalise
from entail.data.passages.files import Question

TEXTS = st.text(alphabet="ab c.", max_size=12)


def test_figures_by_hand() -> None:
    texts, accepted = ["ba", "be", "", "bu"], [("ba",), ("bi", "bo"), ("x",), ()]
    questions = [Question(f"q{at}", "why", own) for at, own in enumerate(accepted)]
    answers = [
        Answer(q.id, "why", text, None, None, (), read=int(bool(text)), cut=text == "be")
        for q, text in zip(questions, texts, strict=True)
    ]
    figures = answer_figures(answers, questions)
    counts = [figures[name] for name in ("questions", "with_answer", "cut", "without_passages")]
    assert counts == [4, 3, 1, 1]
    assert figures["exact_match"] == figures["f1"] == pytest.approx(1 / 3)
    assert figures["interval"][0] < 1 / 3 < figures["interval"][1]
    unknown = answer_figures(answers[3:], questions[3:])
    assert (unknown["exact_match"], unknown["f1"], unknown["interval"]) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "same"),
    [("The Theatre", "theatre"), ("U.S.A.", "usa"), ("an  apple a day", "apple day"), ("The", "")],
)
def test_texts_are_compared_as_squad_does(text: str, same: str) -> None:
    assert normalise(text) == same


def test_the_best_of_all_accepted_answers_counts() -> None:
    assert exact_match("Denver Broncos", ["Broncos", "The Denver Broncos."]) == 1
    assert f1("Denver Broncos", ["Carolina", "Broncos"]) == pytest.approx(2 / 3)
    # gold: a b b; answer: b b b -> two shared, P = 2/3, R = 2/3
    assert f1("x x x", ["y x x"]) == pytest.approx(2 / 3)
    assert f1("", ["y"]) == f1("the", ["a"]) == exact_match("y", []) == f1("y", []) == 0


@given(TEXTS, TEXTS)
def test_measures_are_symmetric_shares(first: str, second: str) -> None:
    assert 0 <= f1(first, [second]) <= 1
    assert f1(first, [second]) == pytest.approx(f1(second, [first]))
    if normalise(first):
        assert exact_match(first, [second, first]) == f1(first, [second, first]) == 1


def test_from_the_command_line(planted: Callable[..., Path], run_json: Any, tmp_path: Path) -> None:
    texts = ["na ba be", "ne la le li", "lo lu"]
    planted("na ne", [texts[1], texts[0]], [(0, 2, 3)])
    pool, questions = tmp_path / "pool.txt", tmp_path / "questions.jsonl"
    pool.write_text("\n".join([*texts, "", "<p>ma</p>"]) + "\n", encoding="utf-8")
    command = ["answer", "--model", "reader", "--passages", str(pool), "--k", "2"]
    reply = run_json(*command, "--question", "na ne", "--encoder", "tiny")
    assert (reply["retriever"], reply["passages"], reply["kind"]) == ("tiny", 4, "reader")
    assert len(reply["answer"]["passages"]) == 2
    assert reply["answer"]["passages"][0]["text"]
    rows = [{"question": "na ne", "answer": ["le li"]}, {"question": "xx", "answer": ["no"]}]
    questions.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    out, figures = tmp_path / "answers.jsonl", tmp_path / "figures.json"
    report = run_json(*command, "--questions", str(questions), "--out", str(out), "--figures", str(figures))
    assert (report["exact_match"], report["retriever"], report["without_passages"]) == (0.5, "bm25", 1)
    assert [json.loads(line)["text"] for line in out.read_text(encoding="utf-8").splitlines()] == [
        "le li",
        "",
    ]
    assert json.loads(figures.read_text(encoding="utf-8"))["figures"]["f1"] == 0.5
    for options in ([], ["--question", " "], ["--questions", str(pool)]):
        assert run_json(*command, *options, code=1)["error"]["type"] == "SettingsError"
