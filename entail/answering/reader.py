"""Extractive reader: the best span of all windows of all passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge

from entail.answering.answerer import Answer, Answerer, LoadedModel, PassageQuestion
from entail.answering.spans import MAX_ANSWER, SpanModel, TextSpan, find_spans
from entail.encoders.cross.encoder import CrossEncoder, list_cross, load_cross, open_cross
from entail.encoders.cross.pairs import wrap_tokenizer
from entail.encoders.device import device_name
from entail.encoders.weights import read_form
from entail.errors import EncoderError

METHOD = "reader"
"""Name of the method in `entail.json`."""

SHIPPED = "reader-minilm"
"""Packaged reader, the default."""


@dataclass(frozen=True, kw_only=True)
class ReaderForm:
    """Settings of a reader that was trained here: most tokens of a question and a window of a passage."""

    max_length: Annotated[int, Ge(16)] = 256

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `entail.json`."""
        return asdict(self)


class Reader(Answerer):
    """Extractive reader: reads every passage with the question, in windows, and marks the best span.

    No passage is truncated; a question is, at half of the maximum length. A `relative` score compares between
    passages, see `find_spans`.
    """

    block = 16

    def __init__(
        self, name: str, revision: str, model: SpanModel, *, relative: bool, answer_tokens: int = MAX_ANSWER
    ) -> None:
        super().__init__(name, revision, "reader")
        self._model, self._relative, self._answer_tokens = model, relative, answer_tokens

    def read(self, questions: Sequence[tuple[str, Sequence[str]]]) -> list[list[TextSpan | None]]:
        """Return the best span of each passage of each question, None of a passage without a token."""
        spans: list[list[TextSpan | None]] = []
        for start in range(0, len(questions), self.block):
            batch = questions[start : start + self.block]
            spans += find_spans(
                self._model, batch, answer_tokens=self._answer_tokens, relative=self._relative
            )
        return spans

    def _answer(self, questions: Sequence[PassageQuestion]) -> Iterator[Answer]:
        inputs = [(question.question, [p.whole for p in question.passages]) for question in questions]
        half = self._model.max_length // 2
        lengths = [len(ids) for ids in self._model.tokenize([question for question, _ in inputs])]
        for question, spans, length in zip(questions, self.read(inputs), lengths, strict=True):
            by_passage = {at: span for at, span in enumerate(spans) if span is not None}
            if not by_passage:
                yield Answer.to(question, cut=length > half)
                continue
            at, span = max(by_passage.items(), key=lambda item: item[1].score)
            yield Answer.to(
                question,
                span.text,
                score=span.score,
                passage=question.passages[at].id,
                read=len(question.passages),
                cut=length > half,
            )


def list_readers() -> list[str]:
    """Return the names of the readers under `models/`, the packaged one first, without loading any."""
    return [folder.name for folder, _ in list_cross(METHOD, first=SHIPPED)]


def load_reader(model: str | Path = SHIPPED, *, device: str | None = None, **options: int) -> Reader:
    """Load a reader by `entail train reader`, with options of `Reader`, without transformers.

    Raises:
        UnknownEncoderError: If there is no such folder.
        EncoderError: If it is no reader, or cannot be loaded safely.
        SettingsError: If the device is not available.
    """
    parts, card = open_cross(model, METHOD, first=SHIPPED)
    form = read_form(ReaderForm, card.reader, name=parts.name, entry=METHOD)
    cross = load_cross(
        parts, max_length=form.max_length, device=device_name(device), outputs=2, every_token=True
    )
    return Reader(parts.name, parts.revision, cross, relative=True, **options)


def reader_of(loaded: LoadedModel, **options: int) -> Reader:
    """Return a reader of transformers, with options of `Reader`.

    Raises:
        EncoderError: If its tokenizer gives no offsets.
    """
    import torch

    if not loaded.tokenizer.is_fast:
        raise EncoderError(
            f"{loaded.name}: expected a fast tokenizer, which says where tokens stand in a text, found a "
            "slow one; take a model with tokenizer.json"
        )
    tokenize, frame = wrap_tokenizer(loaded.tokenizer, name=loaded.name)

    def forward(ids: Any, mask: Any, second: Any) -> torch.Tensor:
        inputs: Mapping[str, Any] = {"input_ids": ids, "attention_mask": mask.astype("int64")}
        if "token_type_ids" in loaded.tokenizer.model_input_names:
            inputs = {**inputs, "token_type_ids": second.astype("int64") if frame.typed else 0 * ids}
        tensors = {name: torch.from_numpy(value).to(loaded.device) for name, value in inputs.items()}
        out = loaded.model(**tensors)
        return torch.stack([out.start_logits, out.end_logits], dim=-1).float()

    identity = torch.eye(2, device=loaded.device), torch.zeros(2, device=loaded.device)
    cross = CrossEncoder(forward, identity, tokenize=tokenize, frame=frame, max_length=loaded.max_length)
    return Reader(loaded.name, loaded.revision, cross, relative=False, **options)
