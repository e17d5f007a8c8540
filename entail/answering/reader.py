"""Answers marked in passages by an extractive reader: the best span of all windows of all passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.answering.loading import LoadedModel
from entail.answering.records import Answer, Asked, Kind, unanswerable
from entail.errors import EncoderError
from entail.progress import Meter, ProgressCallback

Floats = NDArray[np.float32]

OVERLAP = 128
"""Tokens that two windows of a long passage share, at most: no answer is torn by their border."""

QUESTIONS = 16
"""Questions whose windows are put into batches together."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span of tokens; the score is that of its begin and its end, added up."""

    first: int
    last: int
    score: float


def best_span(begins: Floats, ends: Floats, *, max_length: int) -> Span | None:
    """Return the span with the greatest sum of begin and end logits; None where there is no token.

    >>> best_span(np.array([0, 5, 1.0]), np.array([4, 0, 2.0]), max_length=3)
    Span(first=1, last=2, score=7.0)

    Args:
        begins: Logits of each token of a passage to be the first of the answer, shape (tokens,).
        ends: To be the last.
        max_length: Tokens of an answer, at most.
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


class Reader:
    """Reads every passage with the question, in windows, and marks the best span of all of them.

    Args:
        loaded: A model with a question answering head.
        answer_tokens: Tokens of an answer, at most.
        batch_size: Windows a forward pass.

    Raises:
        EncoderError: If its tokenizer does not say where tokens stand in a text.
    """

    kind: Kind = "reader"

    def __init__(self, loaded: LoadedModel, *, answer_tokens: int = 30, batch_size: int = 32) -> None:
        if not loaded.tokenizer.is_fast:
            raise EncoderError(
                f"{loaded.name}: expected a fast tokenizer, which says where tokens stand in a text, found a "
                "slow one; take a model with tokenizer.json"
            )
        self._loaded, self._answer_tokens, self._batch_size = loaded, answer_tokens, batch_size
        self.name, self.revision = loaded.name, loaded.revision

    @property
    def settings(self) -> dict[str, str]:
        """Further settings that the answers depend on."""
        told = {"answer_tokens": self._answer_tokens, "longest": self._loaded.max_length}
        return {**{name: str(value) for name, value in told.items()}, "precision": self._loaded.precision}

    def answer(self, asked: Sequence[Asked], *, progress: ProgressCallback | None = None) -> Iterator[Answer]:
        """Yield an answer a question, in order; no passage is cut, a question of half of what is read is."""
        meter = Meter(len(asked), f"answering by {self.name}", unit="questions", report=progress)
        for at in range(0, len(asked), QUESTIONS):
            some = asked[at : at + QUESTIONS]
            yield from self._block(some)
            meter.add(len(some))

    def _block(self, asked: Sequence[Asked]) -> Iterator[Answer]:
        windows: list[_Window] = []
        cut = []
        for number, one in enumerate(asked):
            question, was_cut = self._question(one.question)
            cut.append(was_cut)
            if unanswerable(one) is None:
                windows.extend(self._windows(number, question, one))
        best: dict[int, tuple[Span, _Window]] = {}
        for window, span in zip(windows, self._spans(windows), strict=True):
            before = best.get(window.question)
            if span is not None and (before is None or span.score > before[0].score):
                best[window.question] = (span, window)
        for number, one in enumerate(asked):
            if number not in best:
                empty = unanswerable(one)
                ids = tuple(passage.id for passage in one.passages)
                yield empty or Answer(one.id, one.question, "", None, None, ids, 0, cut[number])
                continue
            span, window = best[number]
            passage = one.passages[window.passage]
            begin, end = window.offsets[span.first][0], window.offsets[span.last][1]
            yield Answer(
                id=one.id,
                question=one.question,
                text=passage.whole[begin:end].strip(),
                score=span.score,
                passage=passage.id,
                passages=tuple(known.id for known in one.passages),
                read=len(one.passages),
                cut=cut[number],
            )

    def _question(self, text: str) -> tuple[str, bool]:
        """Return a question that takes at most half of what is read, and whether it was cut."""
        told = self._loaded.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        offsets, most = told["offset_mapping"], self._loaded.max_length // 2
        return (text[: offsets[most - 1][1]], True) if len(offsets) > most else (text, False)

    def _windows(self, number: int, question: str, one: Asked) -> Iterator[_Window]:
        loaded, tokenizer = self._loaded, self._loaded.tokenizer
        taken = len(tokenizer(question, add_special_tokens=False)["input_ids"])
        room = loaded.max_length - taken - tokenizer.num_special_tokens_to_add(pair=True)
        told = tokenizer(
            [question] * len(one.passages),
            [passage.whole for passage in one.passages],
            truncation="only_second",
            max_length=loaded.max_length,
            stride=max(0, min(OVERLAP, room // 2)),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        names = [name for name in tokenizer.model_input_names if name in told]
        for at, passage in enumerate(told["overflow_to_sample_mapping"]):
            parts = told.sequence_ids(at)
            inside = [token for token, part in enumerate(parts) if part == 1]
            if inside:
                yield _Window(
                    number,
                    passage,
                    {name: told[name][at] for name in names},
                    inside[0],
                    tuple(told["offset_mapping"][at][token] for token in inside),
                )

    def _spans(self, windows: Sequence[_Window]) -> list[Span | None]:
        import torch

        found: list[Span | None] = [None] * len(windows)
        order = np.argsort([len(window.features["input_ids"]) for window in windows], kind="stable")
        for at in range(0, len(order), self._batch_size):
            some = order[at : at + self._batch_size].tolist()
            padded = self._loaded.tokenizer.pad(
                [windows[i].features for i in some], padding=True, return_tensors="pt"
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
            for row, i in enumerate(some):
                window = windows[i]
                shift = begins.shape[1] - len(window.features["input_ids"]) if left else 0
                inside = slice(shift + window.first, shift + window.first + len(window.offsets))
                found[i] = best_span(begins[row, inside], ends[row, inside], max_length=self._answer_tokens)
        return found
