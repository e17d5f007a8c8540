"""MAP of premise rankings of questions with known explanations, by the rules of TextGraphs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.data.records import Corpus
from entail.data.worldtree.questions import ROLES, Question
from entail.data.worldtree.tables import FactTables
from entail.errors import EvaluationError
from entail.index.factory import retriever
from entail.index.lexical import StemmedIndex, stemmed_words
from entail.index.protocol import Floats, Ints
from entail.progress import Meter, ProgressCallback
from entail.statistics.paired import bootstrap_interval
from entail.statistics.ranking import GoldRanks, Values, average_precision

Similarities = Callable[[Sequence[str]], Floats]
"""Texts -> similarity of each to every fact, shape (texts, facts)."""

Booleans = NDArray[np.bool_]

TFIDF = "tfidf"
"""Metric without an encoder: TF-IDF of stemmed words, stop words left out."""

_BATCH = 64


@dataclass(frozen=True)
class Slice:
    """MAP over the questions that have facts of a kind."""

    map: float
    questions: int

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {"MAP": self.map, "questions": self.questions}


@dataclass(frozen=True)
class ChainEvaluation:
    """Figures of rankings of all premises.

    Attributes:
        ids: Ids of the questions measured, in order.
        values: Average precision of each, shape (questions,).
        slices: Kind (`role`, `level`, `gold`, `hops_overlap` ...) -> value -> the mean there.
        missing: (question id, uid) of gold facts in no table.
        without_gold: Number of questions without an explanation, left out.
    """

    ids: tuple[str, ...]
    values: Values
    slices: Mapping[str, Mapping[str, Slice]] = field(default_factory=dict)
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
            "questions": len(self.ids),
            "interval": list(bootstrap_interval(self.values)),
            **{
                f"by_{kind}": {value: group.to_json() for value, group in groups.items()}
                for kind, groups in self.slices.items()
            },
            "missing_gold": [list(pair) for pair in self.missing],
            "without_gold": self.without_gold,
        }


def with_gold(questions: Sequence[Question]) -> tuple[Question, ...]:
    """Return the questions that have an explanation.

    Raises:
        EvaluationError: If none has.
    """
    explained_questions = tuple(question for question in questions if question.gold)
    if not explained_questions:
        raise EvaluationError(
            f"expected questions with an explanation, found {len(questions)} without; give a file that is "
            "not blind"
        )
    return explained_questions


def digest_of(questions: Sequence[Question], facts: FactTables) -> str:
    """Return a digest of facts and explained questions, in any order: 12 hexadecimal digits, no text."""
    rows = sorted(
        [question.id, question.stem, question.answer, *sorted(question.gold)] for question in questions
    )
    return hashlib.sha256(json.dumps([facts.digest, rows]).encode()).hexdigest()[:12]


def evaluate_chains(
    questions: Sequence[Question],
    facts: FactTables,
    rankings: Iterable[Ints],
) -> ChainEvaluation:
    """Measure rankings, one a question, of positions among the facts, best first.

    Args:
        questions: Questions; those without gold are left out, but need a ranking, which may be empty.
        facts: All facts.
        rankings: Rankings in the order of the questions; a fact outside its ranking is never found.

    Raises:
        EvaluationError: If there are not as many rankings as questions, a ranking repeats a fact or holds an
            unknown one, or no question has gold.
    """
    ids: list[str] = []
    values: list[float] = []
    parts: dict[str, dict[str, list[float]]] = {
        kind: {} for kind in ("role", "level", "gold", "hops_overlap")
    }
    missing: list[tuple[str, str]] = []
    without_gold = len(questions) - len(with_gold(questions))
    for question, ranking in _paired(questions, rankings):
        if not question.gold:
            continue
        ranks = ranks_in(ranking, len(facts), name=question.id)
        gold_positions = {uid: facts.positions[uid] for uid in question.gold if uid in facts.positions}
        missing += [(question.id, uid) for uid in question.gold if uid not in gold_positions]
        gold_ranks = np.array(
            [ranks[gold_positions[uid]] if uid in gold_positions else np.inf for uid in question.gold]
        )
        value = ap(gold_ranks) if np.isfinite(gold_ranks).all() else 0.0
        ids.append(question.id)
        values.append(value)
        if question.level:
            parts["level"].setdefault(question.level, []).append(value)
        parts["gold"].setdefault(str(len(question.gold)), []).append(value)
        words = [stemmed_words(facts.texts[at]) for at in gold_positions.values()]
        hops = dict(zip(gold_positions, overlap_hops(stemmed_words(question.text), words), strict=True))
        labels = {
            "role": list(question.gold.values()),
            "hops_overlap": [str(hops.get(uid) or "infinity") for uid in question.gold],
        }
        for kind, fact_labels in labels.items():
            for label in dict.fromkeys(fact_labels):
                mask = np.array([fact_label == label for fact_label in fact_labels])
                # The average precision of these facts where the others are in no ranking.
                other_ranks = gold_ranks[~mask]
                own = np.array([rank - (other_ranks < rank).sum() for rank in gold_ranks[mask]])
                parts[kind].setdefault(label, []).append(ap(own))
    return ChainEvaluation(
        ids=tuple(ids),
        values=np.array(values),
        slices={
            kind: {
                value: Slice(float(np.mean(groups[value])), len(groups[value]))
                for value in _sorted(kind, groups)
            }
            for kind, groups in parts.items()
        },
        missing=tuple(missing),
        without_gold=without_gold,
    )


def ranks_in(ranking: Ints, count: int, *, name: str) -> Values:
    """Return the rank of every fact, from 1; `inf` where the ranking lacks it, shape (facts,).

    Raises:
        EvaluationError: If it holds a fact twice, or one that is not there.
    """
    ranks = np.full(count, np.inf)
    if len(ranking) and (ranking.min() < 0 or ranking.max() >= count):
        raise EvaluationError(f"{name}: expected positions of {count} facts, found {ranking.max()}")
    ranks[ranking] = np.arange(1, len(ranking) + 1)
    if int(np.isfinite(ranks).sum()) != len(ranking):
        raise EvaluationError(f"{name}: expected a ranking of distinct facts, found one twice")
    return ranks


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
    """Return the similarities of facts.

    Args:
        facts: The facts.
        metric: `tfidf`, `overlap` (share of the text's words), or a retriever: `bm25`, `minilm` ...
        progress: Callback of encoding.

    Raises:
        EntailError: If there is no such retriever.
    """
    if metric == "overlap":
        return _overlap(facts)
    corpus = Corpus.of("facts", facts.texts)
    # Facts of equal words and other uids are one premise of a corpus.
    positions = np.array([corpus.position(text) for text in facts.texts], dtype=np.int64)
    index = StemmedIndex(corpus) if metric == TFIDF else retriever(metric, corpus, progress=progress)
    return index.scores if len(corpus) == len(facts) else lambda texts: index.scores(texts)[:, positions]


def _overlap(facts: FactTables) -> Similarities:
    from sklearn.feature_extraction.text import CountVectorizer

    counter: Any = CountVectorizer(analyzer=stemmed_words, binary=True, dtype=np.float32)
    words: Any = counter.fit_transform(facts.texts).T.tocsr()

    def similarities(texts: Sequence[str]) -> Floats:
        sizes = np.array([max(1, len(set(stemmed_words(text)))) for text in texts], dtype=np.float32)
        shared: Floats = (counter.transform(texts) @ words).toarray() / sizes[:, None]
        return shared.astype(np.float32)

    return similarities


def _sorted(kind: str, values: Iterable[str]) -> list[str]:
    if kind == "role":
        return sorted(values, key=lambda role: (ROLES.index(role) if role in ROLES else len(ROLES), role))
    return sorted(values, key=lambda value: (not value.isdigit(), len(value) * value.isdigit(), value))


def _paired(questions: Sequence[Question], rankings: Iterable[Ints]) -> Iterable[tuple[Question, Ints]]:
    try:
        yield from zip(questions, rankings, strict=True)
    except ValueError as error:
        message = f"expected one ranking for each of {len(questions)} questions: {error}"
        raise EvaluationError(message) from error


def gold_hops(direct: Booleans, links: Booleans) -> list[int | None]:
    """Return the hops to each gold fact: 1 from the question, one more from each reached; None: never.

    >>> gold_hops(np.array([True, False, False]), np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool))
    [1, 2, None]

    Args:
        direct: Mask of facts near the question, shape (gold,).
        links: `links[i, j]`: whether j is near i, shape (gold, gold).
    """
    hops: list[int | None] = [None] * len(direct)
    reached = np.asarray(direct, dtype=bool).copy()
    new, hop = reached.copy(), 1
    while new.any():
        for at in np.flatnonzero(new):
            hops[int(at)] = hop
        new = links[new].any(axis=0) & ~reached
        reached |= new
        hop += 1
    return hops


def overlap_hops(question: Sequence[str], facts: Sequence[Sequence[str]]) -> list[int | None]:
    """Return the hops to each gold fact where two texts are near if they share a stemmed word.

    >>> overlap_hops(["ice", "melt"], [["ice", "solid"], ["solid", "rock"], ["sun"]])
    [1, 2, None]
    """
    words = [frozenset(fact) for fact in facts]
    question_words = frozenset(question)
    direct = np.array([bool(question_words & fact_words) for fact_words in words], dtype=bool)
    links = np.array([[bool(fact_words & other) for other in words] for fact_words in words], dtype=bool)
    return gold_hops(direct, links.reshape(len(words), len(words)))
