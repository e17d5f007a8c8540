"""Description of a training method for model cards; a field of its `Method` record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """Description of a training data set.

    Attributes:
        name: Name in `trained_on.data` of `entail.json` and in the Hub's header.
        about: Content, one sentence.
        licence: Licence id of the Hub; None where it is unknown.
        note: Further licence terms.
        citation: BibTeX.
    """

    name: str
    about: str
    licence: str | None = None
    note: str = ""
    citation: str = ""


@dataclass(frozen=True, kw_only=True)
class CrossEncoderText:
    """Text of a cross-encoder's card that depends on its kind.

    Attributes:
        kind: Noun for the model: scorer, judge.
        description: Input and output, a paragraph each, as Markdown; the first continues a sentence.
        usage: Shell commands.
        dev_caption: Caption of the figures measured during training.
        pipeline_tag: Task id of the Hub.
        evaluation: Further evaluation paragraphs, as Markdown.
        idea: Replacement for the method's idea, for a baseline; empty: the method's.
    """

    kind: str
    description: Sequence[str]
    usage: str
    dev_caption: str
    limitations: str
    pipeline_tag: str
    tags: Sequence[str]
    evaluation: Sequence[str] = ()
    idea: str = ""


@dataclass(frozen=True, kw_only=True)
class CardText:
    """Description of a training method.

    Attributes:
        title: Name of the method.
        idea: Purpose of a trained model: a verb phrase, such as "ranks premises".
        citation: BibTeX of its paper, empty where there is none.
        tags: Further tags of the Hub.
        losses: Value of the setting `loss` -> formula.
        dev_data: Kind of data that the checkpoint is selected on.
        effective: Setting that may be None -> property of the configuration with the value in use.
        sources: Data sets that only this method knows.
        cross_encoder: Text of a cross-encoder from its `entail.json` and its name; None for an encoder.
    """

    title: str
    idea: str
    citation: str = ""
    tags: tuple[str, ...] = ()
    losses: Mapping[str, str] = field(default_factory=dict)
    dev_data: str = "trees"
    effective: Mapping[str, str] = field(default_factory=lambda: {"learning_rate": "highest_rate"})
    sources: tuple[DataSource, ...] = ()
    cross_encoder: Callable[[Mapping[str, Any], str], CrossEncoderText] | None = None
