"""What a scorer reads: question, answer and chosen facts as a prefix, and a candidate, as token ids.

::

    [CLS] question (answer) correct answer. (explanation) f_1. f_2. [SEP] candidate [SEP]

Questions and facts are tokenised once; a prefix is put together from their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from entail.errors import EncoderError

Ids = tuple[int, ...]
Pair = tuple[Ids, Ids]
"""A prefix and a candidate, without the tokens around them; an empty candidate is the bare prefix."""

Tokenize = Callable[[Sequence[str]], list[list[int]]]
"""Texts -> token ids, without special tokens, whole."""


@dataclass(frozen=True)
class Frame:
    """The special tokens around a pair: `head` prefix `middle` candidate `tail`.

    Attributes:
        head: Before the prefix, such as `[CLS]`.
        middle: Between the two.
        tail: Behind the candidate.
        padding: What fills a batch up.
        typed: Whether the second part, `tail` with it, is told apart by another token type.
    """

    head: Ids
    middle: Ids
    tail: Ids
    padding: int
    typed: bool

    @property
    def size(self) -> int:
        """Tokens that it adds."""
        return len(self.head) + len(self.middle) + len(self.tail)

    def row(self, pair: Pair) -> list[int]:
        """Return a pair as one row of ids."""
        return [*self.head, *pair[0], *self.middle, *pair[1], *self.tail]

    def first(self, pair: Pair) -> int:
        """Return how many tokens of its row are of the first type."""
        return len(self.head) + len(pair[0]) + len(self.middle)


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
        longest: Tokens of a row at most; the candidate is kept, of the prefix the oldest facts are dropped.
        facts: The facts' texts.
    """

    def __init__(self, tokenize: Tokenize, frame: Frame, *, longest: int, facts: Sequence[str]) -> None:
        self.frame, self.longest = frame, longest
        self._tokenize = tokenize
        half = max(1, (longest - frame.size) // 2)
        self.candidates: list[Ids] = [tuple(ids[:half]) for ids in tokenize(facts)]
        self._chosen: list[Ids] = [
            tuple(ids) for ids in tokenize([f" {as_sentence(fact)}" for fact in facts])
        ]
        self._reserved = max((len(ids) for ids in self.candidates), default=0)

    def questions(self, questions: Sequence[tuple[str, str]]) -> list[Ids]:
        """Return the ids of questions and their answers, up to and with `(explanation)`."""
        return [tuple(ids) for ids in self._tokenize([question_text(*pair) for pair in questions])]

    def prefix(self, question: Ids, chosen: Sequence[int], *, room_for: int | None = None) -> Prefix:
        """Put a prefix together; where it is too long the oldest facts go, then the question's begin.

        Args:
            question: As `questions` returned it.
            chosen: Positions of facts, in the order in which they were chosen.
            room_for: Tokens of the longest candidate it will stand before; default: of all facts.
        """
        room = self.longest - self.frame.size - (self._reserved if room_for is None else room_for)
        kept = list(chosen)
        taken = len(question) + sum(len(self._chosen[fact]) for fact in kept)
        dropped = 0
        while kept and taken > room:
            taken -= len(self._chosen[kept.pop(0)])
            dropped += 1
        if len(question) > room:
            # The end of a question asks, and holds the answer.
            question, dropped = question[len(question) - room :], -1
        return Prefix((*question, *(token for fact in kept for token in self._chosen[fact])), dropped)

    def tokens(self, pair: Pair) -> int:
        """Return how many tokens a pair's row has."""
        return len(pair[0]) + len(pair[1]) + self.frame.size


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
    """Return a question with its answer, as a prefix begins.

    >>> question_text("What melts?", "ice")
    'What melts? (answer) ice. (explanation)'
    """
    return f"{stem} (answer) {as_sentence(answer)} (explanation)"


def as_sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends in one.

    >>> as_sentence("ice is cold"), as_sentence("Ice is cold.")
    ('ice is cold.', 'Ice is cold.')
    """
    return text if text.endswith((".", "!", "?")) else f"{text}."


def read_tokenizer(told: str, *, name: str, padding: int | None = None) -> tuple[Tokenize, Frame]:
    """Return what a base's tokenizer does, and how it sets a pair.

    Args:
        told: The content of `tokenizer.json`.
        name: What messages call the base.
        padding: Id of its padding token; default: the one of `[PAD]` or `<pad>`.

    Raises:
        EncoderError: If it is none, or does not set two texts beside each other.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer: Any = Tokenizer.from_str(told)
    except Exception as error:  # the library raises plain Exception
        raise EncoderError(f"{name}: expected a tokenizer.json, found another file ({error})") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    found = tokenizer.encode("a", "b")
    alone = [tokenizer.encode(text, add_special_tokens=False).ids for text in ("a", "b")]
    at = _places(found.ids, alone)
    if at is None:
        raise EncoderError(
            f"{name}: expected a tokenizer that sets two texts beside each other, found another"
        )
    first, second = at
    ids = [tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>")]
    known = padding if padding is not None else next((one for one in ids if one is not None), 0)
    frame = Frame(
        head=tuple(found.ids[:first]),
        middle=tuple(found.ids[first + len(alone[0]) : second]),
        tail=tuple(found.ids[second + len(alone[1]) :]),
        padding=known,
        typed=len(set(found.type_ids)) > 1,
    )

    def tokenize(texts: Sequence[str]) -> list[list[int]]:
        encodings = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    return tokenize, frame


def _places(ids: Sequence[int], parts: Sequence[Sequence[int]]) -> tuple[int, int] | None:
    found, at = [], 0
    for part in parts:
        if not part:
            return None
        while at + len(part) <= len(ids) and list(ids[at : at + len(part)]) != list(part):
            at += 1
        if at + len(part) > len(ids):
            return None
        found.append(at)
        at += len(part)
    return found[0], found[1]
