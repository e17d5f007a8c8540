"""Figures 2 and 3 of the entailment tuning paper over a pool and over NLI pairs: values, summary, rows."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.data.nli.pairs import NliPair, read_nli
from entail.data.passages.files import Question
from entail.errors import EvaluationError
from entail.evaluation.nli.judge import Judge
from entail.evaluation.passages.pool import KnownQuestion, Pool
from entail.evaluation.passages.store import PassageStore, store_passages
from entail.progress import ProgressCallback
from entail.training.nli_source import evenly
from entail.tuning.examples import examples_of, with_hard_negatives
from entail.tuning.relevance import Relevance, beside_claims, claims_entailed, premises_told_apart

if TYPE_CHECKING:
    from entail.data.records import Corpus
    from entail.encoders.encoder import Encoder

DEPTH = 20
"""Passages that BM25 ranks for a question, from which its hard negative is taken."""

MOST_PAIRS = 5_000
"""Most pairs of each label kept of a file, evenly from all."""

FEW = 30
"""Values of a group below which the summary warns."""


@dataclass(frozen=True)
class RelevanceFigure:
    """Measured values with their texts.

    Attributes:
        relevance: Values by group.
        rows: Texts with their values, for a table.
        left_out: Questions without a hard negative.
    """

    relevance: Relevance
    rows: tuple[Mapping[str, object], ...]
    left_out: int = 0


@dataclass(frozen=True)
class LabelledPairs:
    """Entailing and neutral pairs of a file.

    Attributes:
        summary: Counts of pairs read and left out, in words.
        entailing: Pairs whose premise entails the hypothesis.
        neutral: Pairs whose premise neither entails nor contradicts it.
    """

    summary: str
    entailing: tuple[NliPair, ...]
    neutral: tuple[NliPair, ...]

    def sample(self, count: int) -> tuple[NliPair, ...]:
        """Return pairs, half of them of each label, evenly from the file.

        Labels alternate in files, so every second or third row would have the same one.
        """
        return (*evenly(self.entailing, (count + 1) // 2), *evenly(self.neutral, count // 2))


def read_labelled(content: bytes, *, name: str) -> LabelledPairs:
    """Read the entailing and neutral pairs of a file (`entail.data.nli.pairs.read_nli`).

    Raises:
        FormatError: If it cannot be read.
    """
    reading = read_nli(content, name=name)
    entailing, neutral = (
        evenly([pair for pair in reading.pairs if pair.label == label], MOST_PAIRS)
        for label in ("entailment", "neutral")
    )
    return LabelledPairs(str(reading), entailing, neutral)


def measure_claims(
    pool: Pool, questions: Sequence[KnownQuestion], judge: Judge, *, progress: ProgressCallback | None = None
) -> RelevanceFigure:
    """Measure P(passage entails claim) of answering passages and of hard negatives (Figure 2).

    Args:
        pool: Passages, from which BM25 takes hard negatives.
        questions: Questions whose passages are known.
        judge: Cross-encoder of natural language inference.
        progress: Called with the progress.

    Raises:
        EvaluationError: If BM25 finds only passages that answer.
    """
    named = [
        Question(str(number), one.question, one.answers, tuple(map(str, sorted(one.gold))))
        for number, one in enumerate(questions)
    ]
    with tempfile.TemporaryDirectory() as folder:
        examples = examples_of(_stored(pool.corpus, Path(folder), progress), named)
        examples = with_hard_negatives(examples, depth=DEPTH, progress=progress)
        measured = beside_claims(examples)
        if not measured:
            raise EvaluationError(
                f"{pool.name}: expected passages that look as if they answered, found none by BM25 for "
                f"{len(questions):,} questions; choose a larger pool"
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
        for one, first, second in zip(measured, found.groups[gold], found.groups[negative], strict=True)
    )
    return RelevanceFigure(found, rows, len(questions) - len(measured))


def _stored(corpus: Corpus, folder: Path, progress: ProgressCallback | None) -> PassageStore:
    """Store the passages by position; hard negatives are searched in a store."""
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for position, text in enumerate(corpus.texts):
            file.write(json.dumps({"_id": str(position), "title": "", "text": text}) + "\n")
    return store_passages([folder], folder / "store", progress=progress)


def measure_premises(
    pairs: Sequence[NliPair], encoder: Encoder, *, progress: ProgressCallback | None = None
) -> RelevanceFigure:
    """Measure the similarity of hypotheses to entailing, neutral and irrelevant premises (Figure 3).

    Args:
        pairs: Entailing pairs, then neutral ones.
        encoder: The retriever.
        progress: Called with the progress.

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
    return RelevanceFigure(found, rows)


def joined_rows(figures: Sequence[RelevanceFigure]) -> list[dict[str, Any]]:
    """Join the rows of figures over the same pairs, a column for each figure."""
    return [
        {name: value for row in rows for name, value in row.items()}
        for rows in zip(*(figure.rows for figure in figures), strict=True)
    ]


def summarise_claims(figure: RelevanceFigure) -> str:
    """Return the result of Figure 2 in words."""
    gold, negative = figure.relevance.groups.values()
    above = figure.relevance.above("hard negatives")
    higher = int((gold > negative).sum())
    words = (
        f"Answering passages score above hard negatives in **{of_hundred(above)} comparisons** (chance: 50). "
        f"Mean P(entailment): {gold.mean():.2f} for answering passages, {negative.mean():.2f} for hard "
        f"negatives. Of {len(gold):,} questions, {higher:,} score above their own hard negative."
    )
    return words + _warn_few(figure)


def summarise_premises(figure: RelevanceFigure) -> str:
    """Return the result of Figure 3 in words."""
    found = figure.relevance
    means = {name: float(values.mean()) for name, values in found.groups.items()}
    words = (
        f"Entailing premises score above neutral ones in **{of_hundred(found.above('neutral'))} "
        f"comparisons**, above irrelevant ones in **{of_hundred(found.above('irrelevant'))}** (chance: 50). "
        f"Mean similarity: "
        f"{means['entailing']:.2f} entailing, {means['neutral']:.2f} neutral, "
        f"{means['irrelevant']:.2f} irrelevant."
    )
    return words + _warn_few(figure)


def of_hundred(share: float) -> str:
    """Return a share as a count of 100; only exact shares become 0 and 100.

    >>> of_hundred(0.784), of_hundred(0.998), of_hundred(1.0), of_hundred(0.002), of_hundred(0.0)
    ('78 of 100', 'over 99 of 100', '100 of 100', 'under 1 of 100', '0 of 100')
    """
    if 0.995 <= share < 1:
        return "over 99 of 100"
    return "under 1 of 100" if 0 < share < 0.005 else f"{share * 100:.0f} of 100"


def _warn_few(figure: RelevanceFigure) -> str:
    fewest = min(map(len, figure.relevance.groups.values()))
    return f" Few values ({fewest:,} a group): interpret with care." if fewest < FEW else ""


def summary_rows(figures: Sequence[RelevanceFigure]) -> list[dict[str, Any]]:
    """Return a row for each group of each figure: count, mean, quartiles, share of comparisons above."""
    rows = []
    for figure in figures:
        data = figure.relevance.to_json()
        first = next(iter(data["groups"]))
        for name, group in data["groups"].items():
            lower, median, upper = (f"{value:.6f}" for value in group["quartiles"])
            row = {"measure": data["measure"], "by": data["by"], "group": name, "values": group["n"]}
            row |= {"mean": f"{group['mean']:.6f}"}
            row |= {"lower quartile": lower, "median": median, "upper quartile": upper}
            above = f"{group['above']:.6f}" if "above" in group else ""
            rows.append(row | {f"share of comparisons with {first} above": above})
    return rows
