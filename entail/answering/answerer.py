"""Readers and generators of transformers: loaded by name or Hub id, asked questions with passages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from entail.data.passages.files import Passage
from entail.encoders.catalogue import fetch, resolve
from entail.encoders.device import device_name
from entail.encoders.stock import silent
from entail.encoders.weights import read_object
from entail.errors import EncoderError, UnknownEncoderError

Kind = Literal["reader", "causal", "seq2seq"]

_KINDS: dict[str, tuple[Kind, str]] = {
    "ForQuestionAnswering": ("reader", "AutoModelForQuestionAnswering"),
    "ForConditionalGeneration": ("seq2seq", "AutoModelForSeq2SeqLM"),
    "ForCausalLM": ("causal", "AutoModelForCausalLM"),
    "LMHeadModel": ("causal", "AutoModelForCausalLM"),
}
"""End of an architecture's name -> its kind, and the class that loads it."""

_EXAMPLES = "such as deepset/minilm-uncased-squad2 or google/flan-t5-small"

_DEFAULT_LENGTH, _NO_LIMIT = 2048, 1_000_000
"""Maximum tokens of a model that gives none; a number far above the second means no limit, too."""


@dataclass(frozen=True)
class LoadedModel:
    """A model of transformers in memory, with its tokenizer and maximum number of tokens."""

    name: str
    revision: str
    kind: Kind
    model: Any
    tokenizer: Any
    max_length: int
    device: str


def load_model(name: str | Path, *, device: str | None = None) -> LoadedModel:
    """Load a reader or generator by folder, name under `models/` or Hub id: safetensors only, no own code.

    Raises:
        EncoderError: If it cannot be found or loaded safely, or lacks the head.
        SettingsError: If the device is not available.
    """
    import torch
    import transformers

    try:
        entry = fetch(resolve(name))
    except UnknownEncoderError as error:
        raise UnknownEncoderError(
            f"no model is called {str(name)!r}; train a reader (entail train reader), or give a folder or a "
            f"Hub id: {_EXAMPLES}"
        ) from error
    if entry.path is None or entry.base is not None:
        raise EncoderError(
            f"{entry.name}: expected a whole model of transformers, found an adapter; give its merged weights"
        )
    architectures = [str(name) for name in read_object(entry.path / "config.json").get("architectures") or ()]
    kinds = (kind for name in architectures for end, kind in _KINDS.items() if name.endswith(end))
    kind, loader = next(kinds, (None, ""))
    if kind is None:
        raise EncoderError(
            f"{entry.name}: expected a model that answers questions (…ForQuestionAnswering) or writes text "
            "(…ForCausalLM, …ForConditionalGeneration), found "
            f"{', '.join(architectures) or 'no architecture in config.json'}; take another: {_EXAMPLES}"
        )
    torch_device = device_name(device)
    safe: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    weights = {"use_safetensors": True, "dtype": torch.float32, "output_loading_info": True}
    auto: Any = getattr(transformers, loader)
    try:
        with silent():
            tokenizer: Any = transformers.AutoTokenizer.from_pretrained(str(entry.path), **safe)
            model, info = auto.from_pretrained(str(entry.path), **safe, **weights)
    except Exception as error:  # a foreign folder may raise anything
        raise EncoderError(f"{entry.name}: cannot be loaded by transformers: {error}") from error
    # Transformers would draw missing weights at random and only warn.
    if missing := sorted(map(str, info.get("missing_keys") or ())):
        raise EncoderError(
            f"{entry.name}: expected all weights of the model that its config.json names, found "
            f"{len(missing)} missing, such as {missing[0]}: it was saved without its head; take another"
        )
    sizes = [getattr(model.config, name, None) for name in ("max_position_embeddings", "n_positions")]
    limits = (size for size in (*sizes, tokenizer.model_max_length) if size and size < _NO_LIMIT)
    max_length = min(limits, default=_DEFAULT_LENGTH)
    model = model.to(torch_device).eval()
    return LoadedModel(entry.name, str(entry.revision), kind, model, tokenizer, max_length, torch_device)


@dataclass(frozen=True, slots=True)
class PassageQuestion:
    """A question with its passages, best first."""

    id: str
    question: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a model to a question by id; its text is empty where there was nothing to answer from.

    A reader gives a score, the sum of the logits of begin and end, comparable within one question only, and
    the id of the passage. `read` passages, of all best first, were read, at least in part; `cut` tells that
    the question or a passage was truncated.
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
    """Base of models that answer questions from passages."""

    block = 1
    """Questions that share batches."""

    def __init__(self, name: str, revision: str, kind: Kind) -> None:
        self.name, self.revision, self.kind = name, revision, kind

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
