"""Answers marked in passages: spans, windows, and what is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from entail.answering.answerer import PassageQuestion
from entail.answering.answers import load_answerer
from entail.answering.reader import Reader, Span, best_span
from entail.data.passages.files import Passage
from entail.errors import EncoderError, UnknownEncoderError

LONG = " ".join(f"{word}" for word in ["ba be bi bo bu da de di do du fa fe fi fo fu ga ge gi go gu"] * 2)


def asked(question: str, *texts: str) -> PassageQuestion:
    return PassageQuestion("q", question, tuple(Passage(f"p{at}", text) for at, text in enumerate(texts)))


def test_the_best_span_by_hand() -> None:
    begins, ends = np.array([4.0, 0.0, 3.0]), np.array([0.0, 1.0, 5.0])
    assert best_span(begins, ends, max_length=3) == Span(9.0, 0, 2)
    assert best_span(begins, ends, max_length=2) == Span(8.0, 2, 2)
    # an end before its begin is none
    assert best_span(np.array([0.0, 9.0]), np.array([9.0, 0.0]), max_length=5) == Span(9.0, 0, 0)


def test_the_answer_is_read_in_the_passage_that_has_it(planted: Callable[..., Path]) -> None:
    texts = ["ba be, bi bo", "la le li lo lu", "ma me"]
    planted("na ne", texts, [(1, 2, 3)])
    reader = load_answerer("reader")
    assert isinstance(reader, Reader)
    (answer,) = reader.answer([asked("na ne", *texts)])
    assert (answer.text, answer.passage, answer.read, answer.cut) == ("li lo", "p1", 3, False)
    assert answer.score == pytest.approx(20, abs=0.1)
    assert answer.passages == ("p0", "p1", "p2")
    (again,) = load_answerer("reader", batch_size=1).answer([asked("na ne", *texts)])
    assert (again.text, again.score) == (answer.text, pytest.approx(answer.score, abs=1e-3))
    short = load_answerer("reader", answer_tokens=1)
    (word,) = short.answer([asked("na ne", *texts)])
    assert word.text in ("li", "lo")


def test_what_stands_late_in_a_long_passage_is_read_too(planted: Callable[..., Path]) -> None:
    planted("na ne", [LONG], [(0, 37, 38)])
    (answer,) = load_answerer("reader").answer([asked("na ne", LONG)])
    assert answer.text == "gi go"
    assert not answer.cut


def test_questions_of_any_length_and_without_passages(planted: Callable[..., Path]) -> None:
    planted("na ne", ["ba be"], [(0, 1, 1)])
    reader = load_answerer("reader")
    answers = list(
        reader.answer(
            [
                asked("na ne"),
                asked("  ", "ba be"),
                asked("na " * 500, "ba be"),
                asked("ما هذا؟", "ba be"),
                asked("na ne", "ba be"),
            ]
        )
    )
    assert [(answer.text, answer.read) for answer in answers[:2]] == [("", 0), ("", 0)]
    assert answers[2].cut
    assert answers[2].text
    assert answers[3].text
    assert answers[4].text == "be"


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
