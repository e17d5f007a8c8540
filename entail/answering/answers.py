"""Answers to many questions: passages found, questions answered, answers measured.

Exact match and F1 compare texts after SQuAD's normalisation: lower case, no punctuation, no a, an, the. F1
counts shared words, each as often as in both. Each is the best over the accepted answers.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.answering.answerer import Answer, Answerer, PassageQuestion, load_model
from entail.answering.generator import Generator
from entail.answering.reader import SHIPPED, load_reader, reader_of
from entail.data.passages.files import Passage, Question
from entail.encoders.cross.encoder import cross_folder
from entail.evaluation.passages.retrieval import PassageSearch
from entail.evaluation.passages.store import PassageStore
from entail.progress import Meter, ProgressCallback
from entail.statistics.classification import wilson_interval

BLOCK = 64
"""Questions whose passages are in memory together."""

Find = Callable[[Sequence[str]], Sequence[tuple[Passage, ...]]]
"""Questions -> the passages of each, best first."""

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def load_answerer(name: str | Path = SHIPPED, *, device: str | None = None, **options: int) -> Answerer:
    """Load a reader or a generator, as its configuration says, with options of `Reader` or `Generator`.

    A reader by `entail train reader` is loaded by its name under `models/` or its folder.

    Raises:
        EncoderError: If it cannot be found or loaded safely, or has no head for either.
        SettingsError: If the device is not available, or a generator has no room for a prompt.
    """
    if cross_folder(name) is not None:
        return load_reader(name, device=device, **options)
    loaded = load_model(name, device=device)
    return (reader_of if loaded.kind == "reader" else Generator)(loaded, **options)


@dataclass(frozen=True)
class Finder:
    """Search of a store, by `search_passages`, for the k best passages of questions."""

    store: PassageStore
    search: PassageSearch
    k: int

    def __call__(self, questions: Sequence[str]) -> list[tuple[Passage, ...]]:
        """Return the passages of each question, best first; fewer where no more were found."""
        rows = self.search(questions, self.k).tolist()
        return [tuple(self.store[at] for at in row if at >= 0) for row in rows]


def answer_questions(
    questions: Sequence[Question],
    answerer: Answerer,
    find: Find,
    *,
    progress: ProgressCallback | None = None,
) -> list[Answer]:
    """Find passages for questions, and answer them, in order."""
    answers: list[Answer] = []
    meter = Meter(len(questions), f"answering by {answerer.name}", unit="questions", report=progress)
    for start in range(0, len(questions), BLOCK):
        batch = questions[start : start + BLOCK]
        pairs = zip(batch, find([question.text for question in batch]), strict=True)
        for answer in answerer.answer([PassageQuestion(q.id, q.text, passages) for q, passages in pairs]):
            answers.append(answer)
            meter.add(1)
    return answers


def answer_figures(answers: Sequence[Answer], questions: Sequence[Question]) -> dict[str, Any]:
    """Measure answers, in the order of the questions, against the accepted ones.

    `exact_match`, with Wilson's 95 % `interval`, and `f1` are means over the questions `with_answer`, None
    where there is none; `cut` counts truncated inputs.
    """
    judged = [
        (answer.text, question.answers)
        for answer, question in zip(answers, questions, strict=True)
        if question.answers
    ]
    exact, shared = (sum(measure(*pair) for pair in judged) for measure in (exact_match, f1))
    count = len(judged)
    return {
        "questions": len(answers),
        "with_answer": count,
        "interval": wilson_interval(round(exact), count),
        "exact_match": exact / count if count else None,
        "f1": shared / count if count else None,
        "cut": sum(answer.cut for answer in answers),
        "without_passages": sum(not answer.read for answer in answers),
    }


def normalise(text: str) -> str:
    """Return a text normalised as in SQuAD.

    >>> normalise("The  Cat, an animal!")
    'cat animal'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, accepted: Sequence[str]) -> float:
    """Return 1 if the answer is an accepted one, else 0.

    >>> exact_match("the Cat.", ["dog", "cat"]), exact_match("cats", ["cat"])
    (1.0, 0.0)
    """
    return float(normalise(answer) in map(normalise, accepted))


def f1(answer: str, accepted: Sequence[str]) -> float:
    """Return the F1 of the words of the answer, 0 where none is shared.

    >>> round(f1("the big black cat", ["a black cat"]), 3)  # P = 2/3, R = 1
    0.8
    """
    words = normalise(answer).split()
    rivals = [normalise(text).split() for text in accepted]
    shared = [(Counter(words) & Counter(other)).total() for other in rivals]
    pairs = zip(shared, rivals, strict=True)
    return max((2 * count / (len(words) + len(other)) for count, other in pairs if count), default=0.0)
