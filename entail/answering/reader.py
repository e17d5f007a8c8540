"""Extractive reader: the best span of all windows of all passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.answering.loading import LoadedModel
from entail.answering.records import Answer, Answerer, PassageQuestion
from entail.errors import EncoderError

Floats = NDArray[np.float32]

OVERLAP = 128
"""Maximum overlap of two windows of a long passage, in tokens."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span of tokens; its score is the sum of the logits of begin and end."""

    first: int
    last: int
    score: float


def best_span(begins: Floats, ends: Floats, *, max_length: int) -> Span | None:
    """Return the span of at most `max_length` tokens with the greatest score; None without a token.

    >>> best_span(np.array([0, 5, 1.0]), np.array([4, 0, 2.0]), max_length=3)
    Span(first=1, last=2, score=7.0)

    Args:
        begins: Logits of the first token of the answer, shape (tokens,).
        ends: Logits of the last token, same shape.
        max_length: Maximum number of tokens.
    """
    if not len(begins):
        return None
    sums = begins[:, None].astype(np.float64) + ends[None, :]  # (first, last)
    allowed = np.tril(np.triu(np.ones(sums.shape, dtype=bool)), max_length - 1)
    sums[~allowed] = -np.inf
    first, last = np.unravel_index(int(sums.argmax()), sums.shape)
    return Span(int(first), int(last), float(sums[first, last]))


@dataclass(frozen=True, slots=True)
class _Window:
    """Tokens of a question and of a part of a passage."""

    question: int
    passage: int
    features: dict[str, list[int]]
    first: int
    offsets: tuple[tuple[int, int], ...]


class Reader(Answerer):
    """Extractive reader: reads every passage with the question, in windows, and marks the best span.

    No passage is truncated; a question is, at half of the maximum length. The arguments are those of
    `Answerer`.

    Raises:
        EncoderError: If its tokenizer gives no offsets.
    """

    block = 16

    def __init__(self, loaded: LoadedModel, *, answer_tokens: int = 30, batch_size: int = 32) -> None:
        super().__init__(loaded, answer_tokens=answer_tokens, batch_size=batch_size)
        if not loaded.tokenizer.is_fast:
            raise EncoderError(
                f"{loaded.name}: expected a fast tokenizer, which says where tokens stand in a text, found a "
                "slow one; take a model with tokenizer.json"
            )

    def _answer(self, questions: Sequence[PassageQuestion]) -> Iterator[Answer]:
        texts = [self._question(question.question) for question in questions]
        windows = [
            window
            for number, (question, (text, _)) in enumerate(zip(questions, texts, strict=True))
            for window in self._windows(number, text, question)
        ]
        best: dict[int, tuple[Span, _Window]] = {}
        for window, span in zip(windows, self._spans(windows), strict=True):
            before = best.get(window.question)
            if span is not None and (before is None or span.score > before[0].score):
                best[window.question] = (span, window)
        for number, (question, (_, cut)) in enumerate(zip(questions, texts, strict=True)):
            if number not in best:
                yield Answer.to(question, cut=cut)
                continue
            span, window = best[number]
            passage = question.passages[window.passage]
            begin, end = window.offsets[span.first][0], window.offsets[span.last][1]
            yield Answer.to(
                question,
                passage.whole[begin:end].strip(),
                score=span.score,
                passage=passage.id,
                read=len(question.passages),
                cut=cut,
            )

    def _question(self, text: str) -> tuple[str, bool]:
        """Return a question of at most half of the maximum length, and whether it was truncated."""
        encoded = self._loaded.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        offsets, most = encoded["offset_mapping"], self._loaded.max_length // 2
        return (text[: offsets[most - 1][1]], True) if len(offsets) > most else (text, False)

    def _windows(self, number: int, text: str, question: PassageQuestion) -> Iterator[_Window]:
        loaded, tokenizer = self._loaded, self._loaded.tokenizer
        length = len(tokenizer(text, add_special_tokens=False)["input_ids"])
        room = loaded.max_length - length - tokenizer.num_special_tokens_to_add(pair=True)
        encoded = tokenizer(
            [text] * len(question.passages),
            [passage.whole for passage in question.passages],
            truncation="only_second",
            max_length=loaded.max_length,
            stride=max(0, min(OVERLAP, room // 2)),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        names = [name for name in tokenizer.model_input_names if name in encoded]
        for at, passage in enumerate(encoded["overflow_to_sample_mapping"]):
            parts = encoded.sequence_ids(at)
            inside = [token for token, part in enumerate(parts) if part == 1]
            if inside:
                yield _Window(
                    number,
                    passage,
                    {name: encoded[name][at] for name in names},
                    inside[0],
                    tuple(encoded["offset_mapping"][at][token] for token in inside),
                )

    def _spans(self, windows: Sequence[_Window]) -> list[Span | None]:
        import torch

        spans: list[Span | None] = [None] * len(windows)
        order = np.argsort([len(window.features["input_ids"]) for window in windows], kind="stable")
        for at in range(0, len(order), self._batch_size):
            batch = order[at : at + self._batch_size].tolist()
            padded = self._loaded.tokenizer.pad(
                [windows[i].features for i in batch], padding=True, return_tensors="pt"
            ).to(self._loaded.device)
            with torch.inference_mode():
                out: Any = self._loaded.model(**padded)
            if getattr(out, "start_logits", None) is None:
                raise EncoderError(
                    f"{self.name}: expected a model that gives begin and end of an answer, found one that "
                    "gives something else; take another"
                )
            begins, ends = (
                logits.float().cpu().numpy() for logits in (out.start_logits, out.end_logits)
            )  # each (windows, tokens)
            left = self._loaded.tokenizer.padding_side == "left"
            for row, i in enumerate(batch):
                window = windows[i]
                shift = begins.shape[1] - len(window.features["input_ids"]) if left else 0
                inside = slice(shift + window.first, shift + window.first + len(window.offsets))
                spans[i] = best_span(begins[row, inside], ends[row, inside], max_length=self._answer_tokens)
        return spans
