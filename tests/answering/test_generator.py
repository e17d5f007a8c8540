"""Prompts that fit, and answers written after them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entail.answering.answerer import PassageQuestion
from entail.answering.answers import load_answerer
from entail.answering.generator import LEAST, TEMPLATE, Generator, passage_lines, rag_prompt
from entail.data.passages.files import Passage
from entail.errors import SettingsError

PASSAGES = [Passage("a", "ba " * 20), Passage("b", "be " * 30, "T"), Passage("c", "bi " * 40)]


def words(text: str) -> int:
    return len(text.split())


BARE = words(TEMPLATE.replace("{passages}", "").replace("{question}", ""))


def test_what_fits_is_in_the_prompt_whole() -> None:
    prompt = rag_prompt("na ne?", PASSAGES, room=500, tokens=words)
    assert (prompt.read, prompt.cut) == (3, False)
    assert prompt.text == TEMPLATE.replace("{passages}", passage_lines(PASSAGES)).replace(
        "{question}", "na ne?"
    )
    assert "Passage 2 (T): be be" in prompt.text
    assert prompt.text.endswith("Question: na ne?\nAnswer:")


def test_the_last_passages_go_first_then_words_of_one() -> None:
    # bare + question 2 + passage 1: 22 words; passage 2 has 3 + 30
    room = BARE + 2 + 22 + 3 + LEAST
    prompt = rag_prompt("na ne?", PASSAGES, room=room, tokens=words)
    assert (prompt.read, prompt.cut) == (2, True)
    assert prompt.text.count("be") == LEAST
    assert words(prompt.text) == room
    less = rag_prompt("na ne?", PASSAGES, room=room - 1, tokens=words)
    assert (less.read, less.cut) == (1, True)
    assert less.text.count("ba") == 20
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


def asked(question: str, *texts: str) -> PassageQuestion:
    return PassageQuestion(
        question, question, tuple(Passage(f"p{at}", text) for at, text in enumerate(texts))
    )


def greedy(model: Any, ids: list[int], count: int, end: int) -> list[int]:
    import torch

    new: list[int] = []
    while len(new) < count and end not in new:
        with torch.no_grad():
            new.append(int(model(torch.tensor([[*ids, *new]])).logits[0, -1].argmax()))
    return new


def test_a_causal_model_goes_on_after_its_prompt(causal: Path, tokenizer: Any) -> None:
    from transformers import GPT2LMHeadModel

    writer = load_answerer("writer", answer_tokens=6)
    assert isinstance(writer, Generator)
    assert writer.kind == "causal"
    questions = [
        asked("na ne", "ba be bi", "bo"),
        asked("ni", "bu"),
        asked("no"),
        asked("nu na", "ba " * 300),
    ]
    answers = list(writer.answer(questions))
    model = GPT2LMHeadModel.from_pretrained(causal).eval()
    for question, answer in zip(questions, answers, strict=True):
        if not question.passages:
            assert (answer.text, answer.read) == ("", 0)
            continue
        ids = tokenizer(writer.prompt(question).text)["input_ids"]
        assert len(ids) <= 160 - 6
        new = greedy(model, ids, 6, tokenizer.sep_token_id)
        assert answer.text == tokenizer.decode(new, skip_special_tokens=True).strip()
        assert answer.score is None
        assert answer.passage is None
    assert [answer.cut for answer in answers] == [False, False, False, True]
    assert answers[0].text
    alone = load_answerer("writer", answer_tokens=6, batch_size=1)
    assert [answer.text for answer in alone.answer(questions)] == [answer.text for answer in answers]


def test_a_model_that_reads_and_then_writes(seq2seq: Path) -> None:
    writer = load_answerer("rewriter", answer_tokens=5)
    assert writer.kind == "seq2seq"
    answers = list(writer.answer([asked("na ne", "ba be bi"), asked("ni", "bu bo " * 9)]))
    assert all(answer.read == 1 for answer in answers)
    again = list(
        load_answerer("rewriter", answer_tokens=5, batch_size=1).answer([asked("na ne", "ba be bi")])
    )
    assert again[0].text == answers[0].text


def test_a_chat_model_is_asked_in_its_own_form(causal: Path, tokenizer: Any) -> None:
    tokenizer.chat_template = "{% for m in messages %}ga {{ m['content'] }} go{% endfor %}"
    tokenizer.save_pretrained(causal)
    writer = load_answerer("writer", answer_tokens=6)
    assert isinstance(writer, Generator)
    ids = writer._ids("ba be")
    assert ids == tokenizer("ga ba be go", add_special_tokens=False)["input_ids"]


def test_prompts_that_cannot_be_are_refused(causal: Path) -> None:
    with pytest.raises(SettingsError):
        load_answerer("writer", answer_tokens=160)
