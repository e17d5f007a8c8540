"""Queries that a retriever was trained on, by the record next to its weights."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from entail.data.text import premise_key
from entail.encoders.card import read_training_queries
from entail.encoders.catalogue import model_folder, resolve
from entail.errors import EncoderError


def training_queries_of(name: str, queries: Iterable[str]) -> frozenset[str]:
    """Return the queries that a retriever was trained on; none for lexical ones and without a record.

    Of a combination such as `aeenc-minilm+bm25+reranker-minilm` those of its parts count.
    """
    folders = [_trained_folder(part) for part in dict.fromkeys((name, *name.split("+")))]
    keys = frozenset().union(*(read_training_queries(folder) for folder in folders if folder is not None))
    return frozenset(query for query in queries if premise_key(query) in keys) if keys else frozenset()


def has_training_record(name: str) -> bool:
    """Return whether a retriever, or a part of a combination, has a record of its training queries."""
    return any(
        folder is not None and read_training_queries(folder)
        for folder in map(_trained_folder, dict.fromkeys((name, *name.split("+"))))
    )


def _trained_folder(name: str) -> Path | None:
    """Return the folder of an encoder or of a cross-encoder under `models/`, None without one."""
    try:
        return resolve(name).path
    except EncoderError:
        return model_folder(name)
