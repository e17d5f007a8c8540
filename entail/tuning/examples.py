"""Training examples of both stages: questions with their passages, and entailed pairs.

Passages stay on disk (`PassageStore`); an `Example` has their positions.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from entail.claims import existence_claim
from entail.data.nli.pairs import NliPair
from entail.data.passages.files import Question
from entail.data.text import fold, premise_key
from entail.errors import EvaluationError
from entail.evaluation.passages.retrieval import PassageWords, answer_tokens, has_answer
from entail.evaluation.passages.store import PassageStore
from entail.progress import ProgressCallback


@dataclass(frozen=True, slots=True)
class Example:
    """Question with positions of its passages.

    Training uses the first of the gold ones. Negatives are hard ones, the hardest first.
    """

    question: str
    answers: tuple[str, ...]
    gold: tuple[int, ...]
    negatives: tuple[int, ...] = ()


@dataclass(frozen=True)
class Examples:
    """Questions with a gold passage in a pool; `without_gold` others were left out."""

    store: PassageStore
    examples: tuple[Example, ...]
    without_gold: int = 0

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def digest(self) -> str:
        """Identity of questions and passages, 12 hexadecimal digits."""
        digest = hashlib.sha256(self.store.digest(0, len(self.store)).encode())
        for example in self.examples:
            row = [example.question, example.answers, example.gold, example.negatives]
            digest.update(json.dumps(row).encode() + b"\n")
        return digest.hexdigest()[:12]

    def to_json(self) -> dict[str, int]:
        """Return the counts."""
        return {
            "questions": len(self),
            "questions_without_gold": self.without_gold,
            "passages": len(self.store),
            "hard_negatives": sum(len(example.negatives) for example in self.examples),
        }


@dataclass(frozen=True, slots=True)
class EntailedPair:
    """Passage and the claim of its question, or an NLI pair."""

    premise: str
    hypothesis: str


def examples_of(store: PassageStore, questions: Iterable[Question]) -> Examples:
    """Look up the gold passages, and the hard negatives that come with the questions, in a pool."""
    questions = list(questions)
    positions = store.positions(
        name for question in questions for name in (*question.gold, *question.hard_negatives)
    )
    examples = []
    for question in questions:
        if gold := tuple(positions[name] for name in question.gold if name in positions):
            candidates = (positions[name] for name in question.hard_negatives if name in positions)
            negatives = tuple(dict.fromkeys(at for at in candidates if at not in gold))
            examples.append(Example(question.text, question.answers, gold, negatives))
    return Examples(store, tuple(examples), len(questions) - len(examples))


def with_missing_negatives(
    examples: Examples, *, depth: int, progress: ProgressCallback | None = None
) -> Examples:
    """Add hard negatives found by BM25, as DPR does, to the questions without any.

    A passage that contains an answer, or has the text of a gold passage or of the question, is no negative.
    BM25 ranks `depth` passages for each question. Where every question has negatives, or `depth` is 0,
    nothing is searched, and the pool may be of any size.

    Raises:
        EvaluationError: If questions have none, and the pool is too large for BM25 in memory.
    """
    store = examples.store
    lacking = [example.question for example in examples.examples if not example.negatives]
    if not lacking or not depth:
        return examples
    try:
        hits = iter(PassageWords(store).search(lacking, k=depth, progress=progress).tolist())
    except EvaluationError as error:
        raise EvaluationError(
            f"{len(lacking):,} of {len(examples):,} questions have no hard negative in the pool, and BM25 "
            f"cannot find any: {error}; depth 0 does without"
        ) from error

    def mined(example: Example) -> Example:
        answers = [tokens for text in example.answers if (tokens := answer_tokens(text))]
        texts = {premise_key(example.question), *(premise_key(store[at].text) for at in example.gold)}
        negatives = tuple(
            at
            for at in next(hits)
            if at >= 0
            and at not in example.gold
            and premise_key(text := store[at].text) not in texts
            and not has_answer(answer_tokens(text), answers)
        )
        return replace(example, negatives=negatives)

    complete = tuple(example if example.negatives else mined(example) for example in examples.examples)
    return replace(examples, examples=complete)


def entailed_pairs(
    examples: Examples, nli: Iterable[NliPair] = (), *, words: int = 0
) -> tuple[EntailedPair, ...]:
    """Return the claim of each question with its gold passage, then the entailments of NLI pairs.

    Passages are cut to `words` words, see `excerpt`. NLI pairs of another label are left out.
    """
    pairs = []
    for example in examples.examples:
        premise = excerpt(examples.store[example.gold[0]].whole, words=words, answers=example.answers)
        pairs.append(EntailedPair(premise, existence_claim(example.question).text))
    texts = dict.fromkeys(
        (fold(pair.premise), fold(pair.hypothesis))
        for pair in nli
        if pair.label == "entailment" and pair.hypothesis.strip()
    )
    return (*pairs, *(EntailedPair(*pair) for pair in texts))


def excerpt(text: str, *, words: int, answers: Sequence[str] = (), share: float = 0.0) -> str:
    """Return at most `words` words of a text (0: all) around its first answer, else around a place.

    >>> excerpt("a b c d e f", words=3, answers=["e"])
    'd e f'
    >>> excerpt("a b c d e f", words=3, share=0.5)
    'c d e'
    >>> excerpt("a b c d", words=3), excerpt("a b", words=0)
    ('a b c', 'a b')

    The first answer that is found, in any case, is centred; without one, the word that has this share of the
    words before it, see `answer_position`.
    """
    parts = text.split()
    if not words or len(parts) <= words:
        return text
    position = answer_word(text, answers)
    centre = int(share * len(parts)) if position is None else position
    start = min(max(0, centre - words // 2), len(parts) - words) if centre else 0
    return " ".join(parts[start : start + words])


def answer_word(text: str, answers: Sequence[str]) -> int | None:
    """Return the number of words before the first answer that is in a text, None without one.

    >>> answer_word("the north wind says no", ["No"]), answer_word("in the 1990s", ["1990"])
    (4, 2)
    """
    low = " ".join(text.lower().split())
    for answer in answers:
        words = re.escape(" ".join(answer.lower().split()))
        if words and (match := re.search(rf"(?<!\w){words}(?!\w)", low) or re.search(words, low)):
            return low[: match.start()].count(" ")
    return None


def answer_position(text: str, answers: Sequence[str]) -> float:
    """Return the share of a text's words before its first answer; 0 without one.

    Hard negatives are cut at the place of the answer in the gold passage. If they were cut from their start,
    a passage that begins in the middle of a sentence would betray itself as gold.

    >>> answer_position("a b c d", ["c"]), answer_position("a b c d", ["x"])
    (0.5, 0.0)
    """
    position = answer_word(text, answers)
    return position / len(text.split()) if position else 0.0
