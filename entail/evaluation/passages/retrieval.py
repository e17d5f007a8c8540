"""Passage retrieval: R@k, Success@k and MRR over a pool, by gold passage and by answer."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.data.passages.files import Question, read_questions
from entail.data.passages.qrels import read_qrels
from entail.data.reading import shorten
from entail.errors import EvaluationError, FormatError
from entail.evaluation.passages.store import PassageStore, encode_store
from entail.index.flat import single_threaded_faiss
from entail.index.lexical import Bm25Words, load_bm25s
from entail.index.ranking import top_k
from entail.progress import Meter, ProgressCallback

Positions = NDArray[np.int64]
Floats = NDArray[np.float32]
Values = NDArray[np.float64]
Tokens = tuple[str, ...]

MOST_BM25 = 3_000_000
"""Limit of passages for BM25, whose index is in memory."""

_QUERIES = 1_024

KS = (1, 5, 20, 100)
"""Cut-offs of R@k and Success@k; MRR uses the largest."""


@dataclass(frozen=True)
class PassageEvaluation:
    """Figures of a retriever over a number of passages.

    The names are those of ir_measures: `R@k` is recall, the share of a question's gold passages among the
    first k; `Success@k` says whether any of them is. Both are the same where no question has several.

    Attributes:
        values: Measure by gold passage -> its value for each question that has one, in their order.
        gold: Means of `values`, over `questions`; None without a gold passage in the pool.
        answer: Success@k and MRR by answer; None where there is none.
        counts: Questions `asked`, `without_gold` (skipped), with some `gold_not_in_pool` (not found), and
            with an `own_passage_ignored`.
    """

    retriever: str
    revision: str
    passages: int
    values: dict[str, Values] = field(repr=False)
    gold: dict[str, float] | None
    answer: dict[str, float] | None
    counts: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return the figures; those at the top are by gold passage, by answer where there is none."""
        return {
            **(self.gold or self.answer or {}),
            "by": "gold" if self.gold else "answer",
            "passages": self.passages,
            "retriever": self.retriever,
            "revision": self.revision,
            "gold": self.gold,
            "answer": self.answer,
            **self.counts,
        }


def judged_questions(file: Path, *, qrels: Path | None = None, split: str = "test") -> tuple[Question, ...]:
    """Read questions, each id once; with a separate file of judgements those that it has, as trec_eval does.

    Raises:
        FormatError: If a file is malformed, or if an id has two questions.
    """
    gold = None if qrels is None else read_qrels(qrels)
    questions: dict[str, Question] = {}
    for item in read_questions(file, split=split):
        question = item if gold is None else replace(item, gold=gold.get(item.id, ()))
        if questions.setdefault(item.id, question) != question:
            raise FormatError(
                f"expected one question for each id, found {item.id!r} for "
                f"{shorten(questions[item.id].text, 60)!r} and {shorten(item.text, 60)!r}",
                source=str(file),
            )
    return tuple(question for question in questions.values() if gold is None or question.id in gold)


def evaluate_passages(
    store: PassageStore,
    questions: Sequence[Question],
    *,
    encoder: str = "bm25",
    progress: ProgressCallback | None = None,
) -> PassageEvaluation:
    """Search a pool for every question by `bm25` or an encoder, as `entail.load` takes it; count the hits.

    Raises:
        EvaluationError: If there is no question, or none with an answer or a gold passage of the pool.
    """
    positions = store.positions(id_ for question in questions for id_ in (*question.gold, question.ignored))
    gold = [{positions[id_] for id_ in question.gold if id_ in positions} for question in questions]
    ignored = [positions.get(question.ignored, -1) for question in questions]
    answers = [list(filter(None, map(answer_tokens, question.answers))) for question in questions]
    if not any(gold) and not any(answers):
        named = ", ".join([id_ for question in questions for id_ in question.gold][:5])
        columns = ", ".join(store.unread_columns)
        of_release = f"columns {columns} of the pool were not read" if columns else "are both of one release?"
        remedy = (
            f"their gold passages (such as {named}) are not in the pool: {of_release}"
            if named
            else "give the judgements that come with them, a file of question and passage ids: --qrels FILE"
            if questions
            else "no judgement is of one of them: have both the same ids of questions?"
        )
        raise EvaluationError(
            f"expected questions with an answer or a gold passage, found none of {len(questions):,}; {remedy}"
        )
    search = search_passages(store, encoder, progress=progress)
    k = max(KS) + any(at >= 0 for at in ignored)
    ranking = search([question.text for question in questions], k, progress=progress)
    hits = [
        [at for at in row if at not in (-1, own)][: max(KS)]
        for row, own in zip(ranking.tolist(), ignored, strict=True)
    ]

    @lru_cache(maxsize=1 << 15)  # the same passages are found for many questions
    def tokens(position: int) -> Tokens:
        return answer_tokens(store[position].text)

    by_gold = [
        ([rank for rank, at in enumerate(row, 1) if at in targets], len({*question.gold}))
        for row, targets, question in zip(hits, gold, questions, strict=True)
        if question.gold
    ]
    by_answer = [
        (next(([rank] for rank, at in enumerate(row, 1) if has_answer(tokens(at), texts)), []), 0)
        for row, texts in zip(hits, answers, strict=True)
        if texts
    ]
    values = _values(by_gold)
    return PassageEvaluation(
        retriever=search.name,
        revision=search.revision,
        passages=len(store),
        values=values,
        gold=_means(values) if any(gold) else None,
        answer=_means(_values(by_answer)) if by_answer else None,
        counts={
            "asked": len(questions),
            "without_gold": len(questions) - len(by_gold),
            "gold_not_in_pool": sum(not positions.keys() >= {*question.gold} for question in questions),
            "own_passage_ignored": sum(at >= 0 for at in ignored),
        },
    )


@dataclass(frozen=True)
class PassageSearch:
    """Search of a pool by one retriever: questions, k, progress -> positions of `search_vectors`."""

    name: str
    revision: str
    search: Callable[[Sequence[str], int, ProgressCallback | None], Positions] = field(repr=False)

    def __call__(
        self, questions: Sequence[str], k: int, *, progress: ProgressCallback | None = None
    ) -> Positions:
        """Return the positions of the k best passages, shape (questions, k), -1 where there is none."""
        return self.search(questions, k, progress)


def search_passages(
    store: PassageStore,
    encoder: str,
    *,
    progress: ProgressCallback | None = None,
) -> PassageSearch:
    """Prepare a search of a pool: by words (`bm25`), or by vectors on disk of an encoder of `entail.load`."""
    if encoder == "bm25":
        ranker = PassageWords(store)
        return PassageSearch(
            "bm25",
            f"bm25s-{load_bm25s().__version__}",
            lambda questions, k, report: ranker.search(questions, k=k, progress=report),
        )
    from entail.encoders.encoder import load

    loaded = load(encoder)
    shards = encode_store(store, loaded, progress=progress)
    return PassageSearch(
        loaded.name,
        loaded.revision,
        lambda questions, k, report: search_vectors(
            loaded.encode_queries(questions, progress=report), shards, k=k, progress=report
        ),
    )


def _values(rows: Sequence[tuple[Sequence[int], int]]) -> dict[str, Values]:
    """Return measure -> value of each question, from the ranks of its hits and the number of its targets.

    Recall needs the number, 0 where it is unknown; success is left out where it is the same.
    """
    first = np.array([min(ranks, default=np.inf) for ranks, _ in rows])
    values = {f"Success@{k}": (first <= k).astype(np.float64) for k in KS}
    if all(count == 1 for _, count in rows):
        values = {f"R@{k}": values[f"Success@{k}"] for k in KS}
    elif all(count for _, count in rows):
        recall = [[sum(rank <= k for rank in ranks) / count for ranks, count in rows] for k in KS]
        values = {f"R@{k}": np.array(column) for k, column in zip(KS, recall, strict=True)} | values
    return values | {"MRR": 1 / first}


def _means(values: dict[str, Values]) -> dict[str, float]:
    means = {name: float(column.mean()) for name, column in values.items()}
    return {**means, "questions": len(values["MRR"])}


def answer_tokens(text: str) -> Tokens:
    """Return the tokens of DPR's `SimpleTokenizer`, in lower case.

    They are runs of letters, digits and marks, and other characters one by one, white space left out.

    >>> answer_tokens("Levi's Stadium, 2016")
    ('levi', "'", 's', 'stadium', ',', '2016')
    """
    tokens: list[str] = []
    for is_word, run in groupby(
        unicodedata.normalize("NFD", text), key=lambda character: unicodedata.category(character)[0] in "LNM"
    ):
        if is_word:
            tokens.append("".join(run).lower())
        else:
            tokens += (character for character in run if unicodedata.category(character)[0] not in "ZC")
    return tuple(tokens)


def has_answer(passage: Tokens, answers: Sequence[Tokens]) -> bool:
    """Return whether the tokens of any answer stand in the passage, side by side and in order.

    >>> has_answer(answer_tokens("He was born in New York City."), [answer_tokens("new york")])
    True
    >>> has_answer(answer_tokens("the Yorkers"), [answer_tokens("York")])
    False
    """
    return any(
        passage[at : at + len(answer)] == answer
        for answer in filter(None, answers)
        for at in range(len(passage) - len(answer) + 1)
    )


def search_vectors(
    queries: Floats, shards: Sequence[Path], *, k: int, progress: ProgressCallback | None = None
) -> Positions:
    """Return the positions of the k passages of greatest inner product, shape (queries, k), -1 where none is.

    Every shard is searched by FAISS, exactly, and the lists are merged; one shard is in memory at a time.
    """
    import faiss

    best = np.full((len(queries), k), -np.inf, dtype=np.float32)
    positions = np.full((len(queries), k), -1, dtype=np.int64)
    first = 0
    meter = Meter(len(queries) * len(shards), "searching passages", unit="searches", report=progress)
    for shard in shards:
        vectors = np.ascontiguousarray(np.load(shard, mmap_mode="r"))
        for at in range(0, len(queries), _QUERIES):
            block = slice(at, at + _QUERIES)
            with single_threaded_faiss():
                scores, indices = faiss.knn(
                    np.ascontiguousarray(queries[block]),
                    vectors,
                    min(k, len(vectors)),
                    metric=faiss.METRIC_INNER_PRODUCT,
                )
            scores = np.hstack([best[block], scores])
            indices = np.hstack([positions[block], np.where(indices < 0, -1, indices + first)])
            order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            best[block] = np.take_along_axis(scores, order, axis=1)
            positions[block] = np.take_along_axis(indices, order, axis=1)
            meter.add(len(scores))
        first += len(vectors)
    return positions


class PassageWords:
    """BM25 of a pool (k1 0.9, b 0.4, as in Anserini and for DPR's hard negatives).

    Raises:
        EvaluationError: If there are more than `MOST_BM25` passages.
    """

    def __init__(self, store: PassageStore) -> None:
        if len(store) > MOST_BM25:
            raise EvaluationError(
                f"expected at most {MOST_BM25:,} passages for BM25, whose index is in memory, found "
                f"{len(store):,}; measure an encoder"
            )
        self._words = Bm25Words([passage.whole for passage in store], k1=0.9, b=0.4)

    def search(
        self, questions: Sequence[str], *, k: int, progress: ProgressCallback | None = None
    ) -> Positions:
        """Return the positions of the k best passages, shape (questions, k), -1 where none shares a word."""
        positions = np.full((len(questions), k), -1, dtype=np.int64)
        meter = Meter(len(questions), "searching passages", unit="questions", report=progress)
        for row, scores in enumerate(self._words.scores(questions) if questions else ()):
            top = top_k(scores[None], k).positions[0]
            top = top[scores[top] > 0]
            positions[row, : len(top)] = top
            meter.add(1)
        return positions
