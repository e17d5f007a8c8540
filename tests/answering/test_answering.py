"""Answers: marked in passages, written after a prompt, measured."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entail.answering.answerer import Answer, PassageQuestion
from entail.answering.answers import answer_figures, exact_match, f1, load_answerer, normalise
from entail.answering.generator import LEAST, TEMPLATE, Generator, passage_lines, rag_prompt
from entail.answering.reader import Reader
from entail.answering.spans import Span, best_span
from entail.data.passages.files import Passage, Question
from entail.errors import EncoderError, SettingsError, UnknownEncoderError

LONG = " ".join(["ba be bi bo bu da de di do du fa fe fi fo fu ga ge gi go gu"] * 2)
PASSAGES = [Passage("a", "ba " * 20), Passage("b", "be " * 30, "T"), Passage("c", "bi " * 40)]


def asked(question: str, *texts: str) -> PassageQuestion:
    return PassageQuestion("q", question, tuple(Passage(f"p{at}", text) for at, text in enumerate(texts)))


def words(text: str) -> int:
    return len(text.split())


BARE = words(TEMPLATE.replace("{passages}", "").replace("{question}", ""))


def test_the_best_span_by_hand() -> None:
    begins, ends = np.array([4.0, 0.0, 3.0]), np.array([0.0, 1.0, 5.0])
    assert best_span(begins, ends, max_length=3) == Span(9.0, 0, 2)
    assert best_span(begins, ends, max_length=2) == Span(8.0, 2, 2)
    # an end before its begin is none
    assert best_span(np.array([0.0, 9.0]), np.array([9.0, 0.0]), max_length=5) == Span(9.0, 0, 0)


def test_the_answer_is_read_in_passages_of_any_length(planted: Callable[..., Path]) -> None:
    texts = ["ba be, bi bo", "la le li lo lu", "ma me"]
    planted("na ne", [*texts, "ba be", LONG], [(1, 2, 3), (3, 1, 1), (4, 37, 38)])
    reader = load_answerer("reader")
    assert isinstance(reader, Reader)
    (answer,) = reader.answer([asked("na ne", *texts)])
    assert (answer.text, answer.passage, answer.read, answer.cut) == ("li lo", "p1", 3, False)
    assert answer.score == pytest.approx(20, abs=0.1)
    assert answer.passages == ("p0", "p1", "p2")
    (word,) = load_answerer("reader", answer_tokens=1).answer([asked("na ne", *texts)])
    assert word.text in ("li", "lo")
    (late,) = reader.answer([asked("na ne", LONG)])
    assert (late.text, late.cut) == ("gi go", False)
    questions = [asked(text, "ba be") for text in ("  ", "na " * 500, "ما هذا؟", "na ne")]
    nothing, blank, long, foreign, plain = reader.answer([asked("na ne"), *questions])
    assert [(answer.text, answer.read) for answer in (nothing, blank)] == [("", 0), ("", 0)]
    assert long.cut
    assert long.text
    assert foreign.text
    assert plain.text == "be"


def test_a_model_without_a_head_is_refused(tiny_home: Path) -> None:
    with pytest.raises(UnknownEncoderError):
        load_answerer("lost")
    folder = tiny_home / "headless"
    shutil.copytree(tiny_home / "tiny", folder)
    fields = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for architectures in (["BertModel"], ["BertForQuestionAnswering"], None):
        (folder / "config.json").write_text(json.dumps({**fields, "architectures": architectures}))
        with pytest.raises(EncoderError):
            load_answerer("headless")


def test_the_last_passages_go_first_then_words_of_one() -> None:
    whole = rag_prompt("na ne?", PASSAGES, room=500, tokens=words)
    assert (whole.read, whole.cut) == (3, False)
    filled = TEMPLATE.replace("{passages}", passage_lines(PASSAGES)).replace("{question}", "na ne?")
    assert whole.text == filled
    # bare + question 2 + passage 1: 22 words; passage 2 has 3 + 30
    room = BARE + 2 + 22 + 3 + LEAST
    prompt = rag_prompt("na ne?", PASSAGES, room=room, tokens=words)
    assert (prompt.read, prompt.cut, prompt.text.count("be"), words(prompt.text)) == (2, True, LEAST, room)
    less = rag_prompt("na ne?", PASSAGES, room=room - 1, tokens=words)
    assert (less.read, less.cut, less.text.count("ba")) == (1, True, 20)
    assert "Passage 2" not in less.text


@settings(max_examples=40)
@given(st.integers(0, 80), st.lists(st.integers(0, 60), max_size=4), st.integers(2 * BARE, 150))
def test_no_prompt_is_longer_than_its_room(question: int, lengths: list[int], room: int) -> None:
    passages = [Passage(str(at), "ba " * length) for at, length in enumerate(lengths)]
    prompt = rag_prompt("na " * question, passages, room=room, tokens=words)
    assert words(prompt.text) <= room
    whole = BARE + question + sum(2 + length for length in lengths)
    assert prompt.cut == (whole > room or question > room // 2)
    if prompt.cut and question <= room // 2:
        assert prompt.text.count("na") >= question


def test_a_model_goes_on_after_its_prompt(writers: Path, tokenizer: Any) -> None:
    import torch
    from transformers import GPT2LMHeadModel

    writer = load_answerer("writer", answer_tokens=6)
    assert isinstance(writer, Generator)
    asked_questions = ("na ne", "ba be bi", "bo"), ("ni", "bu"), ("no",), ("nu na", "ba " * 300)
    questions = [asked(*parts) for parts in asked_questions]
    answers = list(writer.answer(questions))
    model = GPT2LMHeadModel.from_pretrained(writers / "writer").eval()
    for question, answer in zip(questions, answers, strict=True):
        if not question.passages:
            assert (answer.text, answer.read) == ("", 0)
            continue
        ids, new = tokenizer(writer.prompt(question).text)["input_ids"], list[int]()
        assert len(ids) <= 160 - 6
        while len(new) < 6 and tokenizer.sep_token_id not in new:
            with torch.no_grad():
                new.append(int(model(torch.tensor([[*ids, *new]])).logits[0, -1].argmax()))
        assert answer.text == tokenizer.decode(new, skip_special_tokens=True).strip()
        assert answer.score is answer.passage is None
    assert [answer.cut for answer in answers] == [False, False, False, True]
    assert answers[0].text
    for name in ("writer", "rewriter"):  # which reads and then writes
        own, alone = (
            list(load_answerer(name, answer_tokens=6, batch_size=size).answer(questions)) for size in (8, 1)
        )
        assert [answer.text for answer in own] == [answer.text for answer in alone]
        assert [answer.read for answer in own] == [answer.read for answer in answers]
    with pytest.raises(SettingsError):
        load_answerer("writer", answer_tokens=160)

    tokenizer.chat_template = "{% for m in messages %}ga {{ m['content'] }} go{% endfor %}"
    tokenizer.save_pretrained(writers / "writer")
    chat: Any = load_answerer("writer", answer_tokens=6)
    assert chat._ids("ba be") == tokenizer("ga ba be go", add_special_tokens=False)["input_ids"]


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

    # The best of all accepted answers counts.
    assert exact_match("Denver Broncos", ["Broncos", "The Denver Broncos."]) == 1
    assert exact_match("U.S.A.", ["usa"]) == 1
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
    lines = out.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["le li", ""]
    assert json.loads(figures.read_text(encoding="utf-8"))["figures"]["f1"] == 0.5
    for options in ([], ["--question", " "], ["--questions", str(pool)]):
        assert run_json(*command, *options, code=1)["error"]["type"] == "SettingsError"
