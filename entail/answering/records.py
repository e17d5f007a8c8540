"""Questions with their passages, answers, and the base of readers and generators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from entail.answering.loading import LoadedModel
from entail.data.passages.files import Passage
from entail.progress import Meter, ProgressCallback


@dataclass(frozen=True, slots=True)
class PassageQuestion:
    """A question with its passages, best first."""

    id: str
    question: str
    passages: tuple[Passage, ...]

    @property
    def is_answerable(self) -> bool:
        """Whether there are a question and a passage."""
        return bool(self.question.strip() and self.passages)


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a model to a question.

    Attributes:
        id: Id of the question.
        question: Text of the question.
        text: Text of the answer, empty where there was nothing to answer from.
        score: Of a reader: sum of the logits of begin and end; comparable within one question only.
        passage: Id of the passage of the answer; None for generated answers.
        passages: Ids of all passages, best first.
        read: Number of passages read, at least in part.
        cut: Whether the question or a passage was truncated.
    """

    id: str
    question: str
    text: str
    score: float | None
    passage: str | None
    passages: tuple[str, ...]
    read: int
    cut: bool

    @classmethod
    def to(
        cls,
        question: PassageQuestion,
        text: str = "",
        *,
        score: float | None = None,
        passage: str | None = None,
        read: int = 0,
        cut: bool = False,
    ) -> Answer:
        """Return the answer to a question; by default the empty one."""
        ids = tuple(candidate.id for candidate in question.passages)
        return cls(question.id, question.question, text, score, passage, ids, read, cut)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {**asdict(self), "passages": list(self.passages)}


class Answerer(ABC):
    """Base of models that answer questions from passages.

    Args:
        loaded: Model in memory.
        answer_tokens: Maximum number of tokens of an answer.
        batch_size: Inputs per forward pass.
    """

    kind: Literal["reader", "causal", "seq2seq"]
    block: int
    """Questions that share batches."""

    def __init__(self, loaded: LoadedModel, *, answer_tokens: int, batch_size: int) -> None:
        self._loaded, self._answer_tokens, self._batch_size = loaded, answer_tokens, batch_size
        self.name, self.revision, self.kind = loaded.name, loaded.revision, loaded.kind

    @property
    def settings(self) -> dict[str, str]:
        """Further settings that the answers depend on."""
        return {
            "answer_tokens": str(self._answer_tokens),
            "longest": str(self._loaded.max_length),
            "precision": "fp32",
        }

    def answer(
        self, questions: Sequence[PassageQuestion], *, progress: ProgressCallback | None = None
    ) -> Iterator[Answer]:
        """Yield the answer to each question, in order; empty without a question or passages."""
        meter = Meter(len(questions), f"answering by {self.name}", unit="questions", report=progress)
        for at in range(0, len(questions), self.block):
            batch = questions[at : at + self.block]
            answers = self._answer([question for question in batch if question.is_answerable])
            for question in batch:
                yield next(answers) if question.is_answerable else Answer.to(question)
            meter.add(len(batch))

    @abstractmethod
    def _answer(self, questions: Sequence[PassageQuestion]) -> Iterator[Answer]:
        """Yield the answers to answerable questions, in order."""
