"""Training data sets and bases of a model: licences, terms and citations."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from entail.encoders.catalogue import EncoderEntry
from entail.training.method import DataSource

OTHER = "other"
"""Licence id of the Hub for a licence that it does not list; here also for an undecided one."""

KNOWN = (
    *("unlicense", "cc0-1.0", "mit", "bsd-2-clause", "bsd-3-clause", "apache-2.0"),
    *("cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0"),
)
"""Licence ids of the Hub, from the most permissive to the strictest."""

PACKAGED_HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
"""Hub id of the packaged encoder."""

TEAM = "team_decisions"
"""Name of the decisions that a team made in the app."""


def proposed_licence(licences: Sequence[str | None]) -> str:
    """Return the strictest of some licences; `other` where one is unknown or there is none.

    The proposal is cautious: whether weights are a work derived from their data is a legal question.

    >>> proposed_licence(["apache-2.0", "mit"]), proposed_licence(["apache-2.0", "cc-by-sa-4.0"])
    ('apache-2.0', 'cc-by-sa-4.0')
    >>> proposed_licence(["apache-2.0", None])
    'other'
    """
    licence_ids = [licence.lower() if licence else OTHER for licence in licences]
    return max(licence_ids, key=KNOWN.index) if licence_ids and set(licence_ids) <= set(KNOWN) else OTHER


def data_source(name: str) -> DataSource:
    """Return a data set by name; without a licence if `sources.toml` does not have it.

    >>> data_source("entailment_bank").licence
    'apache-2.0'
    >>> data_source("mine").licence is None
    True
    """
    return _read_sources().get(name) or DataSource(name=name, about=f"{name}: no description is available")


def hub_id(base: EncoderEntry) -> str | None:
    """Return the Hub id of an encoder, None for one that is only on this machine.

    >>> from entail.encoders.catalogue import resolve
    >>> hub_id(resolve("minilm"))
    'sentence-transformers/all-MiniLM-L6-v2'
    """
    if base.kind == "packaged":
        return PACKAGED_HUB_ID
    return base.name.partition("@")[0] if base.kind == "hub" else None


def contamination(base: EncoderEntry | None, data: Iterable[str]) -> str:
    """Return a paragraph on data sets that a base had already seen; empty if its card lists none of them."""
    entry = _read_sources().get(hub_id(base) or "") if base is not None else None
    shared = [dataset for dataset in dict.fromkeys(data) if entry is not None and dataset in entry.trained_on]
    if entry is None or not shared:
        return ""
    *first, last = dict.fromkeys(entry.trained_on.values())
    listed = f"{', '.join(first)} and {last}" if first else last
    titles = ", ".join(data_source(dataset).about.partition(":")[0] for dataset in shared)
    return (
        f"The base has seen these data. The card of {entry.name} lists {listed} among its training data. The "
        f"data here ({titles}) are part of these or made from them. The base therefore does well without "
        "further training, and a training teaches it again what it knows. Neither the figures nor the gains "
        "carry over to a base that has not seen the data."
    )


@cache
def _read_sources() -> Mapping[str, DataSource]:
    text = files(__package__).joinpath("sources.toml").read_text(encoding="utf-8")
    return {name: DataSource(name=name, **fields) for name, fields in tomllib.loads(text).items()}
