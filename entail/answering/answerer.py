"""The reader or generator of a name, and the passages it answers from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from entail.answering.generator import TEMPLATE, Generator
from entail.answering.loading import Precision, load_model
from entail.answering.reader import Reader
from entail.data.passages.files import Passage
from entail.errors import SettingsError
from entail.evaluation.passages.retrieval import PassageSearch, search_passages
from entail.evaluation.passages.store import PassageStore
from entail.progress import ProgressCallback


def load_answerer(
    name: str | Path,
    *,
    answer_tokens: int | None = None,
    batch_size: int | None = None,
    template: str = TEMPLATE,
    max_length: int | None = None,
    device: str | None = None,
    precision: Precision = "fp32",
) -> Reader | Generator:
    """Bring what answers questions into memory: a reader or a generator, as its configuration says.

    Args:
        name: A folder, a name under `models/`, or a Hub id.
        answer_tokens: Tokens of an answer, at most; default: 30 of a reader, 64 of a generator.
        batch_size: Windows or prompts at once; default: 32 of a reader, 8 of a generator.
        template: The prompt of a generator.
        max_length: Tokens that are read; default: all that the model reads.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.
        precision: `fp32`, `bf16`, or `auto`: bf16 where it is the faster one.

    Raises:
        EncoderError: If it cannot be found or loaded safely, or has no head for either.
        SettingsError: If the device is not there, or an option makes no sense.
    """
    loaded = load_model(name, device=device, precision=precision, max_length=max_length)
    if loaded.kind == "reader":
        if template != TEMPLATE:
            raise SettingsError(
                f"{loaded.name} marks answers in passages and reads no prompt; leave the prompt out, or take "
                "a generator"
            )
        return Reader(loaded, answer_tokens=answer_tokens or 30, batch_size=batch_size or 32)
    return Generator(loaded, answer_tokens=answer_tokens or 64, batch_size=batch_size or 8, template=template)


@dataclass(frozen=True)
class Finder:
    """Brings the k best passages of questions.

    Attributes:
        store: The pool.
        search: Ready to search it.
        k: Passages a question.
    """

    store: PassageStore
    search: PassageSearch
    k: int

    def __call__(self, questions: Sequence[str]) -> Sequence[tuple[Passage, ...]]:
        """Return the passages of each question, the best first; fewer where no more were found."""
        rows = self.search(questions, self.k).tolist()
        return [tuple(self.store[at] for at in row if at >= 0) for row in rows]


def passages_of(
    store: PassageStore, *, encoder: str, k: int, progress: ProgressCallback | None = None
) -> Finder:
    """Make a pool ready to be searched for the k best passages of questions.

    Args:
        store: The pool.
        encoder: `bm25`, or what `entail.load` takes.
        k: Passages a question.
        progress: Told how far the pool's encoding is.
    """
    return Finder(store, search_passages(store, encoder, progress=progress), k)
