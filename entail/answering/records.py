"""Questions with their passages, answers, and the base of readers and generators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from entail.answering.loading import LoadedModel
from entail.data.passages.files import Passage


@dataclass(frozen=True, slots=True)
class PassageQuestion:
    """A question with its passages, best first."""

    id: str
    question: str
    passages: tuple[Passage, ...]


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


class Answerer(ABC):
    """Base of models that answer questions from passages.

    Args:
        loaded: Model in memory.
        answer_tokens: Maximum number of tokens of an answer.
        batch_size: Inputs per forward pass.
    """

    block = 1
    """Questions that share batches."""

    def __init__(self, loaded: LoadedModel, *, answer_tokens: int, batch_size: int) -> None:
        self._loaded, self._answer_tokens, self._batch_size = loaded, answer_tokens, batch_size
        self.name, self.revision, self.kind = loaded.name, loaded.revision, loaded.kind

    def answer(self, questions: Sequence[PassageQuestion]) -> Iterator[Answer]:
        """Yield the answer to each question, in order; empty without a question or passages."""
        for start in range(0, len(questions), self.block):
            batch = questions[start : start + self.block]
            complete = [bool(question.question.strip() and question.passages) for question in batch]
            answers = self._answer(
                [question for question, is_whole in zip(batch, complete, strict=True) if is_whole]
            )
            for question, is_whole in zip(batch, complete, strict=True):
                yield next(answers) if is_whole else Answer.to(question)

    @abstractmethod
    def _answer(self, questions: Sequence[PassageQuestion]) -> Iterator[Answer]:
        """Yield the answers to questions that have text and passages, in order."""
