"""Questions with the passages that answer them, and what both stages learn of them.

Passages stay on disk (`PassageStore`); an `Example` knows their positions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from entail.claims import existence_claim
from entail.data.nli.pairs import NliPair
from entail.data.passages.files import Question
from entail.data.text import fold, premise_key
from entail.errors import EvaluationError
from entail.evaluation.passages.retrieval import answer_tokens, has_answer
from entail.evaluation.passages.search import search_words
from entail.evaluation.passages.store import PassageStore
from entail.progress import ProgressCallback


@dataclass(frozen=True, slots=True)
class Example:
    """A question that is learnt from.

    Attributes:
        question: Its text.
        answers: Texts that answer it, any of them.
        gold: Positions of the passages that answer it; the first is learnt.
        negatives: Positions of passages that look as if they did, the hardest first.
    """

    question: str
    answers: tuple[str, ...]
    gold: tuple[int, ...]
    negatives: tuple[int, ...] = ()


@dataclass(frozen=True)
class Examples:
    """Questions over a pool of passages, and what was left out.

    Attributes:
        store: The pool.
        examples: Questions with a gold passage in the pool.
        without_gold: Questions left out because they have none there.
    """

    store: PassageStore
    examples: tuple[Example, ...]
    without_gold: int = 0

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def digest(self) -> str:
        """12 hexadecimal digits that change with any question or passage: what a checkpoint is bound to."""
        digest = hashlib.sha256(self.store.digest(0, len(self.store)).encode())
        for one in self.examples:
            told = [one.question, one.answers, one.gold, one.negatives]
            digest.update(json.dumps(told).encode() + b"\n")
        return digest.hexdigest()[:12]

    def to_json(self) -> dict[str, int]:
        """Return the counts."""
        return {
            "questions": len(self),
            "questions_without_gold": self.without_gold,
            "passages": len(self.store),
            "hard_negatives": sum(len(one.negatives) for one in self.examples),
        }


@dataclass(frozen=True, slots=True)
class EntailedPair:
    """A premise and a hypothesis that it entails: what masked hypotheses are predicted from.

    Attributes:
        premise: A passage, or the premise of an NLI pair.
        hypothesis: The question's claim, or the hypothesis of the pair.
        question: The question itself; of an NLI pair the hypothesis again.
    """

    premise: str
    hypothesis: str
    question: str


def examples_of(store: PassageStore, questions: Iterable[Question]) -> Examples:
    """Look up the gold passages, and the hard negatives that come with the questions, in a pool."""
    asked = list(questions)
    where = store.positions(known for one in asked for known in (*one.gold, *one.hard_negatives))
    found = []
    for one in asked:
        gold = tuple(where[known] for known in one.gold if known in where)
        if gold:
            told = (where[known] for known in one.hard_negatives if known in where)
            negatives = tuple(dict.fromkeys(at for at in told if at not in gold))
            found.append(Example(one.text, one.answers, gold, negatives))
    return Examples(store, tuple(found), len(asked) - len(found))


def with_hard_negatives(
    examples: Examples, *, depth: int, progress: ProgressCallback | None = None
) -> Examples:
    """Add what BM25 brings for a question and is no answer to it, after the negatives it came with.

    A passage that holds an answer (DPR's match) is none, nor one of a gold passage's text.

    Args:
        examples: The questions; their pool is searched.
        depth: Passages looked at for each.
        progress: Told how far it is.

    Raises:
        EvaluationError: If the pool is too large for BM25 in memory.
    """
    store = examples.store
    hits = search_words(store, [one.question for one in examples.examples], k=depth, progress=progress)
    found = []
    for one, row in zip(examples.examples, hits.tolist(), strict=True):
        answers = [tokens for text in one.answers if (tokens := answer_tokens(text))]
        gold = {premise_key(store[at].text) for at in one.gold}
        mined = []
        for at in row:
            if at < 0 or at in one.gold or at in one.negatives:
                continue
            text = store[at].text
            if premise_key(text) not in gold and not has_answer(answer_tokens(text), answers):
                mined.append(at)
        found.append(replace(one, negatives=(*one.negatives, *mined)))
    return replace(examples, examples=tuple(found))


def with_missing_negatives(
    examples: Examples, *, depth: int, progress: ProgressCallback | None = None
) -> Examples:
    """Add what BM25 brings to the questions that come with no hard negative; given ones stay as they are.

    Where every question has some, nothing is searched, and the pool may be of any size.

    Args:
        examples: The questions; their pool is searched.
        depth: Passages looked at for each; 0 looks for none.
        progress: Told how far it is.

    Raises:
        EvaluationError: If questions have none, and the pool is too large for BM25 in memory.
    """
    alone = tuple(one for one in examples.examples if not one.negatives)
    if not alone or not depth:
        return examples
    try:
        mined = with_hard_negatives(replace(examples, examples=alone), depth=depth, progress=progress)
    except EvaluationError as error:
        raise EvaluationError(
            f"{len(alone):,} of {len(examples):,} questions come with no hard negative in the pool, and are "
            f"looked up by BM25: {error}; depth 0 looks for none"
        ) from error
    found = iter(mined.examples)
    return replace(
        examples, examples=tuple(one if one.negatives else next(found) for one in examples.examples)
    )


def entailed_pairs(
    examples: Examples, nli: Iterable[NliPair] = (), *, words: int = 0
) -> tuple[EntailedPair, ...]:
    """Return each question's claim beside its gold passage, then the entailments of NLI pairs.

    Of NLI only these are true: `premise entails that hypothesis` is false of any other label.

    Args:
        examples: The questions.
        nli: Pairs of any label.
        words: Words of a passage that are kept, see `excerpt`.
    """
    found = []
    for one in examples.examples:
        premise = excerpt(examples.store[one.gold[0]].whole, words=words, answers=one.answers)
        found.append(EntailedPair(premise, existence_claim(one.question).text, one.question))
    seen: dict[tuple[str, str], Any] = {}
    for pair in nli:
        if pair.label == "entailment" and pair.hypothesis.strip():
            seen.setdefault((fold(pair.premise), fold(pair.hypothesis)))
    return (*found, *(EntailedPair(premise, said, said) for premise, said in seen))


def excerpt(text: str, *, words: int, answers: Sequence[str] = ()) -> str:
    """Return so many words of a text, the first answer among them where it stands there.

    >>> excerpt("a b c d e f", words=3, answers=["e"])
    'd e f'
    >>> excerpt("a b c d", words=3), excerpt("a b", words=0)
    ('a b c', 'a b')

    Args:
        text: A passage.
        words: How many are kept; 0 keeps all.
        answers: Texts; the first that is found, in any case, is put in the middle.
    """
    parts = text.split()
    if not words or len(parts) <= words:
        return text
    low = " ".join(parts).lower()
    places = (low.find(" ".join(answer.lower().split())) for answer in answers if answer.strip())
    place = next((at for at in places if at >= 0), 0)
    first = low[:place].count(" ")
    start = min(max(0, first - words // 2), len(parts) - words) if place else 0
    return " ".join(parts[start : start + words])
