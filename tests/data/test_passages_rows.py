"""Rows of passages and questions: a wrong field is named, what is missing but not needed is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from entail.data.passages.files import Passage, Question, read_passages, read_questions
from entail.data.text import premise_key
from entail.errors import FormatError


def squad(**changed: object) -> dict[str, Any]:
    asked = {"id": "a", "question": "What?", "answers": [{"text": "ice"}], **changed}
    return {
        "data": [{"title": "T", "paragraphs": [{"context": "Ice.", "qas": [{"question": "Why?"}, asked]}]}]
    }


def written(folder: Path, value: object) -> Path:
    file = folder / "x.json"
    file.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (squad(question=None), "field 'data[0].paragraphs[0].qas[1].question': expected text"),
        (squad(answers=["x"]), "field 'data[0].paragraphs[0].qas[1].answers[0]': expected an answer"),
        (squad(answers={"text": ["x"]}), "qas[1].answers': expected a list of answers, found {"),
        ({"data": [{"paragraphs": []}, "x"]}, "field 'data[1]': expected an article"),
        ({"data": [{"paragraphs": ["x"]}]}, "field 'data[0].paragraphs[0]': expected a paragraph"),
        ({"data": [{"paragraphs": [{"qas": []}]}]}, "paragraphs[0].context': expected text, found none"),
        (
            [{"question": "q", "positive_ctxs": ["text"]}],
            "line 2, field 'positive_ctxs[0]': expected a passage",
        ),
        ([{"question": "q", "positive_ctxs": {"a": 1}}], "line 2, field 'positive_ctxs': expected a list"),
        ([{"question": "q", "ctxs": ["text"]}], "line 2, field 'ctxs[0]': expected a passage"),
        ([{"question": "q", "positive_ctxs": [{"text": ["a"]}]}], "'positive_ctxs[0].text': expected text"),
        ([{"question": "q", "answers": 3}], "line 2, field 'answers': expected a text or a list"),
        ([{"question": "q", "answers": [None]}], "line 2, field 'answers': expected a text or a list"),
    ],
)
def test_a_wrong_field_is_named_with_its_place(tmp_path: Path, value: object, said: str) -> None:
    with pytest.raises(FormatError) as caught:
        list(read_questions(written(tmp_path, value)))
    assert said in str(caught.value)
    assert "x.json" in str(caught.value)


def test_passages_of_wrong_rows_are_named_too(tmp_path: Path) -> None:
    rows = [{"question": "q", "positive_ctxs": [{"text": "Ice."}]}, {"question": "q", "negative_ctxs": ["t"]}]
    found = read_passages(written(tmp_path, rows))
    assert next(found).text == "Ice."
    with pytest.raises(FormatError, match=r"field 'negative_ctxs\[0\]'"):
        next(found)


def test_what_is_missing_but_not_needed_is_none(tmp_path: Path) -> None:
    gold = (premise_key("Ice."),)
    assert list(read_questions(written(tmp_path, squad(answers=None, id=None)))) == [
        Question("1", "Why?", (), gold),
        Question("2", "What?", (), gold),
    ]


def test_a_passage_whose_id_is_0_is_called_so(tmp_path: Path) -> None:
    file = written(tmp_path, [{"question": "q", "positive_ctxs": [{"text": "Ice.", "passage_id": 0}]}])
    assert list(read_passages(file)) == [Passage("0", "Ice.")]
    assert [one.gold for one in read_questions(file)] == [("0",)]
