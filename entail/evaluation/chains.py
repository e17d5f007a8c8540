"""MAP of premise rankings of questions with known explanations, by the rules of TextGraphs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entail.data.records import Corpus
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import FactTables
from entail.errors import EvaluationError
from entail.index.factory import retriever
from entail.index.lexical import StemmedIndex
from entail.index.protocol import Floats, Ints
from entail.progress import Meter, ProgressCallback
from entail.statistics.paired import bootstrap_interval
from entail.statistics.ranking import GoldRanks, Values, average_precision

Similarities = Callable[[Sequence[str]], Floats]
"""Texts -> similarity of each to every fact, shape (texts, facts)."""

TFIDF = "tfidf"
"""Metric without an encoder: TF-IDF of stemmed words, stop words left out."""

_BATCH = 64


@dataclass(frozen=True)
class ChainEvaluation:
    """Figures of rankings of all premises.

    Attributes:
        values: Average precision of each question, in order, shape (questions,).
        missing: (question id, uid) of gold facts in no table.
        without_gold: Number of questions without an explanation, left out.
    """

    values: Values
    missing: tuple[tuple[str, str], ...] = ()
    without_gold: int = 0

    @property
    def map(self) -> float:
        """Mean average precision."""
        return float(self.values.mean())

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            "MAP": self.map,
            "questions": len(self.values),
            "interval": list(bootstrap_interval(self.values)),
            "missing_gold": [list(pair) for pair in self.missing],
            "without_gold": self.without_gold,
        }


def with_gold(questions: Sequence[Question]) -> tuple[Question, ...]:
    """Return the questions that have an explanation.

    Raises:
        EvaluationError: If none has.
    """
    explained = tuple(question for question in questions if question.gold)
    if not explained:
        raise EvaluationError(
            f"expected questions with an explanation, found {len(questions)} without; give a file that is "
            "not blind"
        )
    return explained


def digest_of(questions: Sequence[Question], facts: FactTables) -> str:
    """Return a digest of facts and explained questions, in any order: 12 hexadecimal digits, no text."""
    rows = sorted(
        [question.id, question.stem, question.answer, *sorted(question.gold)] for question in questions
    )
    return hashlib.sha256(json.dumps([facts.digest, rows]).encode()).hexdigest()[:12]


def evaluate_chains(
    questions: Sequence[Question], facts: FactTables, rankings: Iterable[Ints]
) -> ChainEvaluation:
    """Measure rankings, one a question, of positions among the facts, best first.

    Questions without gold are left out, but need a ranking, which may be empty. A fact outside its ranking is
    never found; a gold fact in no table makes the whole question 0.

    Raises:
        EvaluationError: If a ranking repeats a fact, or no question has gold.
    """
    values: list[float] = []
    missing: list[tuple[str, str]] = []
    without_gold = len(questions) - len(with_gold(questions))
    for question, ranking in zip(questions, rankings, strict=True):
        if not question.gold:
            continue
        if len(np.unique(ranking)) != len(ranking):
            raise EvaluationError(f"{question.id}: expected a ranking of distinct facts, found one twice")
        ranks = np.full(len(facts), np.inf)
        ranks[ranking] = np.arange(1, len(ranking) + 1)
        absent = [uid for uid in question.gold if uid not in facts.positions]
        missing += [(question.id, uid) for uid in absent]
        gold = np.array([np.inf if uid in absent else ranks[facts.positions[uid]] for uid in question.gold])
        values.append(ap(gold) if np.isfinite(gold).all() else 0.0)
    return ChainEvaluation(np.array(values), tuple(missing), without_gold)


def ap(ranks: Values) -> float:
    """Return the average precision of gold facts at these ranks."""
    return float(average_precision(GoldRanks.of([ranks]))[0])


def tfidf_rankings(
    questions: Sequence[Question],
    similarities: Similarities,
    *,
    progress: ProgressCallback | None = None,
) -> Iterable[Ints]:
    """Yield a ranking of the facts for each question and its answer; ties by position."""
    meter = Meter(len(questions), "ranking facts", unit="questions", report=progress)
    for at in range(0, len(questions), _BATCH):
        batch = questions[at : at + _BATCH]
        for row in similarities([question.text for question in batch]):
            yield np.argsort(-row, kind="stable")
        meter.add(len(batch))


def fact_similarities(
    facts: FactTables, metric: str = TFIDF, *, progress: ProgressCallback | None = None
) -> Similarities:
    """Return the similarities of facts by `tfidf` or a retriever: `bm25`, `minilm` ...

    Raises:
        EntailError: If there is no such retriever.
    """
    corpus = Corpus.of("facts", facts.texts)
    # Facts of equal words and other uids are one premise of a corpus.
    positions = np.array([corpus.position(text) for text in facts.texts], dtype=np.int64)
    index = StemmedIndex(corpus) if metric == TFIDF else retriever(metric, corpus, progress=progress)
    return index.scores if len(corpus) == len(facts) else lambda texts: index.scores(texts)[:, positions]
