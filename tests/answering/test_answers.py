"""Many questions, into a file that is gone on with; the command."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from entail.answering.answers import answer_figures, answer_questions
from entail.answering.records import Answer, PassageQuestion
from entail.cli import main
from entail.data.passages.files import Passage, Question
from entail.errors import DataError, SettingsError


class Echo:
    """Answers with the first word of the first passage."""

    name, revision, kind = "echo", "echo@1", "reader"
    settings: dict[str, str] = {"longest": "9"}  # noqa: RUF012 - never changed

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answer(self, asked: Sequence[PassageQuestion], *, progress: Any = None) -> Iterator[Answer]:
        for q in asked:
            self.asked.append(q.id)
            text = q.passages[0].text.split()[0] if q.passages else ""
            yield Answer(q.id, q.question, text, None, None, (), len(q.passages), cut=q.id == "q1")


def find(questions: Sequence[str]) -> list[tuple[Passage, ...]]:
    return [(Passage("p", f"{text} and more"),) if text.strip() else () for text in questions]


QUESTIONS = [
    Question("q0", "ba", ("ba",)),
    Question("q1", "be", ("bi", "bo")),
    Question("q2", "", ("x",)),
    Question("q3", "bu"),
]


def test_a_file_is_gone_on_with_and_nothing_asked_twice(tmp_path: Path) -> None:
    out, first = tmp_path / "answers.jsonl", Echo()
    answers, before = answer_questions(QUESTIONS, first, find, out=out)
    assert before == 0
    assert [answer.text for answer in answers] == ["ba", "be", "", "bu"]
    lines = out.read_text(encoding="utf-8").splitlines(keepends=True)
    out.write_text("".join(lines[:2]) + lines[2][:20], encoding="utf-8")
    second = Echo()
    again, before = answer_questions(QUESTIONS, second, find, out=out)
    assert (before, second.asked) == (2, ["q2", "q3"])
    assert again == answers
    assert out.read_text(encoding="utf-8").splitlines(keepends=True) == lines
    third = Echo()
    assert answer_questions(QUESTIONS, third, find, out=out)[1] == 4
    assert third.asked == []
    more = Echo()
    answers, before = answer_questions([*QUESTIONS[2:], Question("q4", "bi")], more, find, out=out)
    assert (before, more.asked, [answer.text for answer in answers]) == (2, ["q4"], ["", "bu", "bi"])
    fourth = Echo()
    answer_questions(QUESTIONS, fourth, find, out=out, resume=False)
    assert len(fourth.asked) == 4


def test_answers_of_something_else_are_not_mixed(tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    answer_questions(QUESTIONS, Echo(), find, out=out, settings={"k": "5"})
    with pytest.raises(SettingsError, match=r"holds other answers \(k: expected '3', found '5'\)"):
        answer_questions(QUESTIONS, Echo(), find, out=out, settings={"k": "3"})
    questions = [Question("q0", "another"), *QUESTIONS[1:]]
    with pytest.raises(SettingsError, match=r"another question of the id 'q0' \('ba'\)"):
        answer_questions(questions, Echo(), find, out=out, settings={"k": "5"})
    with out.open("a", encoding="utf-8") as file:
        file.write("[1]\n")
    with pytest.raises(DataError, match=r"answers\.jsonl, line 5: expected an answer"):
        answer_questions(QUESTIONS, Echo(), find, out=out, settings={"k": "5"})
    with pytest.raises(SettingsError, match="found 'q0' twice"):
        answer_questions([QUESTIONS[0], QUESTIONS[0]], Echo(), find)
    with pytest.raises(DataError, match="expected to write answers here"):
        answer_questions(QUESTIONS, Echo(), find, out=tmp_path / "no" / "answers.jsonl")


def test_figures_by_hand() -> None:
    answers, _ = answer_questions(QUESTIONS, Echo(), find)
    figures = answer_figures(answers, QUESTIONS)
    assert (figures["questions"], figures["with_answer"], figures["cut"], figures["without_passages"]) == (
        4,
        3,
        1,
        1,
    )
    assert figures["exact_match"] == figures["f1"] == figures["rouge_l"] == pytest.approx(1 / 3)
    assert figures["interval"][0] < 1 / 3 < figures["interval"][1]
    unknown = answer_figures(answers[3:], QUESTIONS[3:])
    assert (unknown["exact_match"], unknown["f1"], unknown["interval"]) == (None, None, None)


def test_from_the_command_line(
    planted: Callable[..., Path], run_json: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["na ba be", "ne la le li", "lo lu"]
    planted("na ne", [texts[1], texts[0]], [(0, 2, 3)])
    pool = tmp_path / "pool.txt"
    pool.write_text("\n".join([*texts, "", "<p>ma</p>"]) + "\n", encoding="utf-8")
    command = ["answer", "--model", "reader", "--passages", str(pool)]
    reply = run_json(*command, "--question", "na ne", "--k", "2", "--encoder", "tiny")
    assert (reply["retriever"], reply["passages"], reply["kind"]) == ("tiny", 4, "reader")
    assert len(reply["answer"]["passages"]) == 2
    assert reply["answer"]["passages"][0]["text"]
    questions = tmp_path / "questions.jsonl"
    rows = [{"question": "na ne", "answer": ["le li"]}, {"question": "xx", "answer": ["no"]}]
    questions.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    many = [*command, "--questions", str(questions), "--out", str(tmp_path / "answers.jsonl"), "--k", "2"]
    figures = tmp_path / "figures.json"
    report = run_json(*many, "--figures", str(figures))
    assert (report["exact_match"], report["retriever"], report["without_passages"]) == (0.5, "bm25", 1)
    assert json.loads(figures.read_text(encoding="utf-8"))["figures"]["rouge_l"] == 0.5
    assert run_json(*many)["answered_before"] == 2
    assert main(many) == 0
    assert "0.500" in capsys.readouterr().out


def test_errors_of_the_command(tiny_home: Path, tmp_path: Path, run_json: Any) -> None:
    pool = tmp_path / "pool.txt"
    pool.write_text("ba be\n", encoding="utf-8")
    command = ["answer", "--model", "tiny", "--passages", str(pool)]
    for options, error in (
        ([], "SettingsError"),
        (["--question", " "], "SettingsError"),
        (["--questions", str(pool)], "SettingsError"),
        (["--question", "ba", "--judge", "tiny"], "SettingsError"),
        (["--question", "ba"], "EncoderError"),
    ):
        assert run_json(*command, *options, code=1)["error"]["type"] == error
