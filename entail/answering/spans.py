"""Best spans of passages by the logits of a span head, over windows of long passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from entail.encoders.cross.pairs import Frame, Ids, Pair, Tokenizer
from entail.index.protocol import Floats

OVERLAP = 128
"""Maximum overlap of two windows of a long passage, in tokens."""

MAX_ANSWER = 30
"""Maximum tokens of an answer."""


class SpanModel(Protocol):
    """Cross-encoder with two outputs a token, the logits of the first and the last token of the answer."""

    tokenize: Tokenizer
    frame: Frame
    max_length: int

    def values(self, pairs: Sequence[Pair]) -> Floats:
        """Return the outputs of pairs, shape (pairs, tokens, 2)."""


class Window(NamedTuple):
    """A question with a part of a passage, as token ids; `start` is the part's first token in the passage."""

    pair: Pair
    passage: int
    start: int


class Span(NamedTuple):
    """A span of tokens; its score is the sum of the logits of begin and end."""

    score: float
    first: int
    last: int


class TextSpan(NamedTuple):
    """Best span of a passage: its text, first character and score."""

    text: str
    start: int
    score: float


def split_windows(
    question: Sequence[int], passages: Sequence[Sequence[int]], frame: Frame, *, max_length: int
) -> list[Window]:
    """Return the windows of passages of one question, all as token ids; the question takes at most half."""
    short: Ids = tuple(question[: max_length // 2])
    room = max_length - frame.size - len(short)
    overlap = min(OVERLAP, room // 2)
    return [
        Window((short, tuple(ids[start : start + room])), number, start)
        for number, ids in enumerate(passages)
        for start in range(0, max(1, len(ids) - overlap), room - overlap)
    ]


def best_span(begins: NDArray[Any], ends: NDArray[Any], *, max_length: int) -> Span:
    """Return the span of at most `max_length` tokens with the greatest score, by the logits of both ends.

    >>> best_span(np.array([0, 5, 1.0]), np.array([4, 0, 2.0]), max_length=3)
    Span(score=7.0, first=1, last=2)
    """
    sums = begins[:, None].astype(np.float64) + ends[None, :]  # (first, last)
    sums[~np.tril(np.triu(np.ones(sums.shape, dtype=bool)), max_length - 1)] = -np.inf
    first, last = np.unravel_index(int(sums.argmax()), sums.shape)
    return Span(float(sums[first, last]), int(first), int(last))


def find_spans(
    model: SpanModel,
    questions: Sequence[tuple[str, Sequence[str]]],
    *,
    answer_tokens: int = MAX_ANSWER,
    relative: bool = True,
) -> list[list[TextSpan | None]]:
    """Return the best span of each passage of each question, None where a passage has no token.

    A `relative` score is the log-odds against the first token of the row, which stands for no answer: so
    passages compare.
    """
    question_ids = model.tokenize([question for question, _ in questions])
    texts = list(dict.fromkeys(text for _, passages in questions for text in passages))
    encodings = dict(zip(texts, model.tokenize.encode(texts), strict=True))
    windows = [
        (at, window)
        for at, (ids, (_, passages)) in enumerate(zip(question_ids, questions, strict=True))
        for window in split_windows(
            ids, [encodings[text].ids for text in passages], model.frame, max_length=model.max_length
        )
    ]
    best: list[list[TextSpan | None]] = [[None] * len(passages) for _, passages in questions]
    for (at, window), logits in zip(
        windows, model.values([window.pair for _, window in windows]), strict=True
    ):
        first, length = model.frame.first(window.pair), len(window.pair[1])
        if not length:
            continue
        part = logits[first : first + length]
        span = best_span(part[:, 0], part[:, 1], max_length=answer_tokens)
        score = span.score - (float(logits[0].sum()) if relative else 0.0)
        former, text = best[at][window.passage], questions[at][1][window.passage]
        if former is None or score > former.score:
            offsets = encodings[text].offsets[window.start :]
            begin, end = offsets[span.first][0], offsets[span.last][1]
            best[at][window.passage] = TextSpan(text[begin:end].strip(), begin, score)
    return best
