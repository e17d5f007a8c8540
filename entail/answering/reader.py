"""Extractive reader: the best span of all windows of all passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from entail.answering.answerer import Answer, Answerer, LoadedModel, PassageQuestion
from entail.errors import EncoderError

OVERLAP = 128
"""Maximum overlap of two windows of a long passage, in tokens."""


class Span(NamedTuple):
    """A span of tokens; its score is the sum of the logits of begin and end."""

    score: float
    first: int
    last: int


def best_span(begins: NDArray[Any], ends: NDArray[Any], *, max_length: int) -> Span:
    """Return the span of at most `max_length` tokens with the greatest score, by the logits of both ends.

    >>> best_span(np.array([0, 5, 1.0]), np.array([4, 0, 2.0]), max_length=3)
    Span(score=7.0, first=1, last=2)
    """
    sums = begins[:, None].astype(np.float64) + ends[None, :]  # (first, last)
    sums[~np.tril(np.triu(np.ones(sums.shape, dtype=bool)), max_length - 1)] = -np.inf
    first, last = np.unravel_index(int(sums.argmax()), sums.shape)
    return Span(float(sums[first, last]), int(first), int(last))


class Reader(Answerer):
    """Extractive reader: reads every passage with the question, in windows, and marks the best span.

    No passage is truncated; a question is, at half of the maximum length.

    Raises:
        EncoderError: If its tokenizer gives no offsets.
    """

    def __init__(self, loaded: LoadedModel, *, answer_tokens: int = 30, batch_size: int = 32) -> None:
        super().__init__(loaded, answer_tokens=answer_tokens, batch_size=batch_size)
        if not loaded.tokenizer.is_fast:
            raise EncoderError(
                f"{loaded.name}: expected a fast tokenizer, which says where tokens stand in a text, found a "
                "slow one; take a model with tokenizer.json"
            )

    def _answer(self, questions: Sequence[PassageQuestion]) -> Iterator[Answer]:
        for question in questions:
            yield self._read(question)

    def _read(self, question: PassageQuestion) -> Answer:
        tokenizer, longest = self._loaded.tokenizer, self._loaded.max_length
        offsets = tokenizer(question.question, add_special_tokens=False, return_offsets_mapping=True)
        ends = [end for _, end in offsets["offset_mapping"]]
        cut = len(ends) > longest // 2
        text = question.question[: ends[longest // 2 - 1]] if cut else question.question
        room = longest - min(len(ends), longest // 2) - tokenizer.num_special_tokens_to_add(pair=True)
        windows = tokenizer(
            [text] * len(question.passages),
            [passage.whole for passage in question.passages],
            truncation="only_second",
            max_length=longest,
            stride=max(0, min(OVERLAP, room // 2)),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding=True,
            return_tensors="pt",
        )
        best: tuple[Span, int, int, int] | None = None  # span, passage, begin and end in its text
        for window, (begin_logits, end_logits) in enumerate(self._logits(windows)):
            inside = [at for at, part in enumerate(windows.sequence_ids(window)) if part == 1]
            if not inside:
                continue
            span = best_span(begin_logits[inside], end_logits[inside], max_length=self._answer_tokens)
            if best is None or span.score > best[0].score:
                marks = windows["offset_mapping"][window]
                begin, end = int(marks[inside[span.first]][0]), int(marks[inside[span.last]][1])
                best = span, int(windows["overflow_to_sample_mapping"][window]), begin, end
        if best is None:
            return Answer.to(question, cut=cut)
        span, number, begin, end = best
        passage, read = question.passages[number], len(question.passages)
        answer = passage.whole[begin:end].strip()
        return Answer.to(question, answer, score=span.score, passage=passage.id, read=read, cut=cut)

    def _logits(self, windows: Any) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:  # noqa: ANN401 - of transformers
        """Yield the logits of begin and end of the tokens of each window."""
        import torch

        names = [name for name in self._loaded.tokenizer.model_input_names if name in windows]
        for start in range(0, len(windows["input_ids"]), self._batch_size):
            rows = slice(start, start + self._batch_size)
            with torch.inference_mode():
                out = self._loaded.model(
                    **{name: windows[name][rows].to(self._loaded.device) for name in names}
                )
            yield from zip(
                out.start_logits.float().cpu().numpy(), out.end_logits.float().cpu().numpy(), strict=True
            )
