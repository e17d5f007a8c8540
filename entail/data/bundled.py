"""Bundled sample of EntailmentBank trees and facts; origin and licences are in `data/sample/`."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from entail.data.stored import read_json
from entail.errors import DataError

if TYPE_CHECKING:
    from entail.data.records import Corpus, ExplanationTree

_Record = TypeVar("_Record")

SAMPLE_NAME = "EntailmentBank sample"
"""Name of the bundled corpus."""

HELD_OUT_NAME = "EntailmentBank sample, held-out"
"""Name of the bundled corpus of the held-out trees."""


def sample_dir() -> Path:
    """Return the folder of the sample's files."""
    return Path(__file__).parent / "sample"


@cache
def sample_trees() -> tuple[ExplanationTree, ...]:
    """Return the bundled trees, read once; `scripts/build_sample.py` selects them.

    >>> sample_trees()[0].steps[-1].conclusion
    'hypothesis'
    """
    from entail.data.entailment_bank.trees import read_trees

    return tuple(read_trees(sample_dir() / "trees.jsonl.gz", name="bundled trees"))


@cache
def sample_corpus() -> Corpus:
    """Return the bundled facts, read once; every leaf and distractor of `sample_trees` is among them.

    >>> sample_corpus().name, sample_corpus().position("iron is a kind of metal") is not None
    ('EntailmentBank sample', True)
    """
    from entail.data.corpora import read_corpus

    return read_corpus(sample_dir() / "premises.jsonl.gz", name=SAMPLE_NAME).corpus


@cache
def held_out_trees() -> tuple[ExplanationTree, ...]:
    """Return the bundled trees that no shipped retriever was trained on; see `scripts/build_held_out.py`."""
    from entail.data.entailment_bank.trees import read_trees

    return tuple(read_trees(sample_dir() / "held_out.jsonl.gz", name="held-out trees"))


@cache
def held_out_corpus() -> Corpus:
    """Return the facts of `sample_corpus`, then the further ones in the contexts of `held_out_trees`."""
    from entail.data.corpora import read_corpus
    from entail.data.records import Corpus

    further = read_corpus(sample_dir() / "held_out_premises.jsonl.gz", name=HELD_OUT_NAME).corpus
    return Corpus(HELD_OUT_NAME, (*sample_corpus().premises, *further.premises))


def read_shipped(file: Path, kind: type[_Record]) -> _Record | None:
    """Return a record that ships to save a model's work; None if it is missing or damaged."""
    return cast("_Record | None", _read_once(file, cast("Hashable", kind)))


@cache
def _read_once(file: Path, kind: Any) -> object | None:
    try:
        return read_json(file, kind)
    except DataError:
        return None
