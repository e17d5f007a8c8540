r"""What a cross-encoder adds to an encoder that ships: its ranking read anew, and its scores distilled.

The cross-encoder is a judge (`entail.tuning`) that learns from training trees: a child entails its parent,
a neighbour that is no child is neutral to it. Where reading the nearest premises anew does not rank them
better, there is nothing to distil. Distilled, the scores move what the encoder makes of a sentence that
nobody judged one step down the gradient of their cross-entropy with the encoder's own ranking,

.. math:: t' \propto t + w \, (\sum_p P_{cross}(p) \, p - \sum_p P_{cos}(p) \, p)

over the nearest premises p, and the encoder learns t' (`entail.training.distillation`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from entail.aeenc.config import AeencConfig
from entail.aeenc.training import train_aeenc
from entail.cli.console import progress_bar
from entail.data.nli import NliPair
from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.data.text import fold
from entail.encoders.biencoder import BiEncoder
from entail.encoders.catalogue import resolve
from entail.index.protocol import Floats, Hits, Ints, Manifest, PremiseIndex
from entail.index.ranking import search_by_scores
from entail.index.retriever import retriever
from entail.index.vectors import premise_vectors
from entail.settings import load_settings
from entail.training.teaching import Teaching
from entail.tuning.judge import NliJudge
from entail.tuning.judge_config import JudgeConfig
from entail.tuning.judge_training import train_judge

READ, NEGATIVES, NEAREST = 50, 5, 30
SENTENCES, SHARP = 2000, 0.05
SHARES = (0.05, 0.1, 0.2, 10.0)
STEPS = (0.0, 0.3, 0.6)
JUDGE = JudgeConfig(epochs=2, longest=96, evaluate_every=0)
FURTHER = AeencConfig(
    gold=False,
    rounds=0,
    live_k=100,
    alpha=0.0,
    reduction="sum",
    margin=0.2,
    rank=46,
    dropout=0.0,
    distil=30.0,
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


def distilled(
    vectors: Floats, premises: Floats, said: Sequence[tuple[Ints, Floats]], *, step: float
) -> Floats:
    """Move unit vectors towards what a cross-encoder prefers of their nearest premises; see the module."""
    moved = np.empty_like(vectors)
    for at, (places, probabilities) in enumerate(said):
        near = premises[places]
        likely = np.clip(probabilities, 1e-4, 1 - 1e-4)
        theirs = likely / (1 - likely)  # softmax of log-odds
        ours = np.exp((near @ vectors[at] - 1) / SHARP)
        t = vectors[at] + step * (theirs @ near / theirs.sum() - ours @ near / ours.sum())
        moved[at] = t / np.linalg.norm(t)
    return moved


def cross_encoder(
    shipped: str,
    corpus: Corpus,
    train: Sequence[ExplanationTree],
    *,
    measure: Callable[[PremiseIndex], dict[str, Any]],
    dev: Sequence[ExplanationTree],
    work: Path,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what ships alone, read anew, and taught by a cross-encoder: name, figures on dev."""
    index = retriever(shipped, corpus)
    yield "alone", measure(index)
    out = work / "judge"
    if not (out / "entail.json").is_file():
        pairs = examples(corpus, train, [retriever("minilm", corpus), index])
        with progress_bar() as progress:
            training = train_judge(pairs, JUDGE, data=["entailment_bank"], out=out, progress=progress)
        (work / "judge.json").write_text(json.dumps(training.fitted.seconds), encoding="utf-8")
    seconds = json.loads((work / "judge.json").read_text(encoding="utf-8"))
    judge = NliJudge(out)
    said = said_of(judge, corpus, index, list(gold_children(dev)), k=READ)
    for share in SHARES:
        told = f"w = {share:g}" if share < 1 else "by the cross-encoder alone"
        figures = measure(ReadAnew(index, said, share=share))
        yield f"the nearest {READ} read anew, {told}", {**figures, "seconds": seconds}
    known = gold_children((*train, *dev))
    free = [text for text in corpus.texts if fold(text) not in known]
    drawn = np.random.default_rng(0).permutation(len(free))[:SENTENCES]
    sentences = tuple(free[place] for place in sorted(drawn))
    encoder = BiEncoder(shipped)
    vectors = encoder.encode_queries(sentences)
    premises = premise_vectors(corpus, encoder, cache_dir=load_settings().vectors_dir)
    of_sentences = said_of(judge, corpus, index, sentences, k=NEAREST)
    in_order = [of_sentences[sentence] for sentence in sentences]
    for step in STEPS:
        moved = distilled(vectors, premises, in_order, step=step)
        folder = work / f"distilled-{step:g}"
        with progress_bar() as progress:
            fitted = train_aeenc(
                corpus,
                replace(FURTHER, initial=str(resolve(shipped).path)),
                trees=train,
                dev=dev,
                teaching=Teaching(sentences, moved, (shipped, "judge")),
                out=folder,
                progress=progress,
            ).fitted
        assert fitted.best is not None
        told = f"distilled, w = {step:g}" if step else "trained on as long without it"
        figures = measure(retriever(str(folder), corpus))
        yield told, {**figures, "seconds": fitted.seconds, "best epoch": fitted.best.epoch}
