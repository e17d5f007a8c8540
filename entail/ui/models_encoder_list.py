"""The encoders in reach as a list: what each is, what is known of it, whom it ranks for."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from entail.cards.facts import Facts, read_facts
from entail.encoders.catalogue import EncoderEntry, catalogue
from entail.errors import EncoderError, EntailError
from entail.evaluation.measured import Beside
from entail.promotion import active, moves
from entail.ui.models_encoder_figures import Known, known_figures
from entail.ui.resources import Workspace, jobs, retriever_label, shelf

ALL = "all corpora without one of their own"
"""Words for the pointer of all."""

_TALL = 10
_HEADER = re.compile(r"\A---\n.*?\n---", re.DOTALL)
_DATA_SETS = re.compile(r"^datasets:[ \t]*\n((?:[ \t]*- .+\n)+)", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*- ['\"]?(.+?)['\"]?[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """One encoder.

    Attributes:
        entry: As the catalogue has it.
        facts: What its `entail.json` says; None without one.
        size: Bytes of its folder; None for what is not here.
        learnt_from: Names of the data it learnt from; None where nobody says.
        known: Its figures.
        ranks: Names of the corpora whose active encoder it is; `ALL` for all others.
        loaded: Whether it is in memory.
    """

    entry: EncoderEntry
    facts: Facts | None = None
    size: int | None = None
    learnt_from: tuple[str, ...] | None = None
    known: tuple[Known, ...] = ()
    ranks: tuple[str, ...] = ()
    loaded: bool = False

    @property
    def name(self) -> str:
        """The encoder's."""
        return self.entry.name

    @property
    def method(self) -> str:
        """How it was trained, for people."""
        return self.facts.method.title if self.facts is not None else self.entry.method

    @property
    def licence(self) -> str:
        """As its card names it."""
        return (self.facts.licence if self.facts is not None else self.entry.licence) or "not said"


def rows(shared: Workspace, typed: Sequence[EncoderEntry] = ()) -> list[Row]:
    """Return the encoders in reach: packaged, under `models/`, from the Hub as they were typed or promoted.

    Args:
        shared: The stores.
        typed: Models of the Hub that a person asked for.
    """
    entries = catalogue()
    names = {entry.name for entry in entries}
    ranks = who_ranks(shared)
    entries += [entry for entry in typed if entry.name not in names]
    names |= {entry.name for entry in typed}
    entries += [EncoderEntry(name, "hub") for name in ranks if name not in names and "/" in name]
    facts = {entry.name: _facts(entry) for entry in entries}
    told = [one for one in facts.values() if one is not None]
    compared = comparisons_told()
    return [
        Row(
            entry,
            facts[entry.name],
            folder_size(entry.path),
            _learnt_from(entry, facts[entry.name]),
            tuple(known_figures(entry, told, compared)),
            ranks.get(entry.name, ()),
            shelf().held(entry.name) is not None,
        )
        for entry in entries
    ]


def who_ranks(shared: Workspace) -> dict[str, tuple[str, ...]]:
    """Return encoder -> names of the corpora that it is active for; empty where that cannot be read."""
    found: dict[str, list[str]] = {}
    try:
        for name in (None, *(corpus.name for corpus in shared.corpora.corpora())):
            now = active(name)
            if name is None or (now.pointer is not None and now.pointer.corpus is not None):
                found.setdefault(now.encoder, []).append(name or ALL)
    except EntailError:  # told where the pointers are drawn
        return {}
    return {name: tuple(corpora) for name, corpora in found.items()}


def comparisons_told() -> list[tuple[str, Beside]]:
    """Return the comparisons that were kept, with jobs and with promotions, the newest first."""
    told: list[tuple[str, Mapping[str, Any] | None]] = []
    with contextlib.suppress(EntailError):  # told where the pointers are drawn
        told += [(f"the promotion of {move.encoder} by {move.by}", move.evaluation) for move in moves()]
    told += [(f"job {job.id}, which made {job.name}", job.evaluation) for job in jobs().jobs()]
    found = []
    for words, evaluation in told:
        try:
            found += [(words, Beside.from_json(evaluation))] if evaluation else []
        except (TypeError, KeyError, ValueError, AttributeError):  # of another version
            continue
    return found


def folder_size(folder: Path | None) -> int | None:
    """Return the bytes of a folder's files, None where there is no folder."""
    if folder is None or not folder.is_dir():
        return None
    size = 0
    with contextlib.suppress(OSError):  # it is being removed, or written
        for file in folder.rglob("*"):
            size += file.stat().st_size if file.is_file() else 0
    return size


def megabytes(size: int | None) -> str:
    """Return a size for people.

    >>> megabytes(4_200_000), megabytes(None), megabytes(910)
    ('4.2 MB', 'not known', '0.0 MB')
    """
    if size is None:
        return "not known"
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def draw_list(found: Sequence[Row], *, picked: str, key: str, on_pick: Any) -> None:  # noqa: ANN401 - a handler
    """Draw the list; a click on a row calls `on_pick` with the encoder's name."""
    place = next((number for number, row in enumerate(found) if row.name == picked), 0)
    # What is in the rows stands in the key: a click is never taken for a row that was another one before.
    stamp = hash((picked, tuple((row.name, row.entry.revision) for row in found)))
    field = f"{key}-{stamp}"

    def take() -> None:
        chosen = st.session_state[field]["selection"]["rows"]
        if chosen and chosen[0] < len(found):
            on_pick(found[chosen[0]].name)

    st.dataframe(
        table(found),
        hide_index=True,
        height="content" if len(found) <= _TALL else 36 * (_TALL + 1),
        column_config={
            "MAP": st.column_config.NumberColumn(
                format="%.3f",
                help="Premises found, the claim's own text left out; on the split named beside.",
            ),
            "MAP, paper": st.column_config.NumberColumn(
                format="%.3f",
                help="The same as the AE-Enc paper counts: the claim's own text is a candidate.",
            ),
            "dimension": st.column_config.NumberColumn(
                format="%d",
                help="Of the space that sentences lie in; a Gaussian has a mean and a variance in each.",
            ),
        },
        on_select=take,
        placeholder="",
        selection_mode="single-row-required",
        selection_default={"selection": {"rows": [place]}},
        key=field,
    )


def table(found: Iterable[Row]) -> pd.DataFrame:
    """Return the list as a table."""
    return pd.DataFrame([_cells(row) for row in found])


def _cells(row: Row) -> dict[str, Any]:
    first = row.known[0] if row.known else None
    entry = row.entry
    state = "refused" if entry.problem else "in memory" if row.loaded else ""
    return {
        "encoder": retriever_label(row.name),
        "state": state,
        "ranks for": ", ".join("all others" if name == ALL else name for name in row.ranks),
        "method": row.method,
        "base": entry.base.name if entry.base else "",
        "dimension": entry.space_dimension,
        "on disk": megabytes(row.size) if row.size is not None else "",
        "MAP": first.figure("MAP", "query_excluded") if first else None,
        "MAP, paper": first.figure("MAP", "paper") if first else None,
        "measured on": first.split if first else "",
        "learnt from": ", ".join(row.learnt_from) if row.learnt_from else "",
        "licence": "" if row.licence == "not said" else row.licence,
        "revision": entry.revision or "",
    }


def _facts(entry: EncoderEntry) -> Facts | None:
    if entry.path is None or entry.problem is not None:
        return None
    try:
        changed = (entry.path / "entail.json").stat().st_mtime_ns
    except OSError:
        return None
    return _read_facts(str(entry.path), entry.revision, changed)


@st.cache_data(show_spinner=False, max_entries=256)
def _read_facts(folder: str, _revision: str | None, changed: int) -> Facts | None:
    try:
        return read_facts(Path(folder))
    except (EncoderError, OSError):
        return None


def _learnt_from(entry: EncoderEntry, facts: Facts | None) -> tuple[str, ...] | None:
    if facts is not None:
        return tuple(source.name for source in facts.sources) if facts.sources is not None else None
    if entry.path is None:
        return None
    return data_sets(card_text(entry.path))


def card_text(folder: Path) -> str:
    """Return an encoder's `README.md`, empty where there is none."""
    try:
        return (folder / "README.md").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def data_sets(card: str) -> tuple[str, ...] | None:
    r"""Return the data sets that the header of a card names, None where it names none.

    >>> data_sets("---\nlicense: mit\ndatasets:\n- snli\n- 'eli5'\n---\n# A model")
    ('snli', 'eli5')
    """
    header = _HEADER.match(card)
    listed = _DATA_SETS.search(header[0]) if header else None
    return tuple(_ITEM.findall(listed[1])) if listed else None
