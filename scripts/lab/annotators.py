"""Simulated annotators of known error rates, who judge premises for the sentences of gold trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.data.text import fold
from entail.index.protocol import PremiseIndex

RATES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
"""Error rates of six annotators: the share of premises that each misses, and takes a near one instead."""

COPIES = 3
"""Annotators of every second tree; the others have one."""

SHOWN = 20
"""Nearest premises that an annotator reads for a sentence."""


def judge(
    corpus: Corpus, trees: Sequence[ExplanationTree], index: PremiseIndex, *, seed: int
) -> list[JudgedPair]:
    """Return what the annotators accept and reject: of each sentence its premises, and the nearest others."""
    pairs: list[JudgedPair] = []
    draw = np.random.default_rng(seed)
    for at, tree in enumerate(trees):
        children = gold_children([tree])
        hits = index.search(list(children), k=SHOWN).positions
        for annotator in draw.permutation(len(RATES))[: COPIES if at % 2 else 1].tolist():
            for (query, own), row in zip(children.items(), hits, strict=True):
                near = [text for p in row if (text := fold(corpus.texts[p])) not in own and text != query]
                missed = draw.random(len(own)) < RATES[annotator]
                wrong = draw.permutation(len(near))[: missed.sum()].tolist()
                judged = dict(zip(own, (~missed).tolist(), strict=True))
                judged |= {text: number in wrong for number, text in enumerate(near)}
                pairs += [JudgedPair(query, text, yes, str(annotator)) for text, yes in judged.items()]
    return pairs


def merge(pairs: Sequence[JudgedPair], trees: Sequence[ExplanationTree], merging: Any) -> Judgements:
    """Return the judgements: merged as `entail` does, `any` that one accepted, or the reference."""
    if merging == "reference":
        gold = gold_children(trees)
        return Judgements.of_pairs(JudgedPair(q, text, True) for q, own in gold.items() for text in own)
    if merging == "any":
        accepted = {(pair.query, pair.premise) for pair in pairs if pair.accepted}
        return Judgements.of_pairs(
            replace(pair, accepted=(pair.query, pair.premise) in accepted) for pair in pairs
        )
    return Judgements.of_pairs(pairs, merging=merging)
