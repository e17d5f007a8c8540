"""Facts of a model card, all from the model's folder: `entail.json` and its weights."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from entail.data.writing import replacing
from entail.encoders.card import Card, read_card
from entail.encoders.catalogue import EncoderEntry, resolve
from entail.encoders.cross.encoder import cross_parts
from entail.encoders.weights import read_json
from entail.errors import EncoderError, SettingsError
from entail.training.cards.metrics import KINDS, Metrics, read_stored, to_stored
from entail.training.cards.result_files import Weights, read_metrics
from entail.training.cards.sources import OTHER, data_source, hub_id, proposed_licence
from entail.training.method import CardText, CrossEncoderText, DataSource, methods

AnyMetrics = TypeVar("AnyMetrics", bound=Metrics)

_OBJECTS = ("config", "figures", "trained_on", "averaged", "tuned")


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """Facts of a model card.

    Attributes:
        name: Name of the model.
        record: Its `entail.json`; the parts in `_OBJECTS` are objects.
        text: Description of its method.
        entry: The encoder; None for a cross-encoder.
        cross: Text of a cross-encoder; None for an encoder.
        base: Its base, None where that is unknown here.
        sources: Its training data; None where not recorded.
        licence: The publisher's decision, else a proposal.
        metrics: Its evaluation figures, one per result file.
        notes: Further paragraphs on its training.
    """

    name: str
    record: Mapping[str, Any]
    text: CardText
    entry: EncoderEntry | None
    cross: CrossEncoderText | None
    base: EncoderEntry | None
    sources: tuple[DataSource, ...] | None
    licence: str
    metrics: tuple[Metrics, ...]
    notes: tuple[str, ...]

    @property
    def revision(self) -> str | None:
        """Revision of an encoder; None for a cross-encoder."""
        return self.entry.revision if self.entry is not None else None

    @property
    def is_adapter(self) -> bool:
        """Whether the folder holds an adapter, not a whole model."""
        return bool(self.record.get("base")) if self.entry is None else self.entry.base is not None

    @property
    def is_licence_decided(self) -> bool:
        """Whether the publisher decided on the licence."""
        return self.record.get("licence_by") == "publisher"

    @property
    def base_name(self) -> str | None:
        """Hub id of the base, else its folder."""
        if self.base is None:
            return None
        return hub_id(self.base) or f"models/{self.base.name}"

    @property
    def config(self) -> dict[str, Any]:
        """Settings of the training with their effective values; of an average the common ones."""
        config, *averaged_configs = [
            self.record["config"],
            *(encoder.get("config") or {} for encoder in self.record["averaged"].get("encoders") or ()),
        ]
        if not config and averaged_configs:
            common = averaged_configs[0].items()
            config = {
                name: value for name, value in common if all(c.get(name) == value for c in averaged_configs)
            }
        return effective_config(str(self.record.get("method")), config)

    def of_kind(self, kind: type[AnyMetrics]) -> tuple[AnyMetrics, ...]:
        """Return the metrics of one kind."""
        return tuple(metric for metric in self.metrics if isinstance(metric, kind))


def card_text(name: str | None) -> CardText:
    """Return the description of a method; of an unknown one a generic description.

    >>> card_text("aeenc").title
    'Active entailment encoding (AE-Enc)'
    >>> card_text("mine").title
    'mine'
    """
    definition = methods().get(name or "")
    if definition is not None and definition.card is not None:
        return definition.card
    return CardText(
        title=(definition.title if definition else "") or name or "an unnamed method",
        idea="encodes sentences as vectors by which they are compared",
    )


def effective_config(method: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the values in use for those that are None.

    >>> effective_config("dpr", {"tuning": "full", "learning_rate": None, "seed": 0})
    {'tuning': 'full', 'learning_rate': 1e-05, 'seed': 0}
    """
    definition = methods().get(method)
    missing = {
        name: prop for name, prop in card_text(method).effective.items() if config.get(name, 0) is None
    }
    if definition is None or not missing:
        return dict(config)
    fields = {field.name for field in definition.fields}
    with contextlib.suppress(SettingsError, TypeError, ValueError):  # settings of another version
        settings = {name: value for name, value in config.items() if name in fields and value is not None}
        configured = definition.make_config(settings)
        return {**config, **{name: getattr(configured, prop, None) for name, prop in missing.items()}}
    return dict(config)


def read_facts(folder: Path, *, name: str | None = None) -> ModelFacts:
    """Return the facts of a model; its name is by default the folder's.

    Raises:
        EncoderError: If the folder is no model of this project, or its `entail.json` is malformed.
    """
    name = name or folder.resolve().name
    record = _read_record(folder, name)
    text = card_text(record.get("method"))
    entry = resolve(folder) if text.cross_encoder is None else None
    base = entry.base if entry is not None and entry.base is not None else _resolve_base(record.get("base"))
    data = record["trained_on"].get("data")
    names = [data] if isinstance(data, str) else data
    sources = tuple(data_source(str(source_name)) for source_name in names) if names else None
    licence = record.get("licence") if record.get("licence_by") == "publisher" else None
    if licence is None and sources:
        of_base = base.licence if base is not None else record.get("base_licence")
        licence = proposed_licence([of_base, *(source.licence for source in sources)])
    try:
        metrics = read_stored(record["figures"])
    except ValueError as error:
        raise EncoderError(
            f"{name}: expected figures in entail.json as `entail card --results` writes them, found {error}; "
            "remove them and run the command again"
        ) from error
    return ModelFacts(
        name=name,
        record=record,
        text=text,
        entry=entry,
        cross=text.cross_encoder(record, name) if text.cross_encoder else None,
        base=base,
        sources=sources,
        licence=licence or OTHER,
        metrics=metrics,
        notes=tuple(record.get("notes") or ()),
    )


def update_facts(
    folder: Path,
    *,
    results: Sequence[Path] = (),
    data: Sequence[str] = (),
    licence: str | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Write facts to `entail.json` that the training does not know; the revision stays.

    Args:
        folder: Folder of the model.
        results: Result files with its figures; newer figures replace those that they supersede.
        data: Names of its training data sets, in place of the earlier ones.
        licence: Decision of its publisher.
        notes: Paragraphs on its training, in place of the earlier ones.

    Raises:
        EncoderError: If a result file contains no figures of these weights, or something cannot be read or
            written; then nothing was changed.
    """
    facts = read_facts(folder)
    record = dict(facts.record)
    if results:
        weights = _weights(folder, facts)
        metrics = facts.metrics
        for new in [read_metrics(file, weights) for file in results]:
            metrics = (*(old for old in metrics if not new.replaces(old)), new)
        other_figures = {key: value for key, value in record["figures"].items() if key not in _METRIC_KEYS}
        record["figures"] = {**other_figures, **to_stored(metrics)}
    if data:
        record["trained_on"] = {**record["trained_on"], "data": list(dict.fromkeys(data))}
    if licence:
        record |= {"licence": licence, "licence_by": "publisher"}
    if notes:
        record["notes"] = list(notes)
    if record != facts.record:
        record = {part: value for part, value in record.items() if value != {}}
        replace_text(folder / "entail.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def replace_text(file: Path, text: str) -> None:
    """Write a text file atomically.

    Raises:
        EncoderError: If it cannot be written: the old content remains.
    """
    try:
        with replacing(file) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EncoderError(
            f"{file.parent.name}/{file.name} cannot be written: {error.strerror}; the old file remains"
        ) from error


_METRIC_KEYS = {kind.KEY for kind in KINDS}


def _read_record(folder: Path, name: str) -> dict[str, Any]:
    if read_card(folder, name) is None:
        raise EncoderError(
            f"{name}: expected a model with an entail.json, found none; its own README.md is its card"
        )
    record: dict[str, Any] = dict(read_json(folder / "entail.json"))
    parts = {part: record.get(part) or {} for part in _OBJECTS}
    notes = record.get("notes") or []
    wrong = [(part, "an object") for part, value in parts.items() if not isinstance(value, dict)]
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        wrong.append(("notes", "a list of texts"))
    for part, expected in wrong:
        actual = str(record[part])[:60]
        raise EncoderError(f"{name}: expected {expected} as {part!r} in entail.json, found {actual!r}")
    return record | parts


def _resolve_base(name: object) -> EncoderEntry | None:
    """Return a base by name, None where it is not on this machine."""
    try:
        return resolve(name) if isinstance(name, str) else None
    except EncoderError:
        return None


def _weights(folder: Path, facts: ModelFacts) -> Weights:
    """Return the identity of a model and the command that measures it."""
    entry = facts.entry
    if entry is None:
        parts = cross_parts(folder, read_card(folder, facts.name) or Card())
        command = "nli --judge" if facts.record.get("judge") else "chains --scorer"
        return Weights(revision=parts.revision, command=f"entail evaluate {command} {facts.name}")
    command = f"premises --retriever {entry.base.name if entry.base else 'minilm'} --retriever"
    if entry.gaussian:
        command = "nli --data DATA --encoder"
    elif entry.method in ("tuning", "dpr"):
        command = "passages --passages FILE --questions FILE --encoder"
    base = entry.base.revision if entry.base else None
    return Weights(revision=entry.revision, base=base, command=f"entail evaluate {command} {entry.name}")
