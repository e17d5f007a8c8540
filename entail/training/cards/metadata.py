"""Facts of a model card, all from the model's folder: `entail.json` and its weights."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.data.writing import write_text
from entail.encoders.card import Card, read_card
from entail.encoders.catalogue import EncoderEntry, resolve
from entail.encoders.cross.encoder import cross_parts
from entail.encoders.weights import read_object
from entail.errors import EncoderError
from entail.training.cards.figures import KEY, Figure, read_figures, read_result
from entail.training.cards.sources import OTHER, data_source, hub_id, proposed_licence
from entail.training.method import CardText, CrossEncoderText, DataSource, methods

_OBJECTS = ("config", "figures", "trained_on", "averaged", "tuned")


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """Facts of a model card.

    `record` is the content of `entail.json`, in which the parts of `_OBJECTS` are objects. An encoder has an
    `entry`, a cross-encoder the text `cross`. `base` is None where it is unknown here.
    """

    name: str
    record: Mapping[str, Any]
    text: CardText
    entry: EncoderEntry | None
    cross: CrossEncoderText | None
    base: EncoderEntry | None
    sources: tuple[DataSource, ...]
    licence: str
    figures: tuple[Figure, ...]

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
        """Settings of the training without those left to the method; of a mean none."""
        return {name: value for name, value in self.record["config"].items() if value not in (None, "")}


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
    names = [data] if isinstance(data, str) else data if isinstance(data, list) else ()
    sources = tuple(data_source(str(source_name)) for source_name in names)
    licence = record.get("licence") if record.get("licence_by") == "publisher" else None
    if licence is None and sources:
        of_base = base.licence if base is not None else record.get("base_licence")
        licence = proposed_licence([of_base, *(source.licence for source in sources)])
    return ModelFacts(
        name=name,
        record=record,
        text=text,
        entry=entry,
        cross=text.cross_encoder(record, name) if text.cross_encoder else None,
        base=base,
        sources=sources,
        licence=licence or OTHER,
        figures=read_figures(record, name),
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
        results: Result files of `entail evaluate`; newer figures replace those on the same data.
        data: Names of its training data sets, in place of the earlier ones.
        licence: Decision of its publisher.
        notes: Paragraphs on its training, in place of the earlier ones.

    Raises:
        EncoderError: If a result file contains no figures of these weights, or something cannot be read; then
            nothing was changed.
        DataError: If it cannot be written.
    """
    facts = read_facts(folder)
    record = dict(facts.record)
    if results:
        card = read_card(folder, facts.name) or Card()
        revision = facts.entry.revision if facts.entry else cross_parts(folder, card).revision
        newer = [figure for file in results for figure in read_result(file, revision)]
        figures = {figure.key: figure for figure in (*facts.figures, *newer)}
        record[KEY] = [figure.to_json() for figure in figures.values()]
    if data:
        record["trained_on"] = {**record["trained_on"], "data": list(dict.fromkeys(data))}
    if licence:
        record |= {"licence": licence, "licence_by": "publisher"}
    if notes:
        record["notes"] = list(notes)
    if record != facts.record:
        record = {part: value for part, value in record.items() if value not in ({}, [])}
        write_text(folder / "entail.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def _read_record(folder: Path, name: str) -> dict[str, Any]:
    if read_card(folder, name) is None:
        raise EncoderError(
            f"{name}: expected a model with an entail.json, found none; its own README.md is its card"
        )
    record = read_object(folder / "entail.json")
    parts = {part: record[part] if isinstance(record.get(part), dict) else {} for part in _OBJECTS}
    notes = record.get("notes")
    texts = [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []
    return record | parts | {"notes": texts}


def _resolve_base(name: object) -> EncoderEntry | None:
    """Return a base by name, None where it is not on this machine."""
    try:
        return resolve(name) if isinstance(name, str) else None
    except EncoderError:
        return None
