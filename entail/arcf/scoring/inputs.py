"""Inputs of a scorer as token ids: question, answer and chosen premises as a prefix, and a candidate.

::

    [CLS] question (answer) correct answer. (explanation) f_1. f_2. [SEP] candidate [SEP]

Questions and facts are tokenised once; a prefix is put together from their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from entail.encoders.cross.pairs import Frame, Ids, Pair, Tokenize


@dataclass(frozen=True)
class Prefix:
    """A question with the facts chosen so far.

    Attributes:
        ids: Its tokens.
        dropped: Facts, the oldest ones, that no longer fit; -1 where the question itself was cut.
    """

    ids: Ids
    dropped: int = 0


class Inputs:
    """Questions and facts as token ids.

    Args:
        tokenize: The scorer's.
        frame: Its special tokens.
        max_length: Largest number of tokens of a row. The candidate is kept; the prefix loses its oldest
            facts.
        facts: The facts' texts.

    Attributes:
        candidates: The facts as they are read, each at most half of a row.
        cut: Positions of those that are longer, whose ends are not read. Every prefix leaves room for the
            longest, so one of them leaves it half of a row.
    """

    def __init__(self, tokenize: Tokenize, frame: Frame, *, max_length: int, facts: Sequence[str]) -> None:
        self.frame, self.max_length = frame, max_length
        self._tokenize = tokenize
        half = max(1, (max_length - frame.size) // 2)
        whole = tokenize(facts)
        self.candidates: list[Ids] = [tuple(ids[:half]) for ids in whole]
        self.cut = frozenset(at for at, ids in enumerate(whole) if len(ids) > half)
        self._chosen = self._as_chosen(facts)
        self._reserved = max((len(ids) for ids in self.candidates), default=0)

    def questions(self, questions: Sequence[tuple[str, str]]) -> list[Ids]:
        """Return the ids of questions and their answers, up to and with `(explanation)`."""
        return [tuple(ids) for ids in self._tokenize([question_text(*pair) for pair in questions])]

    def prefix(
        self,
        question: Ids,
        chosen: Sequence[int],
        *,
        room_for: int | None = None,
        before: Sequence[str] = (),
    ) -> Prefix:
        """Put a prefix together; where it is too long the oldest facts go, then the question's begin.

        Args:
            question: As `questions` returned it.
            chosen: Positions of facts, in the order in which they were chosen.
            room_for: Tokens of the longest candidate it will stand before; default: of all facts.
            before: Sentences that stand before them; they need not be facts.
        """
        room = self.max_length - self.frame.size - (self._reserved if room_for is None else room_for)
        kept = [*self._as_chosen(before), *(self._chosen[fact] for fact in chosen)]
        taken = len(question) + sum(map(len, kept))
        dropped = 0
        while kept and taken > room:
            taken -= len(kept.pop(0))
            dropped += 1
        if len(question) > room:
            # The end of a question asks, and holds the answer.
            question, dropped = question[len(question) - room :], -1
        return Prefix((*question, *(token for ids in kept for token in ids)), dropped)

    def _as_chosen(self, sentences: Sequence[str]) -> list[Ids]:
        told = [f" {as_sentence(sentence)}" for sentence in sentences]
        return [tuple(ids) for ids in self._tokenize(told)] if told else []

    def tokens(self, pair: Pair) -> int:
        """Return how many tokens a pair's row has."""
        return len(pair[0]) + len(pair[1]) + self.frame.size


def most_dropped(dropped: Iterable[int]) -> int:
    """Return of several prefixes of one question what `Prefix.dropped` says of the one least read.

    >>> most_dropped([0, 2, 1]), most_dropped([0, -1]), most_dropped([])
    (2, -1, 0)
    """
    told = list(dropped)
    return -1 if any(count < 0 for count in told) else max(told, default=0)


def by_prefix(pairs: Sequence[Pair]) -> dict[Ids, list[int]]:
    """Return which pairs have the same prefix, in order.

    >>> by_prefix([((5,), (1,)), ((6,), (1,)), ((5,), (2,))])
    {(5,): [0, 2], (6,): [1]}
    """
    found: dict[Ids, list[int]] = {}
    for place, (prefix, _) in enumerate(pairs):
        found.setdefault(prefix, []).append(place)
    return found


def question_text(stem: str, answer: str) -> str:
    """Return a question with its answer, as a prefix begins; a statement to be explained has none.

    >>> question_text("What melts?", "ice"), question_text("Ice melts.", "")
    ('What melts? (answer) ice. (explanation)', 'Ice melts. (explanation)')
    """
    if not answer:
        return f"{stem} (explanation)"
    return f"{stem} (answer) {as_sentence(answer)} (explanation)"


def as_sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends in one.

    >>> as_sentence("ice is cold"), as_sentence("Ice is cold.")
    ('ice is cold.', 'Ice is cold.')
    """
    return text if text.endswith((".", "!", "?")) else f"{text}."
