"""Method record of re-rankers: training, evaluation, preview and model card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.aeenc.config import RerankerConfig
from entail.aeenc.method import preview
from entail.aeenc.source import SAMPLE, TrainingData, TreeSource
from entail.progress import ProgressCallback
from entail.training.cards.markdown import code, format_setting
from entail.training.method import CardText, CrossEncoderText, Method, Run

if TYPE_CHECKING:
    from entail.evaluation.retrieval.paired import QueryFigures


def train(data: TrainingData, config: RerankerConfig, run: Run) -> Mapping[str, Any]:
    """Run `train_reranker` on the lists of the retriever of the settings."""
    from entail.aeenc.reranking.training import train_reranker
    from entail.index.factory import retriever

    index = retriever(config.retriever, data.corpus, device=run.device, progress=run.progress)
    return train_reranker(
        data.corpus,
        config,
        index,
        trees=data.trees,
        judgements=data.judgements,
        dev=data.dev,
        run=replace(run, data=run.data or data.names),
    ).to_json()


def evaluate(model: str | Path, data: TrainingData, progress: ProgressCallback | None) -> QueryFigures | None:
    """Evaluate the lists of the default retriever, re-ranked, on the dev trees; None without any."""
    from entail.encoders.cross.reranker import Reranker
    from entail.evaluation.retrieval.paired import QueryFigures
    from entail.evaluation.retrieval.premises import evaluate_premises
    from entail.index.factory import rerank, retriever

    if not data.dev:
        return None
    reranker = Reranker(model)
    index = retriever(RerankerConfig.retriever, data.original, progress=progress)
    split = f"{len(data.dev):,} dev trees over {data.original.name}, lists of {index.name}"
    plain, reranked = (
        QueryFigures.of_premises(
            evaluate_premises(data.original, data.dev, over, progress=progress), split=split
        )
        for over in (index, rerank(index, data.original, reranker))
    )
    rivals = {f"{index.name} alone": plain.values[plain.primary][0]}
    return replace(reranked, encoder=reranker.name, revision=reranker.revision, rivals=rivals)


def card_text(record: Mapping[str, Any], name: str) -> CrossEncoderText:
    """Return the text of a re-ranker's card."""
    form = record.get("reranker") or {}
    retriever = str((record.get("retriever") or {}).get("name") or RerankerConfig.retriever)
    return CrossEncoderText(
        kind="re-ranker",
        description=[
            "It reads a sentence and a premise together and returns one score. The score, times "
            f"{format_setting(form.get('weight'))}, is added to that of a retriever, for the first "
            f"{format_setting(form.get('depth'))} premises of its list. It learnt to order the lists of "
            f"{code(retriever)}. It makes no sentence vectors.",
        ],
        usage=f"entail evaluate premises --corpus CORPUS --trees TREES --retriever {retriever}+{name}",
        limitations="It was trained on elementary science, against one corpus of facts and the lists of one "
        "retriever. It finds no premise that the retriever did not place among the first. On other subjects "
        "it may order worse than the retriever, so measure it there first.",
        pipeline_tag="text-ranking",
        tags=("reranker",),
    )


CARD = CardText(
    title="Re-ranker",
    idea="orders the first premises that a retriever finds by reading each together with the sentence",
    tags=("explanation",),
    cross_encoder=card_text,
)

RERANKER = Method(
    name="reranker",
    source=TreeSource,
    sample=SAMPLE,
    presets={"sample": RerankerConfig(epochs=1)},
    title="Re-ranker: learn to order a retriever's first premises",
    card=CARD,
    config=RerankerConfig,
    train=train,
    evaluate=evaluate,
    preview=preview,
    role="reranker",
    common=("base", "retriever", "tuning", "rank", "negatives", "epochs", "batch_size", "learning_rate"),
)
