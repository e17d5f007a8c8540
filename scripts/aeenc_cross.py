r"""Gains of an encoder that ships from others than its own vectors: read anew by them, or taught by them.

The cross-encoder is a judge (`entail.tuning`) that learns from training trees: a child entails its parent,
a neighbour that is no child is neutral to it. Where reading the nearest premises anew does not rank them
better, there is nothing to distil; what it says is learnt as a ranking
(`entail.training.distillation.teachers`). The
scores of a hybrid with BM25 move what the encoder makes of a sentence that nobody judged a step down the
gradient of their cross-entropy with the encoder's own ranking,

.. math:: t' \propto t + w \, (\sum_p P_{theirs}(p) \, p - \sum_p P_{cos}(p) \, p)

over the nearest premises p, and the encoder learns t' (`entail.training.distillation.task`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from entail.aeenc.config import AeencConfig
from entail.aeenc.training import train_aeenc
from entail.cli.console import progress_bar
from entail.data.nli.pairs import NliPair
from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.data.text import fold
from entail.encoders.catalogue import resolve
from entail.encoders.encoder import BiEncoder
from entail.index.factory import retriever
from entail.index.hybrid import HybridIndex
from entail.index.lexical import Bm25Index
from entail.index.protocol import Floats, Hits, Ints, Manifest, PremiseIndex
from entail.index.ranking import search_by_scores
from entail.index.vectors import premise_vectors
from entail.judge.config import JudgeConfig
from entail.judge.judges import NliJudge
from entail.judge.training import train_judge
from entail.settings import load_settings
from entail.training.distillation.teachers import CrossEncoderTeacher, Teaching, score_nearest

READ, NEGATIVES, NEAREST = 50, 5, 30
SENTENCES, SHARP = 2000, 0.05
SHARES = (0.05, 0.1, 0.2, 10.0)
VECTORS, RANKING, LEARNT = 30.0, 3.0, (0.1, 0.2)
HYBRIDS = ((0.1, 0.5), (0.1, 1.0), (0.25, 1.0))
JUDGE = JudgeConfig(epochs=2, max_length=96, evaluate_every=0)
FURTHER = AeencConfig(
    gold=False,
    rounds=0,
    live_k=100,
    alpha=0.0,
    reduction="sum",
    margin=0.2,
    rank=46,
    dropout=0.0,
    learning_rate=4e-4,
    epochs=4,
)


def examples(
    corpus: Corpus, trees: Sequence[ExplanationTree], indexes: Sequence[PremiseIndex], *, seed: int = 0
) -> list[NliPair]:
    """Return what the cross-encoder learns: of each parent, children, and some of the nearest others."""
    rng = np.random.default_rng(seed)
    gold = gold_children(trees)
    nearest = [index.search(list(gold), k=NEAREST).positions for index in indexes]
    found = []
    for at, (query, children) in enumerate(gold.items()):
        own = {corpus.position(text) for text in (query, *children)}
        near = sorted({int(place) for some in nearest for place in some[at]} - own)
        drawn = rng.choice(near, size=min(NEGATIVES, len(near)), replace=False)
        found += [NliPair(child, query, "entailment") for child in children]
        found += [NliPair(corpus.texts[place], query, "neutral") for place in drawn]
    return found


class ReadAnew:
    """A `PremiseIndex` whose nearest premises get a share of what a cross-encoder says of them.

    Args:
        first: Finds them.
        said: Query -> positions of its nearest, and what was said of each.
        share: Of what was said; one far above 1 leaves the order to the cross-encoder.
    """

    def __init__(self, first: PremiseIndex, said: Mapping[str, tuple[Ints, Floats]], *, share: float) -> None:
        self.first, self.said, self.share = first, said, share

    @property
    def name(self) -> str:
        """Of the first."""
        return f"{self.first.name}, read anew"

    @property
    def manifest(self) -> Manifest:
        """Of the first."""
        return self.first.manifest

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        """Return the k nearest of each query."""
        return search_by_scores(self.scores, queries, k=k, count=self.manifest.count)

    def scores(self, queries: Sequence[str]) -> Floats:
        """Return the first's scores, those of the nearest with their share."""
        scores = self.first.scores(queries).copy()
        for row, query in zip(scores, queries, strict=True):
            places, said = self.said[query]
            row[places] += self.share * said
        return scores


def said_of(
    judge: NliJudge, corpus: Corpus, index: PremiseIndex, queries: Sequence[str], *, k: int
) -> dict[str, tuple[Ints, Floats]]:
    """Ask a cross-encoder of the k nearest premises of each query: P(premise entails query)."""
    places = index.search(queries, k=k).positions
    premises = [corpus.texts[place] for some in places for place in some]
    with progress_bar() as progress:
        said = judge.entailment(
            premises, [query for query in queries for _ in range(places.shape[1])], progress=progress
        )
    rows = np.asarray(said, dtype=np.float32).reshape(places.shape)
    return {query: (places[at], rows[at]) for at, query in enumerate(queries)}


def preferred_by_index(index: PremiseIndex, sentences: Sequence[str]) -> Iterator[tuple[Ints, Floats]]:
    """Yield of each sentence its nearest premises by an index, and the softmax of its scores."""
    hits = index.search(sentences, k=NEAREST)
    for places, scores in zip(hits.positions, hits.scores, strict=True):
        weights = np.exp((scores - scores.max()) / SHARP)
        yield places, weights / weights.sum()


def distilled(
    vectors: Floats, premises: Floats, told: Iterable[tuple[Ints, Floats]], *, step: float
) -> Floats:
    """Move unit vectors towards what is preferred of their nearest premises; see the module.

    Args:
        vectors: Shape (sentences, d).
        premises: Unit vectors of the corpus.
        told: Of each sentence, premises and P of each.
        step: w.
    """
    moved = np.empty_like(vectors)
    for at, (places, theirs) in enumerate(told):
        near = premises[places]
        ours = np.exp((near @ vectors[at] - 1) / SHARP)
        t = vectors[at] + step * (theirs @ near - ours @ near / ours.sum())
        moved[at] = t / np.linalg.norm(t)
    return moved


@dataclass(frozen=True)
class Further:
    """Trains what ships further, held to vectors of sentences that nobody judged.

    Attributes:
        shipped: Its name.
        corpus: Candidates, and where the sentences come from.
        train: Trees that it learns from.
        dev: Trees to choose the weights on.
        measure: Takes the figures of an index.
        work: Folder for weights.
    """

    shipped: str
    corpus: Corpus
    train: Sequence[ExplanationTree]
    dev: Sequence[ExplanationTree]
    measure: Callable[[PremiseIndex], dict[str, Any]]
    work: Path

    def sentences(self, count: int) -> tuple[str, ...]:
        """Draw sentences of the corpus that no tree asks for."""
        known = gold_children((*self.train, *self.dev))
        free = [text for text in self.corpus.texts if fold(text) not in known]
        drawn = np.random.default_rng(0).permutation(len(free))[:count]
        return tuple(free[place] for place in sorted(drawn))

    def teaching(self, sentences: tuple[str, ...]) -> Teaching:
        """Return what ships makes of sentences itself."""
        vectors = BiEncoder(self.shipped).encode_queries(sentences)
        return Teaching(tuple(map(fold, sentences)), vectors, (self.shipped,))

    def premises(self) -> Floats:
        """Return the vectors of the premises."""
        return premise_vectors(self.corpus, BiEncoder(self.shipped), cache_dir=load_settings().vectors_dir)

    def taught(self, teaching: Teaching | CrossEncoderTeacher, *, name: str, weight: float) -> dict[str, Any]:
        """Train and measure."""
        with progress_bar() as progress:
            fitted = train_aeenc(
                self.corpus,
                replace(FURTHER, initial=str(resolve(self.shipped).path), distil=weight),
                trees=self.train,
                dev=self.dev,
                teaching=teaching,
                out=self.work / name,
                progress=progress,
            ).fitted
        assert fitted.best is not None
        figures = self.measure(retriever(str(self.work / name), self.corpus))
        return {**figures, "seconds": fitted.seconds, "best epoch": fitted.best.epoch}


def from_hybrid(further: Further) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what ships trained on as it is, and taught by its own hybrid with BM25: name, figures on dev."""
    corpus = further.corpus
    sentences = further.sentences(len(corpus))
    teaching = further.teaching(sentences)
    yield "trained on as long, held to itself", further.taught(teaching, name="itself", weight=VECTORS)
    first, premises = retriever(further.shipped, corpus), further.premises()
    for weight, step in HYBRIDS:
        index = HybridIndex(first, Bm25Index(corpus), weight=weight, relative=True)
        told = preferred_by_index(index, sentences)
        moved = replace(teaching, vectors=distilled(teaching.vectors, premises, told, step=step))
        yield (
            f"held to itself a step of {step:g} towards its hybrid with BM25, w = {weight:g}",
            further.taught(moved, name=f"hybrid-{weight:g}-{step:g}", weight=VECTORS),
        )


def cross_encoder(further: Further) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what ships alone, read anew, and taught by a cross-encoder: name, figures on dev."""
    corpus, work = further.corpus, further.work
    index = retriever(further.shipped, corpus)
    yield "alone", further.measure(index)
    out = work / "judge"
    if not (out / "entail.json").is_file():
        pairs = examples(corpus, further.train, [retriever("minilm", corpus), index])
        with progress_bar() as progress:
            training = train_judge(pairs, JUDGE, data=["entailment_bank"], out=out, progress=progress)
        (work / "judge.json").write_text(json.dumps(training.fitted.seconds), encoding="utf-8")
    seconds = json.loads((work / "judge.json").read_text(encoding="utf-8"))
    judge = NliJudge(out)
    said = said_of(judge, corpus, index, list(gold_children(further.dev)), k=READ)
    for share in SHARES:
        told = f"w = {share:g}" if share < 1 else "by the cross-encoder alone"
        figures = further.measure(ReadAnew(index, said, share=share))
        yield f"the nearest {READ} read anew, {told}", {**figures, "seconds": seconds}
    sentences = further.sentences(SENTENCES)
    teaching = further.teaching(sentences)
    yield (
        f"trained on as long, held to itself on {SENTENCES:,} sentences",
        further.taught(teaching, name="itself-on-some", weight=VECTORS),
    )
    with progress_bar() as progress:
        reading = score_nearest(
            teaching,
            corpus,
            further.premises(),
            partial(judge.entailment, progress=progress),
            reader="judge",
            nearest=NEAREST,
            temperature=SHARP,
        )
    for share in LEARNT:
        yield (
            f"taught the ranking that it makes of {SENTENCES:,} sentences, w = {share:g}",
            further.taught(replace(reading, share=share), name=f"reading-{share:g}", weight=RANKING),
        )
