"""Method records of entailment tuning, and of the dense passage retrieval (DPR) after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.progress import ProgressCallback
from entail.training.method import CardText, Method, Preview, Run
from entail.tuning.config import DPR_PAPER, PAPER, DprConfig, TuningConfig
from entail.tuning.source import SAMPLE, PassageData, PassageSource, TuningSource

if TYPE_CHECKING:
    from entail.evaluation.retrieval.paired import QueryFigures


def train_masked(data: PassageData, config: TuningConfig, run: Run) -> Mapping[str, Any]:
    """Run `train_tuning`."""
    from entail.tuning.examples import entailed_pairs
    from entail.tuning.training import train_tuning

    pairs = entailed_pairs(data.examples, data.nli, words=config.words)
    dev = entailed_pairs(data.dev, words=config.words) if data.dev else ()
    return train_tuning(pairs, config, dev=dev, run=run).to_json()


def train_contrast(data: PassageData, config: DprConfig, run: Run) -> Mapping[str, Any]:
    """Find hard negatives for all questions at once, so that BM25 indexes the pool once; run `train_dpr`."""
    from entail.tuning.examples import with_missing_negatives
    from entail.tuning.training import train_dpr

    train, dev = data.examples, data.dev
    if config.negatives:
        every = replace(train, examples=(*train.examples, *(dev.examples if dev else ())))
        rows = with_missing_negatives(every, depth=config.depth, progress=run.progress).examples
        train = replace(train, examples=rows[: len(train)])
        dev = dev and replace(dev, examples=rows[len(train) :])
    return train_dpr(train, config, dev=dev, run=run).to_json()


def evaluate(
    encoder: str | Path, data: PassageData, progress: ProgressCallback | None
) -> QueryFigures | None:
    """Evaluate the retrieval of the dev questions' gold passages from the whole pool; None without any."""
    import numpy as np

    from entail.evaluation.passages.retrieval import evaluate_passages
    from entail.evaluation.retrieval.paired import QueryFigures

    questions = tuple(question for question in data.dev_questions if question.gold)
    if not questions:
        return None
    evaluation = evaluate_passages(data.examples.store, questions, encoder=str(encoder), progress=progress)
    weight = np.ones(len(questions))
    return QueryFigures(
        encoder=evaluation.retriever,
        revision=evaluation.revision,
        split=f"{len(questions):,} questions of {data.split}, {evaluation.passages:,} passages",
        queries=tuple(question.text for question in questions),
        primary="MRR",
        values={name: (column, weight) for name, column in evaluation.values.items()},
    )


def preview(data: PassageData, config: TuningConfig | DprConfig) -> Preview:
    """Return the counts, and the claims of the first questions."""
    from entail.claims import existence_claim
    from entail.tuning.examples import excerpt

    examples = data.examples
    counts = {
        "questions": len(examples),
        "passages": len(examples.store),
        "dev questions": len(data.dev or ()),
    }
    if isinstance(config, TuningConfig):
        counts["entailments of other pairs"] = len(data.nli)
    left_out = {
        "questions without a reference passage in the pool": examples.without_gold,
        "dev questions without one": data.dev.without_gold if data.dev else 0,
        **{f"column {name}": len(examples.store) for name in examples.store.unread_columns},
    }
    return Preview.of(
        counts=counts,
        left_out=left_out,
        header=("question", "claim", "passage"),
        rows=(
            (
                example.question,
                existence_claim(example.question).text,
                excerpt(examples.store[example.gold[0]].whole, words=config.words, answers=example.answers),
            )
            for example in examples.examples
        ),
    )


_DAI = "Dai et al.: Improve Dense Passage Retrieval with Entailment Tuning. EMNLP 2024."
_KARPUKHIN = "Karpukhin et al.: Dense Passage Retrieval for Open-Domain Question Answering. EMNLP 2020."

TUNING = Method(
    name="tuning",
    title="Entailment tuning: learn to predict what passages entail, as a start for DPR",
    card=CardText(
        title="Entailment tuning",
        idea="predicts the claim that a passage entails, as a start for training a passage retriever",
        citation=_DAI,
        tags=("entailment-tuning",),
    ),
    config=TuningConfig,
    train=train_masked,
    evaluate=evaluate,
    source=TuningSource,
    sample=SAMPLE,
    preview=preview,
    presets={"paper": PAPER, "sample": TuningConfig(epochs=5)},
    common=("base", "beta", "words", "tuning", "rank", "epochs", "batch_size", "learning_rate"),
)

DPR = Method(
    name="dpr",
    title="DPR: learn which passages answer a question",
    card=CardText(
        title="Dense passage retrieval (DPR)",
        idea="ranks the passages that answer a question above the others",
        citation=f"{_KARPUKHIN} {_DAI}",
        tags=("passage-retrieval", "hard-negatives"),
    ),
    config=DprConfig,
    train=train_contrast,
    evaluate=evaluate,
    source=PassageSource,
    sample=SAMPLE,
    preview=preview,
    presets={"paper": DPR_PAPER},
    common=("base", "initial", "tuning", "rank", "negatives", "epochs", "batch_size", "learning_rate"),
)
