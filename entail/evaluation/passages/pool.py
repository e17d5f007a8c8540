"""Passages in memory, with questions whose answers are known, worked examples, and four lists of passages.

The lists are of two retrievers, each searched with a question and with its claim. Those of the examples
over the bundled corpus ship, so that they need no encoder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from entail.data.bundled import read_shipped, sample_dir
from entail.data.passages.files import beir_splits, read_passages, read_questions, unread_columns
from entail.data.records import Corpus, Premise
from entail.data.stored import read_json
from entail.data.text import fold
from entail.errors import EvaluationError, FormatError
from entail.index.protocol import Floats, PremiseIndex
from entail.index.ranking import scores_of, top_k
from entail.progress import Meter, ProgressCallback
from entail.statistics.ranking import ranks_of

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
    unread_columns: tuple[str, ...] = ()

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
    return Pool(name, corpus, _by_question(_questions(path, corpus, key_of)), unread_columns(path))


def _questions(path: Path, corpus: Corpus, key_of: Mapping[str, str]) -> Iterable[KnownQuestion]:
    """Yield the questions whose passages are in the corpus; none if the file has no questions."""
    splits = beir_splits(path)
    if path.is_dir() and not splits:
        return
    has_gold = path.is_dir()
    try:
        split = min(splits, key=(*_SPLITS, *splits).index, default="")
        for question in islice(read_questions(path, split=split), MOST_QUESTIONS):
            has_gold |= bool(question.gold)
            gold = frozenset(corpus.positions[key_of[id_]] for id_ in question.gold if id_ in key_of)
            if gold:
                yield KnownQuestion(question.text, question.answers, gold)
    except FormatError:
        if has_gold:  # a file of passages alone is valid
            raise


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


Wording = Literal["question", "claim"]
WORDINGS: tuple[Wording, Wording] = ("question", "claim")

ListKey = tuple[int, Wording]
"""Retriever (0 or 1) and wording of a list."""

LIST_KEYS: tuple[ListKey, ...] = ((0, "question"), (1, "question"), (0, "claim"), (1, "claim"))


@dataclass(frozen=True)
class PassageScore:
    """Verdict of a judge: P(passage entails claim), or the similarity by which a Gaussian encoder decides."""

    value: float
    entails: bool
    words: str


Scores = Mapping[str, Mapping[int, PassageScore]]
"""Judge -> position of a passage -> its verdict."""


@dataclass(frozen=True)
class ListedPassage:
    """Passage of a list, with its ranks from 1 there and in another list (0 where that does not find it)."""

    position: int
    rank: int
    score: float
    other: int


@dataclass(frozen=True)
class PassageLists:
    """Four lists of k passages by two retrievers.

    Attributes:
        positions: List -> positions, best first; fewer than k where a lexical retriever finds no more.
        scores: List -> similarities.
        ranks: List -> rank of each passage in any list and of each gold one; 0 where it is not found.
        gold: Positions that answer the question.
    """

    names: tuple[str, str]
    k: int
    positions: Mapping[ListKey, tuple[int, ...]]
    scores: Mapping[ListKey, tuple[float, ...]]
    ranks: Mapping[ListKey, Mapping[int, int]]
    gold: frozenset[int] = frozenset()

    def rows(self, key: ListKey, other: ListKey) -> list[ListedPassage]:
        """Return a list with the ranks of its passages in another one."""
        pairs = zip(self.positions[key], self.scores[key], strict=True)
        return [
            ListedPassage(position, rank, score, self.ranks[other][position])
            for rank, (position, score) in enumerate(pairs, start=1)
        ]

    def shared(self, key: ListKey, other: ListKey) -> int:
        """Return how many passages both lists have."""
        return len({*self.positions[key]} & {*self.positions[other]})

    def first_gold(self, key: ListKey) -> int | None:
        """Return the rank of the first gold passage; 0 where none is found, None where none is known."""
        if not self.gold:
            return None
        ranks = [self.ranks[key][position] for position in self.gold]
        return min((rank for rank in ranks if rank), default=0)

    @property
    def all_positions(self) -> tuple[int, ...]:
        """Every passage of any list, once."""
        return tuple(dict.fromkeys(at for positions in self.positions.values() for at in positions))


def search_wordings(
    indexes: tuple[PremiseIndex, PremiseIndex],
    question: str,
    claim: str,
    *,
    k: int,
    gold: frozenset[int] = frozenset(),
) -> PassageLists:
    """Search with both retrievers for both wordings; lexical ones do not find passages without a common word.

    In a large corpus passages beyond the first of `scores_of` are not found either.

    Raises:
        RetrievalError: If question or claim is empty.
        EncoderError: If an encoder cannot be loaded.
    """
    scores: dict[ListKey, Floats] = {}
    for number, index in enumerate(indexes):
        is_lexical = index.manifest.dimension == 0
        for wording, row in zip(WORDINGS, scores_of(index, [question, claim]), strict=True):
            scores[number, wording] = np.where(row > 0, row, -np.inf) if is_lexical else row
    best = {key: top_k(row[None], k).positions[0].tolist() for key, row in scores.items()}
    lists = {key: tuple(at for at in best[key] if np.isfinite(row[at])) for key, row in scores.items()}
    ranked = sorted({at for positions in lists.values() for at in positions} | gold)
    return PassageLists(
        (indexes[0].name, indexes[1].name),
        k,
        lists,
        {key: tuple(float(scores[key][at]) for at in positions) for key, positions in lists.items()},
        {key: _ranks(row, ranked) for key, row in scores.items()} if ranked else {},
        gold,
    )


def _ranks(row: Floats, positions: list[int]) -> dict[int, int]:
    ranks = ranks_of(row[None], [positions]).ranks
    return {at: int(rank) * bool(np.isfinite(row[at])) for at, rank in zip(positions, ranks, strict=True)}


FILE = "claim_lists.json"
"""File next to the bundled corpus; `scripts/build_openings.py` writes it."""


@dataclass(frozen=True)
class StoredLists:
    """Lists of one question and its claim, each field in the order of `LIST_KEYS`.

    Attributes:
        ranks: Position of a listed or gold passage, then its rank in each list.
    """

    question: str
    claim: str
    gold: list[int]
    positions: list[list[int]]
    scores: list[list[float]]
    ranks: list[list[int]]

    @classmethod
    def of(cls, lists: PassageLists, question: str, claim: str) -> StoredLists:
        """Return lists as they are stored."""
        at = sorted({*lists.all_positions, *lists.gold})
        return cls(
            question,
            claim,
            sorted(lists.gold),
            [list(lists.positions[key]) for key in LIST_KEYS],
            [[round(score, 6) for score in lists.scores[key]] for key in LIST_KEYS],
            [[position, *(lists.ranks[key][position] for key in LIST_KEYS)] for position in at],
        )

    def cut(self, names: tuple[str, str], k: int) -> PassageLists:
        """Return the first k passages of each list."""
        return PassageLists(
            names,
            k,
            {key: tuple(positions[:k]) for key, positions in zip(LIST_KEYS, self.positions, strict=True)},
            {key: tuple(scores[:k]) for key, scores in zip(LIST_KEYS, self.scores, strict=True)},
            {key: {row[0]: row[1 + i] for row in self.ranks} for i, key in enumerate(LIST_KEYS)},
            frozenset(self.gold),
        )


@dataclass(frozen=True)
class ExampleLists:
    """Lists of all examples by two retrievers, to depth k, over the corpus of a hash."""

    names: list[str]
    revisions: list[str]
    corpus_hash: str
    k: int
    examples: list[StoredLists]


def find_lists(
    names: tuple[str, str],
    revisions: Sequence[str | None],
    corpus_hash: str,
    question: str,
    claim: str,
    *,
    k: int,
    gold: frozenset[int],
    folder: Path | None = None,
) -> PassageLists | None:
    """Return the lists that ship; None unless they are of just these retrievers, passages and texts."""
    stored = read_lists(folder or sample_dir())
    if stored is None or k > stored.k or stored.corpus_hash != corpus_hash:
        return None
    if (*names, *revisions) != (*stored.names, *stored.revisions):
        return None
    target = fold(question), fold(claim), sorted(gold)
    for example in stored.examples:
        if (fold(example.question), fold(example.claim), example.gold) == target:
            return example.cut(names, k)
    return None


def read_lists(folder: Path) -> ExampleLists | None:
    """Return the lists of a folder; None if they are missing or damaged: the encoders answer instead."""
    return read_shipped(folder / FILE, ExampleLists)
