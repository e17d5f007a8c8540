"""Reader as a method: source, training, preview and model card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from entail.answering.config import ReaderConfig
from entail.answering.source import ReaderData, ReaderSource, bundled_questions
from entail.training.method import CardText, CrossEncoderText, Method, Preview, Run


def train(data: ReaderData, config: ReaderConfig, run: Run) -> Mapping[str, Any]:
    """Train; see `train_reader`."""
    from entail.answering.training import train_reader

    return train_reader(data.questions, config, dev=data.dev, run=run).to_json()


def preview(data: ReaderData, config: ReaderConfig) -> Preview:
    """Count questions and passages."""
    return Preview.of(
        counts={
            "questions": len(data.questions),
            "passages": len({row.passage for row in data.questions}),
            "dev questions": len(data.dev),
        },
        left_out={"questions without an answer in their passage": data.left_out},
        header=("question", "answer", "passage"),
        rows=((row.question, row.texts[0], row.passage) for row in data.questions),
    )


def card_text(record: Mapping[str, Any], name: str) -> CrossEncoderText:
    """Return the text of a reader's card."""
    return CrossEncoderText(
        kind="reader",
        description=[
            "It reads a question and a passage together, and marks the words of the passage that answer the "
            "question. It makes no sentence vectors."
        ],
        usage=f'entail answer --model {name} --passages PASSAGES.txt --question "Who ...?"',
        limitations="It is small, and learnt from questions that people wrote with the passage in view. It "
        "answers by words of a passage only, and answers even if no passage has the answer.",
        pipeline_tag="question-answering",
        tags=("extractive-qa",),
    )


CARD = CardText(
    title="Reader of answers (extractive question answering)",
    idea="marks the words of a passage that answer a question",
    cross_encoder=card_text,
)

READER = Method(
    name="reader",
    title="Reader: learn to mark the answer to a question in a passage",
    card=CARD,
    config=ReaderConfig,
    train=train,
    source=ReaderSource,
    sample=bundled_questions(),
    role="reader",
    presets={"sample": ReaderConfig(epochs=10)},
    preview=preview,
    common=("base", "tuning", "rank", "negatives", "epochs", "batch_size", "learning_rate", "max_length"),
)
