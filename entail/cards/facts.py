"""What a card is made of: all of it stands in the folder, in `entail.json` and the names of its files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.cards.licences import OTHER, proposed_licence
from entail.cards.measured import Measured, read_measured
from entail.cards.measured_pairs import MeasuredPairs
from entail.cards.measured_passages import MeasuredPassages
from entail.cards.methods import MethodText, method_text
from entail.cards.sources import DataSource, data_source, hub_id
from entail.cards.usage import Form
from entail.data.writing import replacing
from entail.encoders.catalogue import EncoderEntry, resolve
from entail.encoders.weights import read_json
from entail.errors import EncoderError


@dataclass(frozen=True)
class Facts:
    """What a card is made of.

    Attributes:
        name: What the encoder is called.
        entry: The encoder.
        base: What it was trained on, where that is known here.
        told: Its `entail.json`; what should be an object is one.
        method: How it was trained.
        sources: What it learnt from; None where nobody said.
        licence: As it is proposed, or as its publisher decided.
        measured: Its figures in retrieval, a result file each.
        measured_pairs: Its figures on pairs of sentences, likewise.
        measured_passages: Its figures in looking questions up among passages, likewise.
        notes: What else is to be known of how it was made, a text each.
        repo: Its Hub id, None for one that is only here.
        beside: Whether programs stand beside the folder, not above `models/`.
        also: What else there is of it, a sentence of Markdown.
    """

    name: str
    entry: EncoderEntry
    base: EncoderEntry | None
    told: Mapping[str, Any]
    method: MethodText
    sources: tuple[DataSource, ...] | None
    licence: str
    measured: tuple[Measured, ...]
    measured_pairs: tuple[MeasuredPairs, ...] = ()
    measured_passages: tuple[MeasuredPassages, ...] = ()
    notes: tuple[str, ...] = ()
    repo: str | None = None
    beside: bool = False
    also: str = ""

    @property
    def form(self) -> Form:
        """Whether there is an adapter or a whole model."""
        return "whole" if self.entry.base is None else "adapter"

    @property
    def place(self) -> str:
        """What leads to it with sentence-transformers."""
        return self.repo or (f"./{self.name}" if self.beside else f"models/{self.name}")

    @property
    def base_place(self) -> str | None:
        """What leads to the base: its Hub id, else its folder."""
        if self.base is None:
            return None
        return hub_id(self.base) or f"models/{self.base.name}"


def read_facts(
    folder: Path, *, name: str | None = None, repo: str | None = None, beside: bool = False, also: str = ""
) -> Facts:
    """Gather what a card is made of; the arguments are those of `model_card`.

    Raises:
        EncoderError: If the folder is no encoder, or has no `entail.json`.
    """
    name = name or folder.resolve().name
    entry, told = _read(folder, name)
    base = entry.base or _told_base(told)
    named = told["trained_on"].get("data")
    if isinstance(named, str):
        named = [named]
    sources = tuple(data_source(str(one)) for one in named) if named else None
    licence = told.get("licence") if told.get("licence_by") == "publisher" else None
    if licence is None:
        known = base.licence if base is not None else None
        licence = proposed_licence([known, *(one.licence for one in sources or ())]) if sources else OTHER
    return Facts(
        name=name,
        entry=entry,
        base=base,
        told=told,
        method=method_text(entry.method),
        sources=sources,
        licence=licence,
        measured=_measured(told, name),
        measured_pairs=_measured_pairs(told, name),
        measured_passages=_measured_passages(told, name),
        notes=_notes(told, name),
        repo=repo,
        beside=beside,
        also=also,
    )


def remember(
    folder: Path,
    *,
    results: Sequence[Path] = (),
    data: Sequence[str] = (),
    licence: str | None = None,
    notes: Sequence[str] = (),
    name: str | None = None,
) -> None:
    """Write to `entail.json` what a card cannot know of itself.

    The revision stays: it is made of the weights, not of what is told of them.

    Args:
        folder: The encoder's, with its `entail.json`.
        results: Result files with its figures; one of the same name replaces the older one.
        data: Names of the data sets that it learnt from (`entail.cards.sources`), in place of those before.
        licence: As its publisher decides.
        notes: What else is to be known of how it was made, in place of what was said before.
        name: What messages call it.

    Raises:
        EncoderError: If a result file holds no figures of these weights, or something cannot be read or
            written: nothing was changed.
    """
    entry, told = _read(folder, name or folder.resolve().name)
    changed = dict(told)
    if results:
        found = [read_measured(file, entry) for file in results]
        kept: dict[str, dict[str, Measured | MeasuredPairs | MeasuredPassages]] = {
            "measured": {one.source: one for one in _measured(told, entry.name)},
            "measured_pairs": {one.source: one for one in _measured_pairs(told, entry.name)},
            "measured_passages": {one.source: one for one in _measured_passages(told, entry.name)},
        }
        for one in found:
            kept[_PARTS[type(one)]][one.source] = one
        changed["figures"] = {
            **told["figures"],
            **{part: [by[name].to_json() for name in sorted(by)] for part, by in kept.items() if by},
        }
    if data:
        changed["trained_on"] = {**told["trained_on"], "data": list(dict.fromkeys(data))}
    if licence:
        changed |= {"licence": licence, "licence_by": "publisher"}
    if notes:
        changed["notes"] = list(notes)
    if changed != told:
        changed = {part: value for part, value in changed.items() if value != {}}
        replace_text(folder / "entail.json", json.dumps(changed, indent=2, ensure_ascii=False) + "\n")


def replace_text(file: Path, text: str) -> None:
    """Write a text file in one move.

    Raises:
        EncoderError: If it cannot be written: what was there still is.
    """
    try:
        with replacing(file) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EncoderError(
            f"{file.parent.name}/{file.name} cannot be written: {error.strerror}; what was there still is"
        ) from error


def _read(folder: Path, name: str) -> tuple[EncoderEntry, Mapping[str, Any]]:
    entry = resolve(folder)
    told = read_json(folder / "entail.json")
    if not isinstance(told, dict):
        raise EncoderError(
            f"{name}: expected an encoder with an entail.json, found none; its own README.md is its card"
        )
    parts = ("config", "figures", "trained_on", "averaged", "tuned")
    return entry, {**told, **{part: _object(told.get(part), part, name) for part in parts}}


def _object(value: object, part: str, name: str) -> Mapping[str, Any]:
    if value is not None and not isinstance(value, dict):
        raise EncoderError(
            f"{name}: expected an object as {part!r} in entail.json, found {str(value)[:60]!r}"
        )
    return value or {}


def _measured(told: Mapping[str, Any], name: str) -> tuple[Measured, ...]:
    with _as_written(name, "measured"):
        return tuple(Measured.from_json(one) for one in told["figures"].get("measured") or ())


def _measured_pairs(told: Mapping[str, Any], name: str) -> tuple[MeasuredPairs, ...]:
    with _as_written(name, "measured_pairs"):
        return tuple(MeasuredPairs.from_json(one) for one in told["figures"].get("measured_pairs") or ())


def _measured_passages(told: Mapping[str, Any], name: str) -> tuple[MeasuredPassages, ...]:
    with _as_written(name, "measured_passages"):
        parts = told["figures"].get("measured_passages") or ()
        return tuple(MeasuredPassages.from_json(one) for one in parts)


def _notes(told: Mapping[str, Any], name: str) -> tuple[str, ...]:
    notes = told.get("notes") or []
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise EncoderError(
            f"{name}: expected a list of texts as 'notes' in entail.json, found {str(notes)[:60]!r}"
        )
    return tuple(notes)


_PARTS: Mapping[type, str] = {
    Measured: "measured",
    MeasuredPairs: "measured_pairs",
    MeasuredPassages: "measured_passages",
}


@contextmanager
def _as_written(name: str, part: str) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise EncoderError(
            f"{name}: expected figures.{part} in entail.json as `entail card --results` writes it, found "
            f"something else ({error}); take it out and say --results again"
        ) from error


def _told_base(told: Mapping[str, Any]) -> EncoderEntry | None:
    """Return what a whole model was tuned from, None where nothing here is called so."""
    try:
        return resolve(told["base"]) if isinstance(told.get("base"), str) else None
    except EncoderError:
        return None
