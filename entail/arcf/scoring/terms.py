"""Terms of a score that need no transformer: shared word pieces, explanatory power, word similarity.

A scorer adds them to what its transformer returns, with learnt weights. A premise that stands in the
explanations of similar questions is likely to stand in this one's (Valentino et al. 2021, *Unification-based
Reconstruction of Multi-hop Explanations for Science Questions*). Here explanations that share chosen premises
count for more,

    pw(f | q, f_1..N) = ln(1 + sum_k max(0, cos(q, q_k))^4 (1 + 3 |E_k and {f_1..N}|) [f in E_k]),

over questions q_k with explanations E_k, as unit vectors of an encoder. Questions equal to q are left out:
training questions would otherwise explain themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from entail.arcf.scoring.inputs import Inputs
from entail.data.text import premise_key
from entail.data.worldtree.questions import Question, gold_positions
from entail.data.worldtree.tables import FactTables
from entail.encoders.cross.pairs import Ids
from entail.encoders.encoder import BiEncoder, load
from entail.encoders.weights import open_tensors
from entail.errors import EncoderError
from entail.index.lexical import stemmed_words
from entail.index.protocol import Floats
from entail.statistics.ranking import Values

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SHARED_PIECES, POWER, SIMILARITY = "log_shared_pieces", "log_power", "log_similarity"
"""Tensors of the head: logarithms of the weights of the terms, so that a step changes them by a share."""

IDF = "idf.safetensors"
"""Weights of word pieces in a scorer's folder: `idf`, (pieces,)."""

WORDS = "words.safetensors"
"""Weights of stems in a scorer's folder: `idf`, (buckets,), fp16."""

EXPLANATIONS = "explanations.safetensors"
"""File of explanations in a scorer's folder: `vectors` (questions, d), for each premise of an explanation
`question` and `fact`, numbers, and the `keys` of the premises. It holds no text of a question."""

BUCKETS = 1 << 15
SHARPNESS = 4
SHARED_WEIGHT = 3.0
EQUAL_COSINE = 0.998
"""Cosine from which two questions are equal; vectors are stored in fp16."""

NEIGHBOUR_WEIGHT = 0.4
"""Weight of explanatory power relative to tf-idf similarity in the neighbourhood of a question."""


class SharedPieces:
    r"""Overlap o of two texts as sets of token ids a and b, with weights idf_t; tokens beyond weigh nothing.

    .. math:: o = \sum_{t \in a \cap b} idf_t^2 / \sqrt{\sum_{t \in a} idf_t^2 \sum_{t \in b} idf_t^2}

    >>> pieces = SharedPieces.of([(1, 2), (2, 3)])
    >>> pieces((1, 2), [(1, 2), (3,), ()]).round(3).tolist()
    [1.0, 0.0, 0.0]
    """

    def __init__(self, idf: Floats) -> None:
        self.idf = np.asarray(idf, dtype=np.float32)
        self._squares: list[float] = (self.idf.astype(np.float64) ** 2).tolist()

    @classmethod
    def of(cls, facts: Sequence[Ids]) -> SharedPieces:
        """Weigh tokens by their rarity in premises, idf_t = ln((1 + facts) / (1 + facts with t))."""
        counts = np.zeros(1 + max((max(ids, default=0) for ids in facts), default=0), dtype=np.int64)
        for ids in facts:
            counts[list(set(ids))] += 1
        idf = np.log((1 + len(facts)) / (1 + counts))
        return cls(np.where(counts > 0, idf, 0.0).astype(np.float32))

    def __call__(self, prefix: Ids, candidates: Sequence[Ids]) -> Floats:
        """Return o of a prefix and each candidate, shape (candidates,)."""
        own = self._weighted(prefix)
        length = self._sum(own)
        overlap = np.zeros(len(candidates), dtype=np.float32)
        for at, candidate in enumerate(candidates):
            other = self._weighted(candidate)
            if shared := self._sum(own & other):
                overlap[at] = shared / np.sqrt(length * self._sum(other))
        return overlap

    def _weighted(self, ids: Ids) -> frozenset[int]:
        return frozenset(token for token in ids if token < len(self._squares))

    def _sum(self, tokens: Collection[int]) -> float:
        return sum(self._squares[token] for token in tokens)


class WordSimilarity:
    """Cosine of the TF-IDF vectors of texts over hashed stems, by the weight of each bucket of stems.

    >>> words = WordSimilarity.of(["ice is cold", "fire is hot"])
    >>> words.to(["cold ice", "a hot fire"])(["how cold is ice"]).round(3).tolist()
    [[1.0, 0.0]]
    """

    def __init__(self, idf: Floats) -> None:
        self.idf = np.asarray(idf, dtype=np.float32)

    @classmethod
    def of(cls, facts: Sequence[str]) -> WordSimilarity:
        """Weigh stems by their rarity in premises."""
        from sklearn.feature_extraction.text import TfidfTransformer

        idf = TfidfTransformer().fit(_counts(facts)).idf_
        # Rounded as in the file, so that training and use are the same.
        return cls(idf.astype(np.float16).astype(np.float32))

    def to(self, facts: Sequence[str]) -> Callable[[Sequence[str]], Floats]:
        """Return the function texts -> similarity to each premise, shape (texts, facts)."""
        own = self._vectors(facts).T.tocsr()

        def similarity(texts: Sequence[str]) -> Floats:
            values: Floats = (self._vectors(texts) @ own).toarray().astype(np.float32)
            return values

        return similarity

    def _vectors(self, texts: Sequence[str]) -> csr_matrix:
        """Return sparse unit vectors of texts, (texts, buckets); zeros for a text without stems."""
        from scipy.sparse import csr_matrix
        from sklearn.preprocessing import normalize

        return csr_matrix(normalize(_counts(texts).multiply(self.idf)), dtype=np.float32)


def _counts(texts: Sequence[str]) -> csr_matrix:
    """Return the counts of stems by bucket, (texts, buckets)."""
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import HashingVectorizer

    hashed = HashingVectorizer(analyzer=stemmed_words, n_features=BUCKETS, alternate_sign=False, norm=None)
    return csr_matrix(hashed.transform(texts))


@dataclass(frozen=True)
class Explanations:
    """Explained questions as unit vectors of an encoder, (questions, d), fp16, and their explanations.

    Entries of explanations are `question` and `fact`, numbers, (entries,); `keys` are those of the premises.
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
    def number_of(self) -> dict[str, int]:
        """Key of a premise -> its number."""
        return {key: number for number, key in enumerate(self.keys)}

    @cached_property
    def _loaded(self) -> BiEncoder:
        return load(self.encoder)

    def proximities(self, texts: Sequence[str]) -> list[Values]:
        """Return for each question the proximity max(0, cos)^4 of the explained ones, 0 of those equal to it.

        Raises:
            EncoderError: If the encoder cannot be loaded, or its vectors have another dimension.
        """
        vectors = self._loaded.encode_queries(texts)
        if vectors.shape[1] != self.vectors.shape[1]:
            raise EncoderError(
                f"expected explanations with vectors of {vectors.shape[1]} numbers, as {self.encoder} makes "
                f"them, found {self.vectors.shape[1]}; download the scorer again"
            )
        own = self.vectors.astype(np.float32)
        cosines = (own @ vector.astype(np.float16).astype(np.float32) for vector in vectors)
        return [np.where(c < EQUAL_COSINE, np.maximum(c, 0.0) ** SHARPNESS, 0.0) for c in cosines]

    def power(self, proximity: Values, premises: Sequence[int], own: NDArray[np.int64]) -> Values:
        """Return the explanatory power of premises by their `own` numbers (-1: in no explanation), (own,).

        It is given the proximity of each explained question, and the numbers of the chosen premises.
        """
        weights = proximity
        if premises:
            shared = np.bincount(self.question[np.isin(self.fact, premises)], minlength=len(weights))
            weights = weights * (1 + SHARED_WEIGHT * shared)
        sums = np.bincount(self.fact, weights=weights[self.question], minlength=len(self.keys))
        powers: Values = np.log1p(np.where(own >= 0, np.append(sums, 0.0)[own], 0.0))
        return powers

    def save(self, folder: Path) -> None:
        """Write the explanations into a scorer's folder."""
        # An int64 cannot hold every key of 16 hexadecimal digits; two halves can.
        halves = [[int(key[:8], 16), int(key[8:], 16)] for key in self.keys]
        _save(
            folder / EXPLANATIONS,
            vectors=self.vectors,
            question=self.question.astype(np.int32),
            fact=self.fact.astype(np.int32),
            keys=np.array(halves, dtype=np.int64).reshape(-1, 2),
        )

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
                f"{file.name}, found others; download it again"
            )
        keys = tuple(f"{first:08x}{second:08x}" for first, second in halves.tolist())
        return cls(encoder, vectors, question, fact, keys)


@dataclass(frozen=True)
class Terms:
    """Terms of a scorer's scores; None for those that it has not."""

    pieces: SharedPieces | None = None
    explanations: Explanations | None = None
    words: WordSimilarity | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Tensors of their weights, in order."""
        parts = {SHARED_PIECES: self.pieces, POWER: self.explanations, SIMILARITY: self.words}
        return tuple(name for name, part in parts.items() if part is not None)

    def save(self, folder: Path) -> None:
        """Write them into a scorer's folder."""
        if self.pieces is not None:
            _save(folder / IDF, idf=self.pieces.idf)
        if self.explanations is not None:
            self.explanations.save(folder)
        if self.words is not None:
            _save(folder / WORDS, idf=self.words.idf.astype(np.float16))

    @classmethod
    def read(cls, folder: Path, *, pieces: bool, encoder: str, words: bool) -> Terms:
        """Read those that a scorer's folder has; explanations, where it has them, are of `encoder`.

        Raises:
            EncoderError: If one is missing or damaged.
        """
        return cls(
            SharedPieces(_read_idf(folder / IDF, None)) if pieces else None,
            Explanations.read(folder, encoder=encoder) if encoder else None,
            WordSimilarity(_read_idf(folder / WORDS, BUCKETS)) if words else None,
        )


def _save(file: Path, **tensors: NDArray[Any]) -> None:
    from safetensors.numpy import save_file

    save_file(tensors, str(file))


def _read_idf(file: Path, size: int | None) -> Floats:
    import torch

    with open_tensors(file, name=file.parent.name, device="cpu", dtype=torch.float32) as tensors:
        idf: Floats = tensors.get("idf", size).numpy()
        return idf


@dataclass(frozen=True)
class QuestionTerms:
    """Terms `of` all premises for one question.

    It has the proximity of each explained question, the numbers of premises accepted before any was chosen,
    and the word similarity of each premise, (facts,); None for terms that the scorer has not.
    """

    of: PremiseTerms
    proximity: Values | None
    accepted: tuple[int, ...]
    similarity: Floats | None

    def __call__(self, prefix: Ids, chain: Sequence[int], candidates: Sequence[int]) -> Floats:
        """Return the unweighted terms of candidates after chosen premises, shape (candidates, terms)."""
        columns: list[Floats] = []
        positions, terms = list(candidates), self.of.terms
        if terms.pieces is not None:
            columns.append(terms.pieces(prefix, [self.of.inputs.candidates[fact] for fact in positions]))
        if terms.explanations is not None and self.proximity is not None:
            numbers = self.of.numbers
            premises = [*self.accepted, *(n for n in numbers[list(chain)].tolist() if n >= 0)]
            power = terms.explanations.power(self.proximity, premises, numbers[positions])
            columns.append(power.astype(np.float32))
        if self.similarity is not None:
            columns.append(self.similarity[positions])
        table: Floats = np.stack(columns, axis=1)
        return table

    @property
    def neighbour_bonus(self) -> Floats | None:
        """Bonus on the similarity of each premise to the question in its neighbourhood, shape (facts,)."""
        explanations = self.of.terms.explanations
        if explanations is None or self.proximity is None:
            return None
        return (NEIGHBOUR_WEIGHT * explanations.power(self.proximity, (), self.of.numbers)).astype(np.float32)


class PremiseTerms:
    """Terms over the premises of tables, or of a corpus.

    `numbers` are those of each premise among the premises that explained a question; -1 for none.
    """

    def __init__(self, terms: Terms, facts: FactTables, inputs: Inputs) -> None:
        self.terms, self.inputs = terms, inputs
        self._similarity = terms.words.to(facts.texts) if terms.words is not None else None
        number_of = terms.explanations.number_of if terms.explanations is not None else {}
        keys = map(premise_key, facts.texts if number_of else ())
        self.numbers = np.array([number_of.get(key, -1) for key in keys], dtype=np.int64)

    def of_questions(self, texts: Sequence[str], accepted: Sequence[str] = ()) -> list[QuestionTerms]:
        """Return the terms for each of several questions, given accepted sentences of the explanation.

        Raises:
            EncoderError: If the encoder cannot be loaded, or its vectors have another dimension.
        """
        explanations = self.terms.explanations
        near: Sequence[Values | None] = [None] * len(texts)
        numbers: tuple[int, ...] = ()
        if explanations is not None:
            near = explanations.proximities(texts)
            keys = map(premise_key, accepted)
            numbers = tuple(explanations.number_of[key] for key in keys if key in explanations.number_of)
        rows = self._similarity(texts) if self._similarity is not None else [None] * len(texts)
        pairs = zip(near, rows, strict=True)
        return [QuestionTerms(self, proximity, numbers, row) for proximity, row in pairs]
