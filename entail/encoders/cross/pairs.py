"""Two texts as one row of token ids, as a cross-encoder reads them: the special tokens around a pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from entail.data.text import without_surrogates
from entail.errors import EncoderError

Ids = tuple[int, ...]
Pair = tuple[Ids, Ids]
"""Two texts, without the tokens around them; the second may be empty."""

Tokenize = Callable[[Sequence[str]], list[list[int]]]
"""Texts -> token ids, without special tokens, whole."""


@dataclass(frozen=True)
class Frame:
    """The special tokens around a pair: `head` first `middle` second `tail`.

    Attributes:
        head: Before the first text, such as `[CLS]`.
        middle: Between the two.
        tail: Behind the second.
        padding: What fills a batch up.
        typed: Whether the second text, `tail` with it, is told apart by another token type.
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
        whole = [without_surrogates(text) for text in texts]
        encodings = tokenizer.encode_batch(whole, add_special_tokens=False)
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


def cut_pairs(
    tokenize: Tokenize, frame: Frame, firsts: Sequence[str], seconds: Sequence[str], *, max_length: int
) -> tuple[list[Pair], int]:
    """Return pairs of texts as token ids that fit into a row, and how many had to be cut.

    The first text loses its end; the second only what is beyond half of a row.

    Args:
        tokenize: The cross-encoder's; every distinct text is tokenised once.
        frame: The tokens around a pair.
        firsts: The first text of each pair.
        seconds: The second.
        max_length: Tokens of a row.
    """
    texts = list(dict.fromkeys([*firsts, *seconds]))
    known = {text: tuple(ids) for text, ids in zip(texts, tokenize(texts), strict=True)}
    room = max(2, max_length - frame.size)
    found: list[Pair] = []
    cut = 0
    for first, second in zip(firsts, seconds, strict=True):
        a, b = known[first], known[second]
        if len(a) + len(b) > room:
            cut += 1
            b = b[: max(room - len(a), room // 2)]
            a = a[: room - len(b)]
        found.append((a, b))
    return found, cut
