"""Relevance and entailment: Figures 2 and 3 of Dai et al. (2024).

Figure 2: probability, by a model of natural language inference, that a passage entails the claim of a
question, for passages that answer it and for hard negatives. Figure 3: similarity, by a retriever, of
hypotheses to entailing, neutral and irrelevant premises.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from entail.claims import existence_claim
from entail.data.nli.pairs import NliPair, read_nli
from entail.data.passages.files import Question
from entail.errors import EvaluationError
from entail.evaluation.nli.pair_similarity import Judge
from entail.evaluation.passages.pool import KnownQuestion, Pool
from entail.evaluation.passages.store import store_passages
from entail.progress import ProgressCallback
from entail.statistics.classification import Values
from entail.training.nli_source import take_evenly
from entail.tuning.examples import Examples, answer_position, examples_of, excerpt, with_hard_negatives

if TYPE_CHECKING:
    from entail.encoders.encoder import Encoder

BINS = 20

DEPTH = 20
"""Number of passages that BM25 ranks for a question, from which its hard negative is taken."""

MAX_PAIRS = 5_000
"""Maximum number of pairs of each label read from a file."""

FEW = 30
"""Number of values of a group below which a summary warns."""


@dataclass(frozen=True)
class Relevance:
    """Values of one measure, by group.

    Attributes:
        measure: Title of the measure.
        by: Name of the judge or retriever.
        groups: Name -> values; the first is expected to be above the others.
        bounds: Range of the measure.
        rows: Texts with their values, for a table.
        left_out: Number of questions without a hard negative.
    """

    measure: str
    by: str
    groups: Mapping[str, Values] = field(repr=False)
    bounds: tuple[float, float] = (0.0, 1.0)
    rows: tuple[Mapping[str, object], ...] = field(default=(), repr=False)
    left_out: int = 0

    def above(self, other: str) -> float:
        """Return P(a value of the first group > one of another), ties counted half."""
        from sklearn.metrics import roc_auc_score

        first = next(iter(self.groups.values()))
        values = np.concatenate([first, self.groups[other]])
        return float(roc_auc_score(np.arange(len(values)) < len(first), values))

    def histogram(self, group: str) -> Values:
        """Return the share of a group's values in each of `BINS` bins of equal width, shape (bins,)."""
        values = self.groups[group]
        counts, _ = np.histogram(values, bins=BINS, range=self.bounds)
        shares: Values = counts / max(1, len(values))
        return shares

    def to_json(self) -> dict[str, Any]:
        """Return count, mean, quartiles and histogram of each group, and `above` of all but the first."""
        first = next(iter(self.groups))
        return {
            "measure": self.measure,
            "by": self.by,
            "bounds": list(self.bounds),
            "groups": {
                name: {
                    "n": len(values),
                    "mean": float(values.mean()),
                    "quartiles": np.quantile(values, (0.25, 0.5, 0.75)).tolist(),
                    "histogram": self.histogram(name).tolist(),
                    **({"above": self.above(name)} if name != first else {}),
                }
                for name, values in self.groups.items()
            },
        }


def judge_claims(
    examples: Examples, judge: Judge, *, words: int = 100, progress: ProgressCallback | None = None
) -> Relevance:
    """Compute P(passage entails claim) of gold passages and hard negatives (Figure 2).

    Args:
        examples: Questions; those without hard negatives are left out, of the others the hardest is taken.
        judge: Model of natural language inference.
        words: Maximum number of words of a passage, of a gold one around its answer, of another at the
            same place.
        progress: Callback for progress.

    Raises:
        EvaluationError: If no question has a hard negative.
    """
    with_negatives = [example for example in examples.examples if example.negatives]
    if not with_negatives:
        raise EvaluationError(
            f"expected questions with hard negatives, found {len(examples)} without; add them by BM25 "
            "(with_hard_negatives)"
        )
    claims, answering, negatives = [], [], []
    for example in with_negatives:
        gold, other = (examples.store[at].whole for at in (example.gold[0], example.negatives[0]))
        share = answer_position(gold, example.answers)
        claims.append(existence_claim(example.question).text)
        answering.append(excerpt(gold, words=words, answers=example.answers))
        negatives.append(excerpt(other, words=words, share=share))
    probabilities = judge.entailment([*answering, *negatives], [*claims, *claims], progress=progress)
    of_answering, of_negatives = np.split(probabilities, 2)
    rows = tuple(
        {
            "question": example.question,
            "claim": claim,
            "passage that answers": gold,
            "P(it entails the claim)": round(first, 6),
            "hard negative": other,
            "P(that entails the claim)": round(second, 6),
        }
        for example, claim, gold, first, other, second in zip(
            with_negatives, claims, answering, of_answering, negatives, of_negatives, strict=True
        )
    )
    groups = {"passages that answer": of_answering, "hard negatives": of_negatives}
    left_out = len(examples) - len(with_negatives)
    return Relevance("P(passage entails claim)", judge.name, groups, rows=rows, left_out=left_out)


def compare_premises(
    pairs: Sequence[NliPair], encoder: Encoder, *, seed: int = 0, progress: ProgressCallback | None = None
) -> Relevance:
    """Compute the similarity of hypotheses to premises of three kinds (Figure 3).

    Irrelevant premises are drawn from other pairs, one for each hypothesis.

    Args:
        pairs: Entailment and neutral pairs; contradictions are left out.
        encoder: Retriever; hypotheses are its queries.
        seed: Random seed.
        progress: Callback for progress.

    Raises:
        EvaluationError: If either label is missing, or all pairs have the same premise.
    """
    pairs = [pair for pair in pairs if pair.label != "contradiction"]
    labels = np.array([pair.label for pair in pairs])
    premises = list(dict.fromkeys(pair.premise for pair in pairs))
    if len(premises) < 2 or not {"entailment", "neutral"} <= set(labels.tolist()):
        raise EvaluationError(
            f"expected entailment and neutral pairs of several premises, found {len(pairs)} pairs of "
            f"{len(premises)} premises; give another file"
        )
    position = {premise: at for at, premise in enumerate(premises)}
    own = np.array([position[pair.premise] for pair in pairs])
    steps = np.random.default_rng(seed).integers(1, len(premises), size=len(pairs))
    other_positions = (own + steps) % len(premises)  # never its own
    targets = encoder.encode_premises(premises, progress=progress)
    queries = encoder.encode_queries([pair.hypothesis for pair in pairs], progress=progress)

    def cosines(of: NDArray[np.int64]) -> Values:
        similarities: Values = np.einsum("ij,ij->i", queries, targets[of]).astype(np.float64)
        return similarities

    similarity, irrelevant = cosines(own), cosines(other_positions)
    groups = {
        "entailing": similarity[labels == "entailment"],
        "neutral": similarity[labels == "neutral"],
        "irrelevant": irrelevant,
    }
    rows = tuple(
        {
            "label": pair.label,
            "hypothesis": pair.hypothesis,
            "premise": pair.premise,
            f"similarity by {encoder.name}": round(value, 6),
            f"similarity of an irrelevant premise by {encoder.name}": round(other, 6),
        }
        for pair, value, other in zip(pairs, similarity, irrelevant, strict=True)
    )
    return Relevance("similarity of hypothesis and premise", encoder.name, groups, (-1.0, 1.0), rows)


@dataclass(frozen=True)
class LabelledPairs:
    """Entailing and neutral pairs of a file.

    Attributes:
        summary: Counts of pairs read and left out, as text.
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
        return (*take_evenly(self.entailing, (count + 1) // 2), *take_evenly(self.neutral, count // 2))


def read_labelled(content: bytes, *, name: str) -> LabelledPairs:
    """Read the entailing and neutral pairs of a file (`entail.data.nli.pairs.read_nli`).

    Raises:
        FormatError: If it cannot be read.
    """
    reading = read_nli(content, name=name)
    entailing, neutral = (
        take_evenly([pair for pair in reading.pairs if pair.label == label], MAX_PAIRS)
        for label in ("entailment", "neutral")
    )
    return LabelledPairs(str(reading), entailing, neutral)


def measure_claims(
    pool: Pool, questions: Sequence[KnownQuestion], judge: Judge, *, progress: ProgressCallback | None = None
) -> Relevance:
    """Compute Figure 2 over a pool, with hard negatives by BM25; see `judge_claims`.

    Raises:
        EvaluationError: If BM25 finds only passages that answer.
    """
    named = [
        Question(str(number), question.question, question.answers, tuple(map(str, sorted(question.gold))))
        for number, question in enumerate(questions)
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
            for position, text in enumerate(pool.corpus.texts):
                file.write(json.dumps({"_id": str(position), "title": "", "text": text}) + "\n")
        store = store_passages([folder], folder / "store", progress=progress)
        examples = with_hard_negatives(examples_of(store, named), depth=DEPTH, progress=progress)
        if not any(example.negatives for example in examples.examples):
            raise EvaluationError(
                f"{pool.name}: expected passages that look as if they answered, found none by BM25 for "
                f"{len(questions):,} questions; choose a larger pool"
            )
        return judge_claims(examples, judge, progress=progress)


def summarise_claims(figure: Relevance) -> str:
    """Return the result of Figure 2 as text."""
    gold, negative = figure.groups.values()
    above = figure.above("hard negatives")
    higher = int((gold > negative).sum())
    words = (
        f"Answering passages score above hard negatives in **{percent(above)} of comparisons** (chance: "
        f"50 %). Mean P(entailment): {gold.mean():.2f} for answering passages, {negative.mean():.2f} for "
        f"hard negatives. Of {len(gold):,} questions, {higher:,} score above their own hard negative."
    )
    return words + _warn_few(figure)


def summarise_premises(figure: Relevance) -> str:
    """Return the result of Figure 3 as text."""
    means = ", ".join(f"{values.mean():.2f} {name}" for name, values in figure.groups.items())
    words = (
        f"Entailing premises score above neutral ones in **{percent(figure.above('neutral'))} of "
        f"comparisons**, above irrelevant ones in **{percent(figure.above('irrelevant'))}** (chance: 50 %). "
        f"Mean similarity: {means}."
    )
    return words + _warn_few(figure)


def percent(share: float) -> str:
    """Return a share in per cent; only exact shares become 0 and 100.

    >>> percent(0.784), percent(0.998), percent(1.0), percent(0.002), percent(0.0)
    ('78 %', 'over 99 %', '100 %', 'under 1 %', '0 %')
    """
    if 0.995 <= share < 1:
        return "over 99 %"
    return "under 1 %" if 0 < share < 0.005 else f"{share * 100:.0f} %"


def _warn_few(figure: Relevance) -> str:
    fewest = min(map(len, figure.groups.values()))
    return f" Few values ({fewest:,} a group): interpret with care." if fewest < FEW else ""
