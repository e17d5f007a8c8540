"""Adapter of searches: MAP of a scorer's chains by their search, by question and by gold fact.

A model is a scorer of chains, or `tfidf`; nothing is trained. By question and by gold fact the search is that
of `k 60`; for a role or a number of hops the other gold facts leave both gold and ranking (Figure 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from entail.arcf.chains.chain import Chain, ChainRanker, score_step
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.scorer import load_scorer
from entail.data.worldtree.questions import Question, read_questions
from entail.data.worldtree.tables import FactTables, read_fact_tables
from entail.evaluation.chains import evaluate_chains, fact_similarities, tfidf_rankings, with_gold
from entail.index.protocol import Ints
from lab.adapters import Measures, Values
from lab.data import DataFolder

VISIBLE = 60
"""Size of a neighbourhood, unless it is what is measured."""

SIZES, LENGTHS, WIDTHS = (30, 90, 180), (1, 2, 3, 4, 6, 8), (2, 4)
"""Sizes of a neighbourhood, longest chains and widths of a beam that are measured, next to 60, 9 and 1."""

ROLES, MOST_HOPS = ("CENTRAL", "GROUNDING", "LEXGLUE", "BACKGROUND"), 3


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure the dev questions that are scored."""
    folder = data.path(sets["release"])
    facts, file = read_fact_tables(folder / "tables"), folder / "questions.dev.tsv"
    questions = with_gold(read_questions(file).scored)
    near = Neighbourhoods(facts, k=VISIBLE)
    rankings = dict(_rankings(model, facts, questions, near))
    every = np.ones(len(questions))
    measures = {
        name: (evaluate_chains(questions, facts, rows).values, every) for name, rows in rankings.items()
    }
    values, rows = measures[f"k {VISIBLE}"][0], rankings[f"k {VISIBLE}"]
    levels = pd.read_csv(file, sep="\t", quoting=3).set_index("QuestionID")["arcset"]
    for level in ("Easy", "Challenge"):
        measures[level] = values, (levels[[question.id for question in questions]] == level).to_numpy(float)
    hops = {question.id: hops_of(question, facts, near) for question in questions}
    kinds: dict[str, Callable[[Question, str], bool]] = {
        **{role: partial(_has_role, role) for role in ROLES},
        **{f"{count} hops": partial(_has_hops, hops, count) for count in range(1, MOST_HOPS + 1)},
        "out of reach": partial(_has_hops, hops, None),
    }
    measures |= {name: _of_gold(questions, facts, rows, counts) for name, counts in kinds.items()}
    return measures


def _rankings(
    model: str, facts: FactTables, questions: Sequence[Question], near: Neighbourhoods
) -> Iterator[tuple[str, list[Ints]]]:
    """Yield a search and its rankings; those of `tfidf` have no chain, so they are all the same."""
    names = [*(f"k {k}" for k in SIZES), *(f"L {n}" for n in LENGTHS), *(f"beam {n}" for n in WIDTHS)]
    if model == "tfidf":
        rows = list(tfidf_rankings(questions, fact_similarities(facts)))
        yield from ((name, rows) for name in [f"k {VISIBLE}", *names])
        return
    scorer = load_scorer(model, precision="auto")
    ranker = ChainRanker(scorer, near)
    chains = [ranked.chain for ranked in ranker.rank(questions)]
    for name, length in [(f"k {VISIBLE}", 9), *((f"L {n}", n) for n in LENGTHS)]:
        # A shorter search chooses the same facts, and stops before.
        cut = [
            replace(chain, facts=chain.facts[:length], steps=chain.steps[:length])
            for chain in chains
            if chain
        ]
        yield name, [chain.ranking(question, near) for question, chain in zip(questions, cut, strict=True)]
    for width in WIDTHS:
        beams = [beam_chain(question, ranker, width=width) for question in questions]
        yield (
            f"beam {width}",
            [c.ranking(question, near) for question, c in zip(questions, beams, strict=True)],
        )
    for size in SIZES:
        wide = ChainRanker(scorer, Neighbourhoods(facts, k=size, similarities=near.similarities))
        yield f"k {size}", [ranked.ranking for ranked in wide.rank(questions)]


@dataclass(frozen=True)
class _Beam:
    """Chain and the logarithm of its probability, by the softmax over what can follow at each step."""

    chain: Chain
    score: float = 0.0

    def grown(self, question: Question, ranker: ChainRanker, first: Ints, *, width: int) -> Iterator[_Beam]:
        """Yield its best continuations, and its end if it may stop."""
        chain, search = self.chain, ranker.search
        step = score_step(question, first, chain.facts, ranker, ranker.neighbourhoods)
        steps = (*chain.steps, step)
        stops = [step.stop_score] if step.stop_score is not None and len(chain.facts) >= search.least else []
        if not step.candidates:
            yield _Beam(replace(chain, steps=steps, stopped="nothing visible"), self.score)
            return
        total = self.score - float(np.logaddexp.reduce([*step.scores, *stops]))
        for fact, score in list(zip(step.candidates, step.scores, strict=True))[:width]:
            facts = (*chain.facts, fact)
            full = len(facts) == search.length
            yield _Beam(Chain(facts, steps, "length" if full else None), total + score)
        for score in stops:
            yield _Beam(replace(chain, steps=steps, stopped="bare prefix"), total + score)


def beam_chain(question: Question, ranker: ChainRanker, *, width: int) -> Chain:
    """Return the most probable chain of a beam search; with a width of 1 it is the greedy one."""
    first = ranker.neighbours(question, ranker.neighbourhoods)
    beams = [_Beam(Chain((), (), None))]
    while not all(beam.chain.stopped for beam in beams):
        rows = [
            [beam] if beam.chain.stopped else beam.grown(question, ranker, first, width=width)
            for beam in beams
        ]
        beams = sorted((beam for row in rows for beam in row), key=lambda beam: -beam.score)[:width]
    return beams[0].chain


def hops_of(question: Question, facts: FactTables, near: Neighbourhoods) -> dict[str, int]:
    """Return uid -> hops from the question over gold facts, each visible from the one before; by TF-IDF."""
    rest = {facts.positions[uid]: uid for uid in question.gold if uid in facts.positions}
    hops: dict[str, int] = {}
    visible = set(near.of_text(question.text).tolist())
    for count in range(1, len(rest) + 1):
        reached = [fact for fact in rest if fact in visible]
        hops |= {rest.pop(fact): count for fact in reached}
        visible = set().union(*(near.of_fact(fact).tolist() for fact in reached))
    return hops


def _has_role(role: str, question: Question, uid: str) -> bool:
    return question.gold[uid] == role


def _has_hops(hops: Mapping[str, Mapping[str, int]], count: int | None, question: Question, uid: str) -> bool:
    return hops[question.id].get(uid) == count


def _of_gold(
    questions: Sequence[Question],
    facts: FactTables,
    rankings: Sequence[Ints],
    counts: Callable[[Question, str], bool],
) -> tuple[Values, Values]:
    """Return the average precision of the gold facts that count, as if there were no others."""
    values, weights = np.zeros(len(questions)), np.zeros(len(questions))
    for at, (question, ranking) in enumerate(zip(questions, rankings, strict=True)):
        gold = {uid: role for uid, role in question.gold.items() if counts(question, uid)}
        if gold:
            rest = [facts.positions[uid] for uid in question.gold.keys() - gold if uid in facts.positions]
            row = ranking[~np.isin(ranking, rest)]
            values[at], weights[at] = evaluate_chains([replace(question, gold=gold)], facts, [row]).map, 1
    return values, weights
