"""Priors of premises given a question, as terms of their scores: explanatory power and word similarity.

A premise that stands in the explanations of similar questions is likely to stand in this one's (Valentino et
al. 2021, *Unification-based Reconstruction of Multi-hop Explanations for Science Questions*). Here
explanations that share chosen premises count for more,

    pw(f | q, f_1..N) = ln(1 + sum_k max(0, cos(q, q_k))^4 (1 + 3 |E_k and {f_1..N}|) [f in E_k]),

over questions q_k with explanations E_k, as unit vectors of an encoder. Questions equal to q are left out:
training questions would otherwise explain themselves. The terms are added with learnt weights; no encoder
reads a premise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.arcf.scoring.terms import WordSimilarity
from entail.data.text import premise_key
from entail.data.worldtree.questions import Question, gold_positions
from entail.data.worldtree.tables import FactTables
from entail.encoders.encoder import BiEncoder, load
from entail.encoders.weights import open_tensors
from entail.errors import EncoderError
from entail.index.protocol import Floats
from entail.statistics.ranking import Values

EXPLANATIONS = "explanations.safetensors"
"""File of explanations in a scorer's folder: `vectors` (questions, d), for each premise of an explanation
`question` and `fact`, numbers, and the `keys` of the premises. It holds no text of a question."""

SHARPNESS = 4
SHARED_WEIGHT = 3.0
EQUAL_COSINE = 0.998
"""Cosine from which two questions are equal; vectors are stored in fp16."""

NEIGHBOUR_WEIGHT = 0.4
"""Weight of explanatory power beside tf-idf similarity in the neighbourhood of a question."""

_CACHED_QUESTIONS = 16


@dataclass(frozen=True)
class Explanations:
    """Explained questions as vectors, and the premises of their explanations.

    Attributes:
        encoder: Name of the encoder of the vectors.
        vectors: Unit vectors of the questions, (questions, d), fp16.
        question: Question of each entry of an explanation, (entries,).
        fact: Premise of each entry, (entries,).
        keys: Keys of the premises.
    """

    encoder: str
    vectors: NDArray[np.float16]
    question: NDArray[np.int64]
    fact: NDArray[np.int64]
    keys: tuple[str, ...]

    @classmethod
    def of(cls, questions: Sequence[Question], facts: FactTables, *, encoder: str) -> Explanations:
        """Collect the explanations of questions; those without gold in the tables are left out.

        Raises:
            EncoderError: If there is no such encoder.
        """
        explained = [(question, gold) for question in questions if (gold := gold_positions(question, facts))]
        entries = [(number, fact) for number, (_, gold) in enumerate(explained) for fact in gold]
        used = sorted({fact for _, fact in entries})
        number_of = {fact: number for number, fact in enumerate(used)}
        return cls(
            encoder,
            load(encoder).encode_queries([question.text for question, _ in explained]).astype(np.float16),
            np.array([number for number, _ in entries], dtype=np.int64),
            np.array([number_of[fact] for _, fact in entries], dtype=np.int64),
            tuple(premise_key(facts.texts[fact]) for fact in used),
        )

    @cached_property
    def loaded(self) -> BiEncoder:
        """Encoder of the questions, loaded on first use."""
        return load(self.encoder)

    @cached_property
    def vector(self) -> Callable[[str], Floats]:
        """Cached encoder of one question; every step of a chain reuses its vector."""
        return lru_cache(_CACHED_QUESTIONS)(lambda text: self.loaded.encode_queries([text])[0])

    def save(self, folder: Path) -> None:
        """Write the explanations into a scorer's folder."""
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
        """Read the explanations of a scorer's folder, with vectors of `encoder`.

        Raises:
            EncoderError: If they are missing or damaged.
        """
        import torch

        file, name = folder / EXPLANATIONS, folder.name
        with open_tensors(file, name=name, device="cpu", dtype=torch.float16) as tensors:
            vectors = tensors.get("vectors", None, None).numpy()
        with open_tensors(file, name=name, device="cpu", dtype=torch.int64) as tensors:
            question, fact = (tensors.get(part, None).numpy() for part in ("question", "fact"))
            halves = tensors.get("keys", None, 2).numpy()
        if len(question) != len(fact) or any(
            len(numbers) and not (numbers.min() >= 0 and numbers.max() < count)
            for numbers, count in ((question, len(vectors)), (fact, len(halves)))
        ):
            raise EncoderError(
                f"{name}: expected explanations of {len(vectors)} questions by {len(halves)} facts in "
                f"{file.name}, found others; get it anew"
            )
        keys = tuple(f"{first:08x}{second:08x}" for first, second in halves.tolist())
        return cls(encoder, vectors, question, fact, keys)


@dataclass(frozen=True)
class ExplanatoryPower:
    """Explanatory power of premises for one question.

    Attributes:
        explanations: Earlier explanations.
        numbers: Number of each premise in `explanations`; -1 for none.
        proximity: Proximity of each earlier question, max(0, cos)^4.
        accepted: Numbers of the premises accepted before any was chosen.
    """

    explanations: Explanations
    numbers: NDArray[np.int64]
    proximity: Values
    accepted: tuple[int, ...]

    def __call__(self, chain: Sequence[int], candidates: Sequence[int]) -> Floats:
        """Return the power of candidates given chosen premises, shape (candidates,)."""
        return self._powers(chain, self.numbers[list(candidates)]).astype(np.float32)

    def all(self) -> Values:
        """Return the power of every premise given none, shape (facts,)."""
        return self._powers((), self.numbers)

    def _powers(self, chain: Sequence[int], own: NDArray[np.int64]) -> Values:
        explanations = self.explanations
        premises = [*self.accepted, *(n for n in self.numbers[list(chain)].tolist() if n >= 0)]
        weights = self.proximity
        if premises:
            shared = np.bincount(
                explanations.question[np.isin(explanations.fact, premises)], minlength=len(weights)
            )
            weights = weights * (1 + SHARED_WEIGHT * shared)
        sums = np.bincount(
            explanations.fact, weights=weights[explanations.question], minlength=len(explanations.keys)
        )
        powers: Values = np.log1p(np.where(own >= 0, np.append(sums, 0.0)[own], 0.0))
        return powers


@dataclass(frozen=True)
class Weights:
    """Weights of the prior terms: explanatory power, and similarity of words."""

    power: float = 1.0
    similarity: float = 1.0


@dataclass(frozen=True)
class Evidence:
    """Priors of premises given one question.

    Attributes:
        power: Explanatory power; None where it is no term.
        similarity: Similarity of each premise to the question, (facts,); None where it is no term.
        weights: Weights of the terms.
    """

    power: ExplanatoryPower | None
    similarity: Floats | None
    weights: Weights

    def terms(self, chain: Sequence[int], candidates: Sequence[int]) -> Floats:
        """Return the unweighted terms of candidates given chosen premises, shape (candidates, terms)."""
        columns: list[Floats] = []
        if self.power is not None:
            columns.append(self.power(chain, candidates))
        if self.similarity is not None:
            columns.append(self.similarity[list(candidates)])
        terms: Floats = np.stack(columns, axis=1)
        return terms

    def __call__(self, chain: Sequence[int], candidates: Sequence[int]) -> Floats:
        """Return the sum of the weighted terms of candidates given chosen premises, shape (candidates,)."""
        weights = [self.weights.power] * (self.power is not None)
        weights += [self.weights.similarity] * (self.similarity is not None)
        total: Floats = self.terms(chain, candidates) @ np.array(weights, dtype=np.float32)
        return total

    @property
    def neighbour_bonus(self) -> Floats | None:
        """Bonus on the similarity of each premise to the question in its neighbourhood, shape (facts,)."""
        if self.power is None:
            return None
        return (NEIGHBOUR_WEIGHT * self.power.all()).astype(np.float32)


class PremisePriors:
    """Priors of the premises of tables, or of a corpus.

    Args:
        facts: The premises.
        explanations: Earlier explanations; None where explanatory power is no term.
        words: Weights of words; None where similarity is no term.
        weights: Weights of the terms.
    """

    def __init__(
        self,
        facts: FactTables,
        *,
        explanations: Explanations | None = None,
        words: WordSimilarity | None = None,
        weights: Weights | None = None,
    ) -> None:
        self._explanations = explanations
        self._similarity = words.to(facts.texts) if words is not None else None
        self.weights = weights or Weights()
        self._number = {key: at for at, key in enumerate(explanations.keys if explanations else ())}
        numbers = [self._number.get(premise_key(text), -1) for text in facts.texts] if explanations else []
        self._numbers = np.array(numbers, dtype=np.int64)

    def evidence(self, text: str, accepted: Sequence[str] = ()) -> Evidence:
        """Return the priors given a question and accepted sentences of its explanation.

        Raises:
            EncoderError: If the encoder cannot be loaded, or its vectors have another dimension.
        """
        vector = self._explanations.vector(text) if self._explanations is not None else None
        similarity = self._similarity([text])[0] if self._similarity is not None else None
        return Evidence(self._power(vector, accepted), similarity, self.weights)

    def evidence_of_each(self, texts: Sequence[str]) -> list[Evidence]:
        """Return the priors given each of many questions, encoded together."""
        none = [None] * len(texts)
        explanations = self._explanations
        vectors = explanations.loaded.encode_queries(texts) if explanations is not None else none
        rows = self._similarity(texts) if self._similarity is not None else none
        return [
            Evidence(self._power(vector, ()), row, self.weights)
            for vector, row in zip(vectors, rows, strict=True)
        ]

    def _power(self, vector: Floats | None, accepted: Sequence[str]) -> ExplanatoryPower | None:
        explanations = self._explanations
        if explanations is None or vector is None:
            return None
        if explanations.vectors.shape[1] != len(vector):
            raise EncoderError(
                f"expected vectors of {len(vector)} numbers, as {explanations.encoder} makes them, beside "
                f"the scorer's explanations, found {explanations.vectors.shape[1]}; get the scorer anew"
            )
        cosines = explanations.vectors.astype(np.float32) @ vector.astype(np.float16).astype(np.float32)
        proximity = np.where(cosines < EQUAL_COSINE, np.maximum(cosines, 0.0) ** SHARPNESS, 0.0)
        premises = [self._number[key] for text in accepted if (key := premise_key(text)) in self._number]
        return ExplanatoryPower(explanations, self._numbers, proximity, tuple(premises))
