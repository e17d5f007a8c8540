"""Answers to many questions: figures, measures by hand, and the command."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.answering.answers import answer_figures
from entail.answering.measures import exact_match, f1, longest_common, normalise, rouge_l
from entail.answering.records import Answer
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
    assert figures["exact_match"] == figures["f1"] == figures["rouge_l"] == pytest.approx(1 / 3)
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
    assert f1("", ["y"]) == f1("the", ["a"]) == rouge_l("", ["y"]) == 0
    assert exact_match("y", []) == f1("y", []) == rouge_l("y", []) == 0
    # LCS of "the gunman kill police" with "police kill the gunman" is "the gunman", 2 of 4 and 4
    assert rouge_l("the gunman kill police", ["police kill the gunman"]) == 0.5
    # LCS "a c d", P = 3/3, R = 3/5: 2 * 1 * .6 / 1.6
    assert rouge_l("a c d", ["a b c x d"]) == pytest.approx(0.75)


def common(first: Sequence[str], second: Sequence[str]) -> int:
    if not first or not second:
        return 0
    if first[0] == second[0]:
        return 1 + common(first[1:], second[1:])
    return max(common(first[1:], second), common(first, second[1:]))


@given(TEXTS, TEXTS)
def test_measures_are_symmetric_shares(first: str, second: str) -> None:
    for measure in (f1, rouge_l):
        assert 0 <= measure(first, [second]) <= 1
        assert measure(first, [second]) == pytest.approx(measure(second, [first]))
    if normalise(first):
        assert exact_match(first, [second, first]) == f1(first, [second, first]) == 1
    assert longest_common(first[:7], second[:7]) == common(first[:7], second[:7])


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
    assert json.loads(figures.read_text(encoding="utf-8"))["figures"]["rouge_l"] == 0.5
    for options in ([], ["--question", " "], ["--questions", str(pool)]):
        assert run_json(*command, *options, code=1)["error"]["type"] == "SettingsError"
