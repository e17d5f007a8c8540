"""Passages in memory, with questions whose answers are known, and worked examples."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from entail.data.bundled import sample_dir
from entail.data.passages.files import read_passages, read_questions
from entail.data.records import Corpus, Premise
from entail.data.stored import read_json
from entail.errors import EvaluationError, FormatError
from entail.progress import Meter, ProgressCallback

MOST = 200_000
"""Limit of passages of a pool; `entail evaluate passages` measures larger files."""

MOST_QUESTIONS = 20_000
_SPLITS = ("test", "dev", "train")


@dataclass(frozen=True)
class KnownQuestion:
    """Question with alternative answers, and the positions of the passages that answer it."""

    question: str
    answers: tuple[str, ...] = ()
    gold: frozenset[int] = frozenset()

    @property
    def answer(self) -> str:
        """The first answer, empty without one."""
        return next(iter(self.answers), "")


@dataclass(frozen=True)
class Pool:
    """Passages, each after its title, with questions by `question_key`."""

    name: str
    corpus: Corpus
    questions: Mapping[str, KnownQuestion] = field(default_factory=dict)

    def find_question(self, question: str) -> KnownQuestion | None:
        """Return the known question of this text, None if there is none."""
        return self.questions.get(question_key(question))


def question_key(question: str) -> str:
    """Return the normalised form of a question.

    >>> question_key(" Who  won?") == question_key("who won ?")
    True
    """
    return " ".join(question.lower().replace("?", " ").split())


def corpus_pool(corpus: Corpus) -> Pool:
    """Return a corpus as passages, with the examples whose premises are in it."""
    questions = [
        KnownQuestion(example.question, (example.answer,), gold)
        for example in EXAMPLES
        if (gold := frozenset(at for text in example.gold if (at := corpus.position(text)) is not None))
    ]
    return Pool(corpus.name, corpus, _by_question(questions))


def read_pool(path: Path, *, name: str, progress: ProgressCallback | None = None) -> Pool:
    """Read the passages of a file or BEIR folder, and its questions that name their passages.

    Raises:
        FormatError: If the file is malformed, with the line.
        EvaluationError: If there is no passage, or more than `MOST`.
    """
    texts: dict[str, Premise] = {}
    key_of: dict[str, str] = {}
    size = sum(part.stat().st_size for part in (path.glob("corpus.jsonl*") if path.is_dir() else [path]))
    packed = path.suffix == ".gz"  # its unpacked size is unknown
    meter = Meter(size, "reading passages", unit="bytes", report=None if packed else progress)
    for passage in read_passages(path):
        premise = Premise(passage.whole, passage.id)
        texts.setdefault(premise.key, premise)
        key_of.setdefault(passage.id, premise.key)
        meter.add(len(passage.text))
        if len(texts) > MOST:
            raise EvaluationError(
                f"{name}: expected at most {MOST:,} passages to search on a page, found more; measure them "
                "with `entail evaluate passages`, which keeps them on disk"
            )
    if not texts:
        raise EvaluationError(f"{name}: expected passages to search, found none")
    corpus = Corpus(name, tuple(texts.values()))
    return Pool(name, corpus, _by_question(_questions(path, corpus, key_of)))


def _questions(path: Path, corpus: Corpus, key_of: Mapping[str, str]) -> Iterable[KnownQuestion]:
    """Yield the questions whose passages are in the corpus; none if the file has no questions."""
    splits = [split for split in _SPLITS if (path / "qrels" / f"{split}.tsv").is_file()]
    with contextlib.suppress(FormatError):  # a file of passages alone is valid
        for question in islice(read_questions(path, split=(splits or ["test"])[0]), MOST_QUESTIONS):
            gold = frozenset(corpus.positions[key_of[id_]] for id_ in question.gold if id_ in key_of)
            if gold:
                yield KnownQuestion(question.text, question.answers, gold)


def _by_question(questions: Iterable[KnownQuestion]) -> dict[str, KnownQuestion]:
    merged: dict[str, KnownQuestion] = {}
    for question in questions:
        key = question_key(question.question)
        before = merged.get(key, KnownQuestion(""))
        answers = tuple(dict.fromkeys((*question.answers, *before.answers)))
        merged[key] = KnownQuestion(question.question, answers, question.gold | before.gold)
    return merged


class Example(NamedTuple):
    """Example question, its answer and the bundled premises that answer it."""

    question: str
    answer: str
    gold: tuple[str, ...]


EXAMPLES = tuple(read_json(sample_dir() / "examples.json", list[Example]) or ())
"""Examples over the bundled corpus; the Claims page starts with the first, on which its lists differ most."""
