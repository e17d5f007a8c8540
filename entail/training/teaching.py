r"""What teachers make of sentences that nobody judged.

.. math:: t(x) = \sum_i E_i(x) / |\sum_i E_i(x)|

The teachers E_i are several trainings; their mean ranks better than each, but costs an encoding each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from entail.data.text import fold
from entail.encoders.biencoder import BiEncoder
from entail.encoders.catalogue import EncoderEntry
from entail.errors import TrainingError
from entail.index.protocol import Floats
from entail.progress import ProgressCallback

if TYPE_CHECKING:
    import torch

    Distance = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    """Vectors that learn, shape (some, d), and which sentences they are of -> how far from what is taught."""

_AT_ONCE = 256
_LEFT_OUT = 0.2  # share of words


@dataclass(frozen=True)
class Teaching:
    """Sentences, and what the teachers make of them.

    Attributes:
        sentences: Folded, each once.
        vectors: Unit vectors, shape (sentences, d).
        teachers: Their names.
    """

    sentences: tuple[str, ...]
    vectors: Floats
    teachers: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Identity of sentences and vectors."""
        found = hashlib.sha256("\n".join(self.sentences).encode())
        found.update(np.ascontiguousarray(self.vectors).tobytes())
        return found.hexdigest()[:12]

    def without(self, texts: Container[str]) -> Teaching:
        """Return the teaching without some sentences, such as the queries that will be measured on."""
        kept = [i for i, sentence in enumerate(self.sentences) if sentence not in texts]
        return Teaching(tuple(self.sentences[i] for i in kept), self.vectors[kept], self.teachers)

    def distance(self, premises: torch.Tensor) -> Distance:
        """Return what compares vectors of some sentences with the teachers': 1 - cosine, the mean over them.

        Args:
            premises: Unit vectors of the corpus, shape (premises, d), where the comparing is to be done.
        """
        import torch

        targets = torch.from_numpy(self.vectors).to(premises.device)

        def of(learning: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
            return 1 - (learning * targets[which]).sum(dim=1).mean()

        return of

    def apart(self, premises: Floats, *, weight: float, temperature: float = 0.05) -> Teaching:
        r"""Return the teaching a step away from where premises crowd around its vectors.

        .. math:: t' \propto t - w \sum_p \mathrm{softmax}_p(\cos(t, p) / \tau) \, p

        The step goes down the gradient of the density of premises: of two premises alike it favours the one
        that fewer others resemble. It is what a hard negative does, for sentences that have none.

        Args:
            premises: Unit vectors of the corpus, shape (premises, d).
            weight: w.
            temperature: tau.
        """
        moved = np.empty_like(self.vectors)
        for start in range(0, len(moved), _AT_ONCE):
            t = self.vectors[start : start + _AT_ONCE]
            shares = np.exp((t @ premises.T - 1) / temperature)
            t = t - weight * (shares @ premises) / shares.sum(axis=1, keepdims=True)
            moved[start : start + _AT_ONCE] = t / np.linalg.norm(t, axis=1, keepdims=True).clip(1e-12)
        return Teaching(self.sentences, moved, self.teachers)


def near(sentences: Sequence[str], *, count: int, seed: int) -> tuple[str, ...]:
    """Return sentences near given ones: with words left out, or gone over into another of them.

    A tower that learns sentences by heart is held to its teachers right beside them by these: what it knows
    of one stays with that one.

    >>> near(["ice is cold"], count=2, seed=1)
    ('ice is', 'ice is ice')

    Args:
        sentences: What is learnt by heart.
        count: Tries a sentence; what repeats another is left out.
        seed: Of every choice.
    """
    rng = np.random.default_rng(seed)
    words = [fold(sentence).split() for sentence in sentences]
    made: dict[str, None] = {}
    for _ in range(count):
        for own in words:
            if rng.random() < 0.5:
                some = [word for word in own if rng.random() > _LEFT_OUT]
            else:
                other = words[rng.integers(len(words))]
                begun = max(2, int(len(own) * rng.uniform(0.3, 0.9)))
                gone_over = slice(int(len(other) * rng.uniform(0.1, 0.7)))
                some = own[:begun] + other[gone_over]
            made[" ".join(some)] = None
    known = {"", *(" ".join(own) for own in words)}
    return tuple(text for text in made if text not in known)


def teach(
    teachers: Sequence[str | Path | EncoderEntry],
    sentences: Sequence[str],
    *,
    device: str | None = None,
    progress: ProgressCallback | None = None,
) -> Teaching:
    """Ask teachers, as query towers, what they make of sentences.

    Args:
        teachers: Encoders of one base.
        sentences: As they come; they are folded, doubles go.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.
        progress: Told how far it is.

    Raises:
        TrainingError: If there is no teacher or no sentence, or the teachers' vectors differ in length.
        EncoderError: If a teacher cannot be loaded.
    """
    told = tuple(dict.fromkeys(map(fold, sentences)))
    if not teachers or not told:
        raise TrainingError(
            f"expected teachers and sentences to learn from them, found {len(teachers)} and {len(told)}"
        )
    encoders = [BiEncoder(teacher, device=device) for teacher in teachers]
    dimensions = {encoder.name: encoder.dimension for encoder in encoders}
    if len(set(dimensions.values())) > 1:
        raise TrainingError(f"expected teachers whose vectors are of one length, found {dimensions}")
    total = np.zeros((len(told), encoders[0].dimension), dtype=np.float32)
    for encoder in encoders:
        total += encoder.encode_queries(told, progress=progress)
    vectors: Floats = total / np.linalg.norm(total, axis=1, keepdims=True).clip(1e-12)
    return Teaching(told, vectors, tuple(encoder.name for encoder in encoders))
