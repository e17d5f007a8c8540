"""A question with the passages it is answered from, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from entail.data.passages.files import Passage
from entail.progress import ProgressCallback

Kind = Literal["reader", "causal", "seq2seq"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, with the passages that were found for it.

    Attributes:
        id: As the file has it.
        question: Its text.
        passages: The best first.
    """

    id: str
    question: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a model to a question.

    Attributes:
        id: Of the question.
        question: Its text.
        text: The answer, empty where there was nothing to answer from.
        score: Of a reader: the logits of begin and end added up, to be compared within one question alone.
        passage: Id of the passage that the answer was read in; None for what was generated.
        passages: Ids of those that were found, the best first.
        read: How many of them were read, at least in part.
        cut: Whether the question, or a passage, was too long to be read whole.
    """

    id: str
    question: str
    text: str
    score: float | None
    passage: str | None
    passages: tuple[str, ...]
    read: int
    cut: bool

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return {**asdict(self), "passages": list(self.passages)}

    @classmethod
    def read_json(cls, told: dict[str, Any]) -> Answer:
        """Take back what `to_json` returned.

        Raises:
            KeyError, TypeError: If it is something else.
        """
        return cls(**{**told, "passages": tuple(told["passages"])})


class Answerer(Protocol):
    """Protocol of models that answer questions from passages."""

    @property
    def name(self) -> str:
        """Display name."""
        ...

    @property
    def revision(self) -> str:
        """Revision of the weights."""
        ...

    @property
    def kind(self) -> Kind:
        """Whether it marks answers in passages, or writes them."""
        ...

    @property
    def settings(self) -> dict[str, str]:
        """Further settings that the answers depend on."""
        ...

    def answer(self, asked: Sequence[Asked], *, progress: ProgressCallback | None = None) -> Iterator[Answer]:
        """Yield an answer a question, in order."""
        ...


def unanswerable(one: Asked) -> Answer | None:
    """Return the empty answer to a question of nothing, or one for which nothing was found; else None."""
    if one.question.strip() and one.passages:
        return None
    ids = tuple(passage.id for passage in one.passages)
    return Answer(one.id, one.question, "", None, None, ids, 0, False)
