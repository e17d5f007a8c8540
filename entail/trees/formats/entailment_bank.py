"""Authored trees as official EntailmentBank JSONL, and back."""

from __future__ import annotations

from collections.abc import Iterable

from entail.data.entailment_bank import format_trees, read_trees
from entail.data.reading import Source
from entail.data.records import Corpus
from entail.trees.acts import Create
from entail.trees.tree import Tree
from entail.trees.unfold import refold, unfold


def to_jsonl(trees: Iterable[Tree], *, corpus: Corpus | None = None) -> str:
    """Return the official JSONL text of authored trees, one row a line; see `refold`.

    Raises:
        ProofError: If a text cannot be written in the proof language.
    """
    return format_trees(refold(tree, corpus=corpus) for tree in trees)


def from_jsonl(source: Source, *, name: str | None = None, corpus: Corpus | None = None) -> list[Create]:
    """Return the acts that begin an authored tree with each row of an official file; see `unfold`.

    Raises:
        FormatError: With line and field.
        ProofError: If a proof is not sound.
    """
    return [unfold(tree, corpus=corpus) for tree in read_trees(source, name=name)]
