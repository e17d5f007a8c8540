"""Passages that are searched, in memory, with what is known of questions over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from entail.data.passages import Passage, PassageTally, read_passages, read_questions
from entail.data.records import Corpus, Premise
from entail.errors import EvaluationError, FormatError
from entail.progress import Meter, ProgressCallback
from entail.ui.claims_example import EXAMPLES

MOST = 200_000
"""Passages of a file that are searched on a page; more are measured by `entail evaluate passages`."""

MOST_QUESTIONS = 20_000
_SPLITS = ("test", "dev", "train")


@dataclass(frozen=True)
class Known:
    """A question of which something is known.

    Attributes:
        question: As it is asked.
        answers: Texts that answer it, any of them.
        gold: Positions of the passages that answer it.
    """

    question: str
    answers: tuple[str, ...] = ()
    gold: frozenset[int] = frozenset()

    @property
    def answer(self) -> str:
        """The first answer, empty where none is known."""
        return self.answers[0] if self.answers else ""


@dataclass(frozen=True)
class Pool:
    """Passages, and questions over them.

    Attributes:
        name: As a person calls it.
        corpus: The passages, each with its title before it.
        questions: Those of which an answer or a passage is known, by `asked`.
        remarks: What became of passages that are not as they stood in the file.
    """

    name: str
    corpus: Corpus
    questions: Mapping[str, Known] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def known(self, question: str) -> Known | None:
        """Return what is known of a question, None where nothing is."""
        return self.questions.get(asked(question))


def asked(question: str) -> str:
    """Return the form under which a question is looked up.

    >>> asked(" Who  won?") == asked("who won ?")
    True
    """
    return " ".join(question.lower().replace("?", " ").split())


def corpus_pool(corpus: Corpus) -> Pool:
    """Return a corpus as passages, with the examples whose facts are in it."""
    found = []
    for example in EXAMPLES:
        places = frozenset(place for text in example.gold if (place := corpus.position(text)) is not None)
        if places:
            found.append(Known(example.question, (example.answer,), places))
    return Pool(corpus.name, corpus, _by_question(found))


def read_pool(path: Path, *, name: str, progress: ProgressCallback | None = None) -> Pool:
    """Read the passages of a file or BEIR folder, and the questions in it that name their passages.

    Args:
        path: See `entail.data.passages`.
        name: As a person calls it.
        progress: Told how many passages were read.

    Raises:
        FormatError: If it is not what it should be, with the line.
        EvaluationError: If it has no passage, or more than `MOST`.
    """
    tally = PassageTally()
    texts: dict[str, Premise] = {}
    place_of: dict[str, str] = {}
    size = sum(part.stat().st_size for part in (path.glob("corpus.jsonl*") if path.is_dir() else [path]))
    packed = path.suffix == ".gz"  # how much comes out of it is not known
    meter = Meter(size, "reading passages", unit="bytes", report=None if packed else progress)
    for passage in read_passages(path, tally=tally):
        premise = _premise(passage)
        texts.setdefault(premise.key, premise)
        place_of.setdefault(passage.id, premise.key)
        meter.add(len(passage.text))
        if len(texts) > MOST:
            raise EvaluationError(
                f"{name}: expected at most {MOST:,} passages to search on a page, found more; measure them "
                "by `entail evaluate passages`, which keeps them on disk"
            )
    if not texts:
        raise EvaluationError(f"{name}: expected passages to search, found none that says anything")
    corpus = Corpus(name, tuple(texts.values()))
    repeated = tally.read - len(texts)
    said = ((tally.empty, "empty, left out"), (tally.html, "with HTML, taken out"), (repeated, "repeated"))
    return Pool(
        name,
        corpus,
        _by_question(_questions(path, corpus, place_of)),
        tuple(f"{count:,} {what}" for count, what in said if count > 0),
    )


def _premise(passage: Passage) -> Premise:
    return Premise(passage.whole, passage.id)


def _questions(path: Path, corpus: Corpus, place_of: Mapping[str, str]) -> Iterable[Known]:
    """Yield the questions whose passages are here; a file without questions has none."""
    splits = [one for one in _SPLITS if (path / "qrels" / f"{one}.tsv").is_file()]
    count = 0
    try:
        for one in read_questions(path, split=splits[0] if splits else "test"):
            keys = [place_of[id_] for id_ in one.gold if id_ in place_of]
            if keys:
                yield Known(one.text, one.answers, frozenset(corpus.positions[key] for key in keys))
                count += 1
            if count == MOST_QUESTIONS:
                return
    except FormatError:
        return  # its passages were read; that they stand alone is no mistake


def _by_question(found: Iterable[Known]) -> dict[str, Known]:
    by_question: dict[str, Known] = {}
    for one in found:
        before = by_question.get(asked(one.question))
        if before is not None:
            answers = tuple(dict.fromkeys((*one.answers, *before.answers)))
            one = Known(one.question, answers, one.gold | before.gold)
        by_question[asked(one.question)] = one
    return by_question
