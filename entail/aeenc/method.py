"""Method record of AE-Enc."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.aeenc.config import PAPER, AeencConfig, decisions_config
from entail.aeenc.source import SAMPLE, TrainingData, TreeSource, decision_halves
from entail.progress import ProgressCallback
from entail.training.config import TrainingConfig
from entail.training.method import CardText, Method, Preview, Run

if TYPE_CHECKING:
    from entail.evaluation.retrieval.paired import QueryFigures


def train(data: TrainingData, config: AeencConfig, run: Run) -> Mapping[str, Any]:
    """Run `train_aeenc`."""
    from entail.aeenc.training import train_aeenc

    return train_aeenc(
        data.corpus,
        config,
        trees=data.trees,
        judgements=data.judgements,
        dev=data.dev,
        dev_corpus=data.original,
        run=replace(run, data=run.data or data.names),
    ).to_json()


def evaluate(
    encoder: str | Path, data: TrainingData, progress: ProgressCallback | None
) -> QueryFigures | None:
    """Evaluate the retrieval of the children of every parent of the dev trees; None without any."""
    from entail.evaluation.retrieval.paired import QueryFigures
    from entail.evaluation.retrieval.premises import evaluate_premises
    from entail.index.factory import retriever

    if not data.dev:
        return None
    index = retriever(str(encoder), data.original, progress=progress)
    measured = evaluate_premises(data.original, data.dev, index, progress=progress)
    split = f"{len(data.dev):,} dev trees over {data.original.name}"
    return QueryFigures.of_premises(measured, split=split)


def preview(data: TrainingData, config: TrainingConfig) -> Preview:
    """Return the pairs of trees or judgements; rounds of ACS, and lists of a retriever, add more."""
    from entail.aeenc.pairs import gold_pairs, judged_pairs

    if data.judgements is None:
        pairs = gold_pairs(data.corpus, data.trees)
    else:
        pairs = judged_pairs(data.corpus, data.judgements)
    texts = data.corpus.texts
    rows = (
        (query, texts[position], "explains it" if positive else "does not")
        for query, position, positive in pairs.flat()
    )
    reasons = {
        "missing": "not in the corpus",
        "own_text": "a sentence that would explain itself",
        "both": "explaining and not, at once",
        "without_positive": "rejected for sentences of which nothing is accepted",
    }
    contradictions = len(data.judgements.contradictions) if data.judgements else 0
    left_out = {words: pairs.dropped.get(rule, 0) for rule, words in reasons.items()}
    left_out["accepted and also rejected for the same sentence"] = contradictions
    return Preview.of(
        counts={**pairs.counts, "premises": len(data.corpus), "dev trees": len(data.dev)},
        left_out=left_out,
        header=("sentence", "premise", "the premise"),
        rows=rows,
    )


CARD = CardText(
    title="Active entailment encoding (AE-Enc)",
    idea="ranks the premises that *explain* a claim above those that merely resemble it",
    citation="Bogatu et al.: Active entailment encoding for explanation tree construction using parsimonious "
    "generation of hard negatives. arXiv:2208.01376, 2022.",
    tags=("hard-negatives",),
)

AEENC = Method(
    name="aeenc",
    source=TreeSource,
    sample=SAMPLE,
    title="AE-Enc: learn what explains and what only looks similar",
    card=CARD,
    config=AeencConfig,
    train=train,
    evaluate=evaluate,
    folds=decision_halves,
    preview=preview,
    common=("base", "initial", "towers", "rank", "live_k", "rounds", "epochs", "learning_rate"),
    presets={"paper": PAPER, "decisions": decisions_config()},
    for_decisions=decisions_config,
)
