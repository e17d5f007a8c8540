"""Explanatory power: how much a fact has explained before, in explanations of questions like the one asked.

A fact that stands in the explanations of similar questions is likely to stand in this one's (Valentino et
al. 2021, *Unification-based Reconstruction of Multi-hop Explanations for Science Questions*). Here in the
light of the facts chosen so far, too: explanations that hold them count for more,

    pw(f | q, f_1..N) = ln(1 + sum_k max(0, cos(q, q_k))^4 (1 + 3 |E_k and {f_1..N}|) [f in E_k]),

over questions q_k with explanations E_k, as unit vectors of an encoder. It is added to a scorer's score with
a learnt weight. A question that reads as the one asked is no evidence: else what is learnt from would
explain itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.data.text import premise_key
from entail.data.worldtree.questions import Question, gold_positions
from entail.data.worldtree.tables import FactTables
from entail.encoders.encoder import BiEncoder, load
from entail.encoders.weights import open_tensors
from entail.errors import EncoderError
from entail.index.protocol import Floats
from entail.statistics.ranking import Values

EXPLANATIONS = "explanations.safetensors"
"""The explanations in a scorer's folder: `vectors` (questions, d), and for each fact of one `question` and
`fact`, numbers, with the facts' `keys`. No text of a question is in it."""

SHARPNESS = 4
TOGETHER = 3.0
SAME = 0.998
"""From this cosine on two questions are the same one; vectors are kept in fp16."""

_KEPT = 16

NEARNESS = 0.4
"""Weight of a power beside tf-idf similarity in the neighbourhood of a question."""


@dataclass(frozen=True)
class Explanations:
    """Explained questions, as far as it has to be known of them.

    Attributes:
        encoder: Name of what made the vectors.
        vectors: Unit vectors of the questions, (questions, d), fp16.
        question: For each fact of an explanation, whose it is, (entries,).
        fact: Which it is, (entries,).
        keys: The facts' premise keys.
    """

    encoder: str
    vectors: NDArray[np.float16]
    question: NDArray[np.int64]
    fact: NDArray[np.int64]
    keys: tuple[str, ...]

    @classmethod
    def of(cls, questions: Sequence[Question], facts: FactTables, *, encoder: str) -> Explanations:
        """Take the explanations of questions; those without gold in the tables are left out.

        Raises:
            EncoderError: If there is no such encoder.
        """
        some = [(one, gold) for one in questions if (gold := gold_positions(one, facts))]
        entries = [(number, fact) for number, (_, gold) in enumerate(some) for fact in gold]
        used = sorted({fact for _, fact in entries})
        number_of = {fact: number for number, fact in enumerate(used)}
        return cls(
            encoder,
            load(encoder).encode_queries([one.text for one, _ in some]).astype(np.float16),
            np.array([number for number, _ in entries], dtype=np.int64),
            np.array([number_of[fact] for _, fact in entries], dtype=np.int64),
            tuple(premise_key(facts.texts[fact]) for fact in used),
        )

    @cached_property
    def loaded(self) -> BiEncoder:
        """The encoder, in memory from when it is first asked for."""
        return load(self.encoder)

    @cached_property
    def vector(self) -> Callable[[str], Floats]:
        """Cached encoder of questions; every step and every order of a list reuses the vector."""
        return lru_cache(_KEPT)(lambda text: self.loaded.encode_queries([text])[0])

    def save(self, folder: Path) -> None:
        """Write them into a scorer's folder."""
        from safetensors.numpy import save_file

        # An int64 cannot hold every key of 16 hexadecimal digits; two halves can.
        halves = [[int(key[:8], 16), int(key[8:], 16)] for key in self.keys]
        tensors: dict[str, NDArray[Any]] = {
            "vectors": self.vectors,
            "question": self.question.astype(np.int32),
            "fact": self.fact.astype(np.int32),
            "keys": np.array(halves, dtype=np.int64).reshape(-1, 2),
        }
        save_file(tensors, str(folder / EXPLANATIONS))

    @classmethod
    def read(cls, folder: Path, *, encoder: str) -> Explanations:
        """Take back what `save` wrote.

        Args:
            folder: The scorer's.
            encoder: What made the vectors.

        Raises:
            EncoderError: If they are not there, or damaged.
        """
        import torch

        file, name = folder / EXPLANATIONS, folder.name
        with open_tensors(file, name=name, device="cpu", dtype=torch.float16) as tensors:
            vectors = tensors.get("vectors", None, None).numpy()
        with open_tensors(file, name=name, device="cpu", dtype=torch.int64) as tensors:
            question, fact = (tensors.get(part, None).numpy() for part in ("question", "fact"))
            halves = tensors.get("keys", None, 2).numpy()
        if (
            len(question) != len(fact)
            or (len(fact) and (question.min() < 0 or question.max() >= len(vectors)))
            or (len(fact) and (fact.min() < 0 or fact.max() >= len(halves)))
        ):
            raise EncoderError(
                f"{name}: expected explanations of {len(vectors)} questions by {len(halves)} facts in "
                f"{file.name}, found others; get it anew"
            )
        keys = tuple(f"{first:08x}{second:08x}" for first, second in halves.tolist())
        return cls(encoder, vectors, question, fact, keys)


@dataclass(frozen=True)
class Power:
    """The power of facts behind one question.

    Attributes:
        explanations: What was explained before.
        numbers: Of each fact, which of theirs it is; -1: none.
        near: How near each of their questions is, max(0, cos)^4.
        given: Which of theirs were accepted before any was chosen.
    """

    explanations: Explanations
    numbers: NDArray[np.int64]
    near: Values
    given: tuple[int, ...]

    def __call__(self, chosen: Sequence[int], candidates: Sequence[int]) -> Floats:
        """Return the power of candidates behind chosen facts, shape (candidates,)."""
        return self._powers(chosen, self.numbers[list(candidates)]).astype(np.float32)

    @property
    def nearness(self) -> Floats:
        """Bonus on each premise's similarity to the question, for what is visible, shape (facts,)."""
        return (NEARNESS * self._powers((), self.numbers)).astype(np.float32)

    def _powers(self, chosen: Sequence[int], own: NDArray[np.int64]) -> Values:
        known = self.explanations
        held = [*self.given, *(n for n in self.numbers[list(chosen)].tolist() if n >= 0)]
        weights = self.near
        if held:
            shared = np.bincount(known.question[np.isin(known.fact, held)], minlength=len(self.near))
            weights = weights * (1 + TOGETHER * shared)
        sums = np.bincount(known.fact, weights=weights[known.question], minlength=len(known.keys))
        powers: Values = np.log1p(np.where(own >= 0, np.append(sums, 0.0)[own], 0.0))
        return powers


class ExplanatoryPower:
    """The power of the facts of tables, or of a corpus.

    Args:
        explanations: What was explained before.
        facts: The facts.
    """

    def __init__(self, explanations: Explanations, facts: FactTables) -> None:
        self._explanations = explanations
        self._number = {key: at for at, key in enumerate(explanations.keys)}
        numbers = [self._number.get(premise_key(text), -1) for text in facts.texts]
        self._numbers = np.array(numbers, dtype=np.int64)

    def behind(self, text: str, before: Sequence[str] = ()) -> Power:
        """Return the power of facts behind a question, and behind sentences of its explanation.

        Raises:
            EncoderError: If the encoder cannot be loaded, or is another than the vectors came from.
        """
        return self._evidence(self._explanations.vector(text), before)

    def behind_each(self, texts: Sequence[str]) -> list[Power]:
        """Return the same for many questions, in the time of few."""
        return [self._evidence(vector, ()) for vector in self._explanations.loaded.encode_queries(texts)]

    def _evidence(self, vector: Floats, before: Sequence[str]) -> Power:
        known = self._explanations
        if known.vectors.shape[1] != len(vector):
            raise EncoderError(
                f"expected vectors of {len(vector)} numbers, as {known.encoder} makes them, beside the "
                f"scorer's explanations, found {known.vectors.shape[1]}; get the scorer anew"
            )
        cosines = known.vectors.astype(np.float32) @ vector.astype(np.float16).astype(np.float32)
        near = np.where(cosines < SAME, np.maximum(cosines, 0.0) ** SHARPNESS, 0.0)  # (questions,)
        given = [self._number[key] for text in before if (key := premise_key(text)) in self._number]
        return Power(known, self._numbers, near, tuple(given))
