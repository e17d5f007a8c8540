"""Judge of entailment as a method: source, training, preview and model card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.judge.config import JudgeConfig
from entail.progress import ProgressCallback
from entail.training.method import CardText, CrossEncoderText, Method, Preview, Run
from entail.training.nli_source import SAMPLE, PairData, PairSource

if TYPE_CHECKING:
    from entail.evaluation.retrieval.paired import QueryFigures


def train(data: PairData, config: JudgeConfig, run: Run) -> Mapping[str, Any]:
    """Train; see `train_judge`."""
    from entail.judge.training import train_judge

    return train_judge(data.pairs, config, dev=data.dev, run=run).to_json()


def evaluate(model: str | Path, data: PairData, progress: ProgressCallback | None) -> QueryFigures | None:
    """Measure whether the judge tells entailments from other dev pairs; None without dev pairs.

    Rivals are the answer that is right most often, and a threshold on the share of the hypothesis's stems
    in the premise, which is the best on the same pairs.
    """
    import numpy as np

    from entail.evaluation.retrieval.paired import QueryFigures
    from entail.index.lexical import stemmed_words
    from entail.judge.judges import THRESHOLD, NliJudge
    from entail.statistics.classification import best_threshold

    if not data.dev:
        return None
    judge = NliJudge(model)
    premises, hypotheses = [pair.premise for pair in data.dev], [pair.hypothesis for pair in data.dev]
    entails = np.array([pair.label == "entailment" for pair in data.dev])
    stems = [
        (set(stemmed_words(first)), set(stemmed_words(second)))
        for first, second in zip(premises, hypotheses, strict=True)
    ]
    shared = np.array([len(first & second) / max(1, len(second)) for first, second in stems])
    calls = {
        "Accuracy": judge.entailment(premises, hypotheses, progress=progress) >= THRESHOLD,
        "always the same answer": np.full(len(entails), entails.mean() >= 0.5),
        "shared words": shared > best_threshold(shared, entails).value,
    }
    right = {name: (called == entails).astype(np.float64) for name, called in calls.items()}
    return QueryFigures(
        encoder=judge.name,
        revision=judge.revision,
        split=f"{len(entails):,} pairs of {data.split}",
        queries=tuple(f"{first}\t{second}" for first, second in zip(premises, hypotheses, strict=True)),
        primary="Accuracy",
        values={"Accuracy": (right.pop("Accuracy"), np.ones(len(entails)))},
        rivals=right,
    )


def preview(data: PairData, config: JudgeConfig) -> Preview:
    """Count the pairs of each label."""
    from entail.data.nli.pairs import LABELS, NOT_ENTAILMENT
    from entail.judge.training import clean_pairs

    clean = clean_pairs(data.pairs, data.dev)
    left_out = {
        "rows with another label or that cannot be read": data.skipped,
        "pairs that were there before": clean.counts["repeated"],
        "pairs with two labels": clean.counts["with two labels"],
        "pairs that do not tell neutral from contradiction": clean.counts[NOT_ENTAILMENT],
        "pairs that stand in dev, too": clean.counts["pairs of dev"],
    }
    return Preview.of(
        counts={
            "pairs": clean.counts["pairs"],
            **{label: clean.counts[label] for label in LABELS},
            "dev pairs": len(data.dev),
        },
        left_out=left_out,
        header=("premise", "hypothesis", "label"),
        rows=((pair.premise, pair.hypothesis, pair.label) for pair in clean.pairs),
    )


def card_text(record: Mapping[str, Any], name: str) -> CrossEncoderText:
    """Return the text of the card of a judge, or of a check of steps."""
    description = [
        "It reads a premise and a hypothesis, and returns probabilities of entailment, neutral and "
        "contradiction. It makes no sentence vectors."
    ]
    limitations = (
        "It is small, and trained on captions and short English texts. Passages of a hundred words are "
        "longer than most of its training data, and its probabilities are not calibrated on them: compare "
        "them with each other, do not read them as frequencies."
    )
    if record.get("steps"):
        description.append(
            "It learnt from steps of trees: `entail.judge.steps.StepVerifier` combines it with the words "
            "that premises and conclusion share, takes the best subset of the premises, and says "
            "whether the step holds, does not hold yet, or cannot be told."
        )
        limitations = (
            "It is small, and learnt from steps of elementary science. A step with one premise exchanged "
            "for a very similar one passes often, and most steps that hold get no clear answer. The "
            "probability is calibrated on as many steps that hold as do not."
        )
    return CrossEncoderText(
        kind="check of steps" if record.get("steps") else "judge",
        description=description,
        usage=f"entail evaluate nli --judge {name} --data PAIRS.jsonl",
        limitations=limitations,
        pipeline_tag="text-classification",
        tags=("natural-language-inference",),
    )


CARD = CardText(
    title="Judge of entailment (natural language inference)",
    idea="tells whether a premise entails a hypothesis, contradicts it, or neither",
    cross_encoder=card_text,
)

JUDGE = Method(
    name="judge",
    title="Judge of entailment: learn to say what a passage entails",
    card=CARD,
    config=JudgeConfig,
    train=train,
    evaluate=evaluate,
    source=PairSource,
    sample=SAMPLE,
    role="judge",
    presets={"sample": JudgeConfig(epochs=5)},
    preview=preview,
    common=("base", "tuning", "rank", "epochs", "batch_size", "learning_rate", "max_length"),
)
