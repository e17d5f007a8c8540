"""Readers of answers: trained on marked passages, saved, loaded, and asked."""

import json
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from entail.answering.answers import load_answerer
from entail.answering.config import ReaderConfig
from entail.answering.reader import Reader, list_readers, load_reader
from entail.answering.squad import MarkedQuestion, read_marked
from entail.answering.training import make_examples, train_reader
from entail.encoders.cross.pairs import read_tokenizer
from entail.errors import FormatError, TrainingError
from entail.training.method import Run
from tests.conftest import SYLLABLES

WORDS = SYLLABLES[:25]
SMALL: dict[str, Any] = {"base": "tiny", "rank": 8, "batch_size": 16, "max_length": 24, "precision": "fp32"}


def marked(count: int, *, seed: int = 0) -> list[MarkedQuestion]:
    """Questions whose answer goes from `mu` to `po`, in passages of more than one window."""
    draw = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        words = list(draw.choice(WORDS, size=28))
        at = int(draw.integers(26))
        words[at : at + 2] = ["mu", "po"]
        passage = " ".join(words)
        rows.append(MarkedQuestion("na", passage, ((passage.index("mu"), "mu po"),)))
    return rows


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_it_learns_to_mark_the_answer_and_reads_as_transformers_does(
    tiny_home: Path, tuning: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate = {"lora": 0.02, "full": 0.005}[tuning]
    config = ReaderConfig(epochs=4, learning_rate=rate, tuning=tuning, **SMALL)
    run = Run(data=["squad"], out=tiny_home / "mine")
    done = train_reader(marked(160), config, dev=marked(40, seed=1), run=run)
    assert done.fitted.best is not None
    assert done.fitted.best.score > 0.8
    assert list_readers() == ["mine"]
    reader = load_answerer("mine")
    assert isinstance(reader, Reader)
    rows = marked(40, seed=2)
    spans = reader.read([(row.question, [row.passage]) for row in rows])
    starts = [(span and span.start, row.answers[0][0]) for (span,), row in zip(spans, rows, strict=True)]
    assert np.mean([start == right for start, right in starts]) > 0.7
    # Windows without an answer were learnt from, so passages compare.
    passages = [row.passage.replace("mu", "ba").replace("po", "be") for row in rows[:9]] + [rows[0].passage]
    scores = [span.score for span in reader.read([("na", passages)])[0] if span is not None]
    assert max(scores) == scores[-1]
    card = (tiny_home / "mine" / "README.md").read_text(encoding="utf-8")
    assert "pipeline_tag: question-answering" in card
    assert "entail answer --model mine" in card

    questions = [("na", ["ba be mu bi bo", "mu da " * 30, ""]), ("na ne " * 30, ["da mu de"])]
    own = load_reader("mine").read(questions)
    assert own[0][2] is None
    monkeypatch.setattr("entail.encoders.cross.encoder.read_bert", lambda folder: None)
    for first, second in zip(chain(*own), chain(*load_reader("mine").read(questions)), strict=True):
        assert first is second is None or (first.text, first.start) == (second.text, second.start)
        assert first is None or first.score == pytest.approx(second.score, abs=1e-4)


def test_windows_and_marks_by_hand(tiny_home: Path) -> None:
    content = (tiny_home / "tiny" / "tokenizer.json").read_text(encoding="utf-8")
    tokenize, frame = read_tokenizer(content, name="tiny")
    model: Any = SimpleNamespace(tokenize=tokenize, frame=frame, max_length=11)
    long = "ba be bi bo bu da de di do du"
    row = MarkedQuestion("na ne", long, ((long.index("da"), "da de"),))
    # 11 tokens: 3 special, 2 of the question, 6 of the passage, 3 of which overlap
    examples = make_examples(model, [row], negatives=0.0, seed=0)
    (example,) = examples  # of the windows at ba, bo and de the second alone has the whole answer
    assert [list(example.pair[1])] == tokenize(["bo bu da de di do"])
    assert (example.first, example.last) == (6, 7)


def test_squad_is_read_with_places(tmp_path: Path) -> None:
    context = "Ice is cold. Cold ice melts."
    rows = [
        ({"text": "ice", "answer_start": 18}, ((18, "ice"),)),
        ({"text": "ice", "answer_start": 3}, ((18, "ice"),)),  # not at its place
        ({"text": "Ice"}, ((0, "Ice"),)),
        ({"text": "snow", "answer_start": 0}, ()),
        ({"text": "", "answer_start": 0}, ()),
    ]
    qas = [{"question": " why?", "answers": [answer]} for answer, _ in rows]
    qas.append({"question": "why", "is_impossible": True, "answers": [{"text": "ice", "answer_start": 18}]})
    file = tmp_path / "squad.json"
    file.write_text(json.dumps({"data": [{"paragraphs": [{"context": context, "qas": qas}]}]}))
    assert [row.answers for row in read_marked(file)] == [*(marks for _, marks in rows), ()]
    assert next(read_marked(file)).question == "why?"
    for wrong in ("[]", '{"data": [{"paragraphs": [{"qas": []}]}]}', "why?"):
        file.write_text(wrong)
        with pytest.raises(FormatError):
            list(read_marked(file))


def test_what_cannot_be_trained_is_told(tiny_home: Path) -> None:
    with pytest.raises(TrainingError, match="found none of 1"):
        train_reader([MarkedQuestion("na", "ba be", ())], ReaderConfig(**SMALL))
    with pytest.raises(TrainingError, match="negatives"):
        ReaderConfig(negatives=1.5)
