"""Inputs of a scorer as token ids: question, answer and chosen premises as a prefix, and a candidate.

::

    [CLS] question (answer) correct answer. (explanation) f_1. f_2. [SEP] candidate [SEP]

Questions and premises are tokenised once; a prefix is put together from their ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entail.encoders.cross.pairs import Frame, Ids, Pair, Tokenize


@dataclass(frozen=True)
class Prefix:
    """Token ids of a question with the premises chosen so far.

    `dropped` of the oldest premises no longer fit; -1 where the question itself was truncated.
    """

    ids: Ids
    dropped: int = 0


class Inputs:
    """Questions and premises as token ids, in rows of at most `max_length`.

    `candidates` are the premises, each truncated to half of a row. Every prefix leaves room for the longest;
    one that is too long loses its oldest premises.
    """

    def __init__(self, tokenize: Tokenize, frame: Frame, *, max_length: int, facts: Sequence[str]) -> None:
        self.frame, self.max_length = frame, max_length
        self._tokenize = tokenize
        half = max(1, (max_length - frame.size) // 2)
        self.candidates: list[Ids] = [tuple(ids[:half]) for ids in tokenize(facts)]
        self._chosen = self._sentences(facts)
        self._room = max_length - frame.size - max((len(ids) for ids in self.candidates), default=0)

    def questions(self, questions: Sequence[tuple[str, str]]) -> list[Ids]:
        """Return the ids of questions with their answers, up to and with `(explanation)`."""
        return [tuple(ids) for ids in self._tokenize([question_text(*pair) for pair in questions])]

    def prefix(self, question: Ids, chain: Sequence[int], *, accepted: Sequence[str] = ()) -> Prefix:
        """Return a prefix; where it is too long the oldest premises go, then the question's beginning.

        Accepted sentences, which need not be premises, come before the chain, in the order of choice.
        """
        sentences = [*self._sentences(accepted), *(self._chosen[fact] for fact in chain)]
        size = len(question) + sum(map(len, sentences))
        dropped = 0
        while sentences and size > self._room:
            size -= len(sentences.pop(0))
            dropped += 1
        if len(question) > self._room:
            # The end of a question asks, and holds the answer.
            question, dropped = question[len(question) - self._room :], -1
        return Prefix((*question, *(token for ids in sentences for token in ids)), dropped)

    def tokens(self, pair: Pair) -> int:
        """Return the number of tokens of a pair's row."""
        return len(pair[0]) + len(pair[1]) + self.frame.size

    def _sentences(self, texts: Sequence[str]) -> list[Ids]:
        sentences = [f" {as_sentence(text)}" for text in texts]
        return [tuple(ids) for ids in self._tokenize(sentences)] if sentences else []


def by_prefix(pairs: Sequence[Pair]) -> dict[Ids, list[int]]:
    """Return prefix -> positions of its pairs, in order.

    >>> by_prefix([((5,), (1,)), ((6,), (1,)), ((5,), (2,))])
    {(5,): [0, 2], (6,): [1]}
    """
    positions: dict[Ids, list[int]] = {}
    for at, (prefix, _) in enumerate(pairs):
        positions.setdefault(prefix, []).append(at)
    return positions


def question_text(stem: str, answer: str) -> str:
    """Return the beginning of a prefix; a statement to be explained has no answer.

    >>> question_text("What melts?", "ice"), question_text("Ice melts.", "")
    ('What melts? (answer) ice. (explanation)', 'Ice melts. (explanation)')
    """
    return f"{stem} (answer) {as_sentence(answer)} (explanation)" if answer else f"{stem} (explanation)"


def as_sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends in one.

    >>> as_sentence("ice is cold"), as_sentence("Ice is cold.")
    ('ice is cold.', 'Ice is cold.')
    """
    return text if text.endswith((".", "!", "?")) else f"{text}."
