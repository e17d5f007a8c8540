"""Pairs of texts as rows of token ids of a cross-encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from entail.data.text import without_surrogates
from entail.errors import EncoderError

Ids = tuple[int, ...]
Pair = tuple[Ids, Ids]
"""Two texts without special tokens; the second may be empty."""

Tokenize = Callable[[Sequence[str]], list[list[int]]]
"""Texts -> token ids, without special tokens, not truncated."""


class Tokenizer:
    """Tokenizer of texts, without special tokens, not truncated."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of texts."""
        return [encoding.ids for encoding in self.encode(texts)]

    def encode(self, texts: Sequence[str]) -> list[Any]:
        """Return encodings: `ids`, and `offsets`, first and last character + 1 of each token."""
        clean = [without_surrogates(text) for text in texts]
        encodings: list[Any] = self._tokenizer.encode_batch(clean, add_special_tokens=False)
        return encodings


@dataclass(frozen=True)
class Frame:
    """The special tokens around a pair: `head` first `middle` second `tail`.

    `typed` tells whether the second text and `tail` have another token type.
    """

    head: Ids
    middle: Ids
    tail: Ids
    padding: int
    typed: bool

    @property
    def size(self) -> int:
        """Number of special tokens."""
        return len(self.head) + len(self.middle) + len(self.tail)

    def row(self, pair: Pair) -> list[int]:
        """Return a pair as one row of ids."""
        return [*self.head, *pair[0], *self.middle, *pair[1], *self.tail]

    def first(self, pair: Pair) -> int:
        """Return the number of tokens of the first type in a pair's row."""
        return len(self.head) + len(pair[0]) + len(self.middle)


def read_tokenizer(content: str, *, name: str, padding: int | None = None) -> tuple[Tokenizer, Frame]:
    """Return a base's tokenizer and its frame of a pair.

    Raises:
        EncoderError: If it is no tokenizer, or cannot join two texts.
    """
    import tokenizers

    try:
        tokenizer: Any = tokenizers.Tokenizer.from_str(content)
    except Exception as error:  # the library raises plain Exception
        raise EncoderError(f"{name}: expected a tokenizer.json, found another file ({error})") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    both = tokenizer.encode("a", "b")
    first_ids, second_ids = (tokenizer.encode(text, add_special_tokens=False).ids for text in ("a", "b"))
    first = _find(both.ids, first_ids, 0)
    second = _find(both.ids, second_ids, first + len(first_ids))
    if not first_ids or not second_ids or second < first or first < 0:
        raise EncoderError(f"{name}: expected a tokenizer that has a pair template, found another")
    if padding is None:
        ids = [tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>")]
        padding = next((token for token in ids if token is not None), 0)
    frame = Frame(
        head=tuple(both.ids[:first]),
        middle=tuple(both.ids[first + len(first_ids) : second]),
        tail=tuple(both.ids[second + len(second_ids) :]),
        padding=padding,
        typed=len(set(both.type_ids)) > 1,
    )
    return Tokenizer(tokenizer), frame


def wrap_tokenizer(tokenizer: Any, *, name: str) -> tuple[Tokenizer, Frame]:
    """Return a fast tokenizer of transformers, as `read_tokenizer`."""
    content = tokenizer.backend_tokenizer.to_str()
    return read_tokenizer(content, name=name, padding=tokenizer.pad_token_id)


def _find(ids: list[int], part: list[int], start: int) -> int:
    """Return the first position of a part from `start` on, -1 if there is none."""
    starts = range(start, len(ids) - len(part) + 1)
    return next((at for at in starts if ids[at : at + len(part)] == part), -1)


def cut_pairs(
    tokenize: Tokenize, frame: Frame, firsts: Sequence[str], seconds: Sequence[str], *, max_length: int
) -> tuple[list[Pair], int]:
    """Return pairs of texts as token ids truncated to a row of `max_length`, and the number truncated.

    The first text loses its end, the second its tokens beyond half of a row.
    """
    texts = list(dict.fromkeys([*firsts, *seconds]))
    ids = {text: tuple(row) for text, row in zip(texts, tokenize(texts), strict=True)}
    room = max(2, max_length - frame.size)
    pairs: list[Pair] = []
    truncated = 0
    for first, second in zip(firsts, seconds, strict=True):
        a, b = ids[first], ids[second]
        if len(a) + len(b) > room:
            truncated += 1
            b = b[: max(room - len(a), room // 2)]
            a = a[: room - len(b)]
        pairs.append((a, b))
    return pairs, truncated
