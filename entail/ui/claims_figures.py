"""Figures 2 and 3 of entailment tuning over a pool and over pairs of NLI: measured, in words, as rows."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.data.nli import NliPair, read_nli
from entail.data.passages import Question
from entail.errors import EvaluationError
from entail.evaluation.passages_store import PassageStore, store_passages
from entail.jobs.passage_source import evenly
from entail.progress import ProgressCallback
from entail.tuning.examples import examples_of, with_hard_negatives
from entail.tuning.relevance import Judge, Relevance, beside_claims, claims_entailed, premises_told_apart
from entail.ui.claims_pool import Known, Pool

if TYPE_CHECKING:
    from entail.data.records import Corpus
    from entail.encoders.biencoder import Encoder

DEPTH = 20
"""Passages that BM25 brings for a question, among which the hardest one is looked for."""

MOST_PAIRS = 5_000
"""Pairs of each label that are held of a file, evenly from all."""

FEW = 30
"""Values of a group below which a figure says little."""


@dataclass(frozen=True)
class Figure:
    """What was measured, and on what.

    Attributes:
        relevance: The values by group.
        rows: What they are of, each a row of a table: texts with their values.
        left_out: Questions without a hard negative.
    """

    relevance: Relevance
    rows: tuple[Mapping[str, object], ...]
    left_out: int = 0


@dataclass(frozen=True)
class Labelled:
    """The pairs of a file that are told apart.

    Attributes:
        read: What was read and left out, in words.
        entailing: Pairs whose premise entails the hypothesis.
        neutral: Pairs in which it says neither that nor the contrary.
    """

    read: str
    entailing: tuple[NliPair, ...]
    neutral: tuple[NliPair, ...]

    def drawn(self, count: int) -> tuple[NliPair, ...]:
        """Return so many pairs, half of either label, each evenly from all of its own.

        Files have their labels in turns, so that every second or third row would be of one label.
        """
        return (*evenly(self.entailing, (count + 1) // 2), *evenly(self.neutral, count // 2))


def read_labelled(content: bytes, *, name: str) -> Labelled:
    """Return the entailing and neutral pairs of a file; see `entail.data.nli.read_nli`.

    Raises:
        FormatError: If it cannot be read.
    """
    reading = read_nli(content, name=name)
    entailing, neutral = (
        evenly([pair for pair in reading.pairs if pair.label == label], MOST_PAIRS)
        for label in ("entailment", "neutral")
    )
    return Labelled(str(reading), entailing, neutral)


def measure_claims(
    pool: Pool, asked: Sequence[Known], judge: Judge, *, progress: ProgressCallback | None = None
) -> Figure:
    """Measure how probable passages make claims, those that answer and the hardest that do not (Figure 2).

    Args:
        pool: The passages; BM25 looks for hard negatives among them.
        asked: Questions whose passages are known.
        judge: A model of natural language inference.
        progress: Told how far it is.

    Raises:
        EvaluationError: If BM25 brings none but passages that answer.
    """
    questions = [
        Question(str(number), one.question, one.answers, tuple(map(str, sorted(one.gold))))
        for number, one in enumerate(asked)
    ]
    with tempfile.TemporaryDirectory() as folder:
        examples = examples_of(_stored(pool.corpus, Path(folder), progress), questions)
        examples = with_hard_negatives(examples, depth=DEPTH, progress=progress)
        beside = beside_claims(examples)
        if not beside:
            raise EvaluationError(
                f"{pool.name}: expected passages that look as if they answered, found none by BM25 for "
                f"{len(asked):,} questions; choose a larger pool"
            )
        found = claims_entailed(examples, judge, progress=progress)
    gold, negative = found.groups
    rows = tuple(
        {
            "question": one.question,
            "claim": one.claim,
            "passage that answers": one.gold,
            "P(it entails the claim)": f"{first:.6f}",
            "hard negative": one.negative,
            "P(that entails the claim)": f"{second:.6f}",
        }
        for one, first, second in zip(beside, found.groups[gold], found.groups[negative], strict=True)
    )
    return Figure(found, rows, len(asked) - len(beside))


def _stored(corpus: Corpus, folder: Path, progress: ProgressCallback | None) -> PassageStore:
    """Return passages as a store, each by its position: only there are hard negatives looked for."""
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for position, text in enumerate(corpus.texts):
            file.write(json.dumps({"_id": str(position), "title": "", "text": text}) + "\n")
    return store_passages([folder], folder / "store", progress=progress)


def measure_premises(
    pairs: Sequence[NliPair], encoder: Encoder, *, progress: ProgressCallback | None = None
) -> Figure:
    """Measure how similar a retriever finds hypotheses to premises of three kinds (Figure 3).

    Args:
        pairs: Entailing pairs, then neutral ones.
        encoder: The retriever.
        progress: Told how far it is.

    Raises:
        EvaluationError: If either kind is missing, or all pairs have one premise.
    """
    found = premises_told_apart(pairs, encoder, progress=progress)
    own = [*found.groups["entailing"], *found.groups["neutral"]]
    rows = tuple(
        {
            "label": pair.label,
            "hypothesis": pair.hypothesis,
            "premise": pair.premise,
            f"similarity by {encoder.name}": f"{value:.6f}",
            f"similarity of an irrelevant premise by {encoder.name}": f"{other:.6f}",
        }
        for pair, value, other in zip(pairs, own, found.groups["irrelevant"], strict=True)
    )
    return Figure(found, rows)


def joined_rows(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """Return the rows of figures over the same pairs as one table, a column more for each."""
    return [
        {name: value for row in rows for name, value in row.items()}
        for rows in zip(*(figure.rows for figure in figures), strict=True)
    ]


def claims_in_words(figure: Figure) -> str:
    """Return what Figure 2 says, in words."""
    gold, negative = figure.relevance.groups.values()
    above = figure.relevance.above("hard negatives")
    higher = int((gold > negative).sum())
    said = (
        f"A passage that answers stands above a hard negative in **{of_hundred(above)} comparisons** "
        f"(chance: 50): it makes its claim more probable. Mean P: {gold.mean():.2f} by passages that answer, "
        f"{negative.mean():.2f} by hard negatives. For {higher:,} of {len(gold):,} questions the passage "
        "that answers stands above the question's own hard negative."
    )
    return said + _few(figure)


def premises_in_words(figure: Figure) -> str:
    """Return what Figure 3 says, in words."""
    found = figure.relevance
    means = {name: float(values.mean()) for name, values in found.groups.items()}
    said = (
        f"A premise that entails stands nearer to its hypothesis than a neutral one in "
        f"**{of_hundred(found.above('neutral'))} comparisons**, than an irrelevant one in "
        f"**{of_hundred(found.above('irrelevant'))}** (chance: 50). Mean similarity: "
        f"{means['entailing']:.2f} entailing, {means['neutral']:.2f} neutral, "
        f"{means['irrelevant']:.2f} irrelevant."
    )
    return said + _few(figure)


def of_hundred(share: float) -> str:
    """Return a share of comparisons; what is not all of them is never called so.

    >>> of_hundred(0.784), of_hundred(0.998), of_hundred(1.0), of_hundred(0.002), of_hundred(0.0)
    ('78 of 100', 'over 99 of 100', '100 of 100', 'under 1 of 100', '0 of 100')
    """
    if 0.995 <= share < 1:
        return "over 99 of 100"
    return "under 1 of 100" if 0 < share < 0.005 else f"{share * 100:.0f} of 100"


def _few(figure: Figure) -> str:
    fewest = min(map(len, figure.relevance.groups.values()))
    return f" Of so few values ({fewest:,} a group) that says little." if fewest < FEW else ""


def summary_rows(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """Return a row for each group of each figure: by what, count, mean, quartiles, how often above."""
    rows = []
    for figure in figures:
        told = figure.relevance.to_json()
        first = next(iter(told["groups"]))
        for name, group in told["groups"].items():
            lower, median, upper = (f"{value:.6f}" for value in group["quartiles"])
            row = {"measure": told["measure"], "by": told["by"], "group": name, "values": group["n"]}
            row |= {"mean": f"{group['mean']:.6f}"}
            row |= {"lower quartile": lower, "median": median, "upper quartile": upper}
            above = f"{group['above']:.6f}" if "above" in group else ""
            rows.append(row | {f"share of comparisons with {first} above": above})
    return rows
