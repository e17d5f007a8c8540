"""Measure ARCF's engine beside a plain loop of Algorithm 1 with the same weights.

::

    OMP_NUM_THREADS=2 python scripts/bench_arcf.py --tables tables --questions questions.dev.tsv \
        --scorer arcf-minilm --k 60 --sample 40
    python scripts/bench_arcf.py ... --grow        # how time grows with k and L

The ruler tokenises and scores every visible candidate at every step, in inference mode, fp32, batches
padded to their longest, the batch size tuned; of a bi-encoder it encodes prefix and candidate by their own
weights.
An engine chooses the same if the ruler's own score of its
fact, after the same prefix, is within 0.01 of the best there. Figures go to docs/results/arcf_speed.json.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from arcf_ruler import Ruler, ruler, tuned

from entail.arcf.chains.chain import Chain, Search, rank_by_chain
from entail.arcf.chains.ranking import ChainRanker
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.scorer import load_scorer
from entail.data.worldtree.questions import Question, read_questions
from entail.data.worldtree.tables import FactTables, read_fact_tables
from entail.encoders.row_batches import Spent
from entail.errors import EntailError
from entail.evaluation.chains import evaluate_chains
from entail.results import write_result

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
NEAR = 0.01
GROW_K, GROW_L = (15, 30, 60, 120, 290), (2, 4, 8, 12)
GROWN = 5
"""Questions by which growth is measured: the plain loop is slow."""

READ = "default, all facts read before"
"""The engine where much has been asked before: by default each fact is read where it first comes up."""


def same_steps(
    plain: Ruler, question: Question, chain: Chain, told: Sequence[dict[int, float]]
) -> tuple[int, int]:
    """Return at how many steps of a chain the ruler would have chosen as well, and of how many."""
    same = 0
    own: list[int] = []
    shared = True
    for number in range(len(chain.steps)):
        if shared and number < len(told):
            scores = told[number]
        else:
            visible = plain.near.visible(plain.nearest(question), own)
            scores = plain.scores(question, own, visible)
        may_stop = len(own) >= plain.search.least
        best = max(score for fact, score in scores.items() if fact >= 0 or may_stop)
        choice = chain.facts[number] if number < len(chain.facts) else -1
        same += scores[choice] >= best - NEAR
        shared = shared and scores[choice] == best
        if choice >= 0:
            own.append(choice)
    return same, len(chain.steps)


def engine(name: str, near: Neighbourhoods, search: Search) -> ChainRanker:
    """Return the engine with its facts tokenised: once a corpus, so it is no part of a question's time."""
    ranker = ChainRanker(load_scorer(name, precision="auto"), near, search=search)
    _ = ranker.inputs
    return ranker


def read_all(ranker: ChainRanker) -> float:
    """Let a scorer read every fact once, as it does in time by itself; return the seconds that it takes."""
    begun = time.perf_counter()
    ranker.scorer.pairs.score([((), fact) for fact in ranker.inputs.candidates])
    return time.perf_counter() - begun


def timed(ranker: ChainRanker, questions: Sequence[Question]) -> tuple[float, list[Any]]:
    """Return seconds, and what came of the questions."""
    for question in questions[:1]:
        list(ranker.rank([question]))
    before = replace(ranker.scorer.pairs.spent)
    begun = time.perf_counter()
    ranked = list(ranker.rank(questions))
    seconds = time.perf_counter() - begun
    spent = ranker.scorer.pairs.spent
    for part in ("passes", "rows", "tokens", "padded"):
        setattr(spent, part, getattr(spent, part) - getattr(before, part))
    return seconds, ranked


def grown(name: str, plain: Ruler, facts: FactTables, questions: Sequence[Question]) -> dict[str, Any]:
    """Return how seconds and tokens a question grow with k and with L, and by which power.

    Chains are as long as they may be, so that L tells the steps.
    """
    growth: dict[str, Any] = {}
    least = replace(plain.search, least=plain.search.length)
    ways = {
        "k": {k: (Neighbourhoods(facts, k=k), least) for k in GROW_K},
        "L": {L: (plain.near, replace(least, length=L, least=L)) for L in GROW_L},
    }
    for letter, settings in ways.items():
        costs: dict[str, list[float]] = {
            f"{system}, {of}": [] for system in ("ruler", "engine") for of in ("seconds", "tokens")
        }
        for near, search in settings.values():
            near.prepare(range(len(facts)))
            for question in questions:
                near.of_text(question.text)
            slow = replace(plain, near=near, search=search, spent=Spent())
            begun = time.perf_counter()
            for question in questions:
                slow.chain(question)
            seconds = time.perf_counter() - begun
            variant = engine(name, near, search)
            quick, _ = timed(variant, questions)
            measures = (seconds, slow.spent.tokens, quick, variant.scorer.pairs.spent.tokens)
            for row, value in zip(costs.values(), measures, strict=True):
                row.append(value / len(questions))
        growth[letter] = {
            "at": list(settings),
            "questions": len(questions),
            "a_question": costs,
            "power": {row: power_of(list(settings), values) for row, values in costs.items()},
        }
    return growth


def alone_mb(options: argparse.Namespace) -> float:
    """Return the most memory, MB, that ranking a few questions takes in a process of its own."""
    arguments = ["--tables", options.tables, "--questions", options.questions, "--scorer", options.scorer]
    command = [sys.executable, "-m", "entail", "evaluate", "chains", *map(str, arguments)]
    command += ["--k", str(options.k), "--limit", str(GROWN), "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def power_of(at: Sequence[float], values: Sequence[float]) -> float:
    """Return the p of the c x^p that fits best, by least squares of logarithms.

    >>> round(power_of([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    return float(np.polyfit(np.log(at), np.log(values), 1)[0])


def _run(options: argparse.Namespace) -> None:
    import torch

    started = datetime.now(UTC)
    facts, reading = read_fact_tables(options.tables), read_questions(options.questions)
    near, search = Neighbourhoods(facts, k=options.k), Search(length=options.length)
    ranker = engine(options.scorer, near, search)
    indices = np.sort(np.random.default_rng(0).permutation(len(reading.scored))[: options.sample])
    sample = [reading.scored[int(at)] for at in indices]
    ids = ranker.inputs.questions([(question.stem, question.answer) for question in sample])
    # A question that is too long alone the ruler would have to cut by words.
    questions = [
        q
        for q, question_ids in zip(sample, ids, strict=True)
        if not ranker.inputs.prefix(question_ids, ()).dropped
    ]
    for question in questions:
        near.of_text(question.text)
    plain = ruler(options.scorer, ranker, near)
    plain.batch_size = tuned(plain, questions)
    plain.spent = Spent()
    begun = time.perf_counter()
    ruler_chains = {question.id: plain.chain(question) for question in questions}
    ruler_seconds = time.perf_counter() - begun
    ruler_spent = asdict(plain.spent)
    last = {}
    for question in questions:
        chain, steps = ruler_chains[question.id]
        left = {fact: score for fact, score in steps[-1].items() if fact >= 0 and fact not in chain}
        last[question.id] = rank_by_chain(question, chain, left, near)
    ruler_map = evaluate_chains(questions, facts, [last[q.id] for q in questions]).map
    figures: dict[str, Any] = {
        "questions": len(questions),
        "left_out_too_long": options.sample - len(questions),
        "k": options.k,
        "L": options.length,
        "threads": torch.get_num_threads(),
        "ruler": {
            "seconds_a_question": ruler_seconds / len(questions),
            "batch_size": plain.batch_size,
            "MAP": ruler_map,
            **ruler_spent,
        },
        "engines": {},
    }
    for name in ("default", READ):
        variant = engine(options.scorer, near, search)
        if name == READ:
            figures["reading_all_facts_seconds"] = read_all(variant)
        seconds, ranked = timed(variant, questions)
        counts = [same_steps(plain, r.question, r.chain, ruler_chains[r.question.id][1]) for r in ranked]
        value = evaluate_chains(questions, facts, [r.ranking for r in ranked]).map
        figures["engines"][name] = {
            "seconds_a_question": seconds / len(questions),
            "times_faster": ruler_seconds / seconds,
            "same_choice": sum(same for same, _ in counts) / sum(of for _, of in counts),
            "MAP": value,
            "MAP_difference": value - ruler_map,
            **asdict(variant.scorer.pairs.spent),
        }
        print(name, figures["engines"][name], file=sys.stderr)
    figures["memory_mb"] = {
        "peak of the process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "peak of the engine alone": alone_mb(options),
    }
    if options.grow:
        figures["grow"] = grown(options.scorer, plain, facts, questions[:GROWN])
    write_result(options.out, figures=figures, seed=0, started=started)


def main() -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=Path, required=True, metavar="DIR", help="fact tables, or a ZIP")
    parser.add_argument("--questions", type=Path, required=True, metavar="FILE", help="with explanations")
    parser.add_argument("--scorer", default="arcf-minilm", help="(arcf-minilm)")
    parser.add_argument("--k", type=int, default=60, help="(60)")
    parser.add_argument("--length", type=int, default=9, help="L (9)")
    parser.add_argument("--sample", type=int, default=40, help="questions, by seed 0 (40)")
    parser.add_argument("--grow", action="store_true", help="also how time grows with k and L")
    parser.add_argument("--out", type=Path, default=RESULTS / "arcf_speed.json", help="result file")
    options = parser.parse_args()
    try:
        _run(options)
    except EntailError as error:
        sys.exit(f"Error: {error}")
    print(f"wrote {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
