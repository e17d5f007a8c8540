"""Official EntailmentBank files (JSONL, tasks 1 to 3), in and out."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, Field

from entail.data.entailment_bank.proof import (
    check_proof,
    depth_of_proof,
    format_proof,
    full_text_proof,
    hypothesis_id,
    parse_proof,
)
from entail.data.reading import Source, parse_jsonl, read_text, shorten, source_name
from entail.data.records import HYPOTHESIS, ExplanationTree
from entail.data.stored import validate
from entail.data.writing import write_text
from entail.errors import DataError, FormatError, ProofError

_CONTEXT_ID = re.compile(r"(?:^|(?<=\s))(sent[0-9]+):\s")
_PROOF_FIELDS = frozenset({"full_text_proof", "depth_of_proof", "length_of_proof"})
_META_FIELDS = frozenset({"question_text", "answer_text", "hypothesis_id", "triples", "distractors"}) | {
    *("intermediate_conclusions", "step_proof", "lisp_proof", "polish_proof")
}

_Text = Annotated[str, Field(pattern=r"\S")]


class _Meta(BaseModel):
    triples: dict[Annotated[str, Field(pattern=r"^sent[0-9]+$")], _Text] | None = None
    distractors: list[str] | None = None


class _Row(BaseModel):
    id: _Text
    hypothesis: _Text
    context: str | None = None
    question: str | None = None
    answer: str | None = None
    proof: str | None = None
    meta: _Meta | None = None


def read_trees(source: Source, *, name: str | None = None) -> list[ExplanationTree]:
    """Return one tree a row of a JSONL file, gzipped or not, in its order; ids may repeat.

    Args:
        source: Path, or the bytes of an upload.
        name: Name for messages, the path without one.

    Raises:
        FormatError: With line and field, for a row that is not what it should be, or a file without rows.
        ProofError: With the line, for a proof that cannot be read or is not sound.
    """
    return parse_trees(read_text(source, name=name), source=source_name(source, name))


def parse_trees(text: str, *, source: str | None = None) -> list[ExplanationTree]:
    """Return the trees of a JSONL text; see `read_trees`."""
    trees = [row_to_tree(row, source=source, line=line) for line, row in parse_jsonl(text, source=source)]
    if not trees:
        raise FormatError("expected at least one row, found none", source=source)
    return trees


def row_to_tree(
    row: Mapping[str, Any], *, source: str | None = None, line: int | None = None
) -> ExplanationTree:
    """Return the tree of one row.

    `id` and `hypothesis` must be there, and the sentences as `meta.triples` or, without it, `context`. A row
    without `proof` (task 3) is a tree without steps. `extra` keeps the whole row.

    Raises:
        FormatError: With the field.
        ProofError: If the proof cannot be read or is not sound.
    """
    checked = validate(_Row, row, source=source, line=line, strict=True)
    meta = checked.meta or _Meta()
    sentences = meta.triples
    if sentences is None:
        sentences = _parse_context(checked.context, source, line)
    try:
        steps, intermediates = parse_proof(checked.proof or "")
        check_proof(steps, intermediates, sentences)
    except ProofError as error:
        location = ", ".join(filter(None, (source, f"line {line}" if line else "", "field 'proof'")))
        raise ProofError(f"{location}: {error}") from error
    tree = ExplanationTree(
        id=checked.id,
        hypothesis=checked.hypothesis,
        sentences=sentences,
        intermediates=intermediates,
        steps=steps,
        question=checked.question or "",
        answer=checked.answer or "",
        extra=row,
    )
    return _with_distractors(tree, meta.distractors or ())


def tree_to_row(tree: ExplanationTree) -> dict[str, Any]:
    """Return the official row of a tree; without steps, that of task 3.

    What the official files derive from the tree (`context`, `full_text_proof`, `depth_of_proof`,
    `meta.triples` ...) is derived here, but for the notations `meta.lisp_proof` and `meta.polish_proof`. A
    tree that is still what its row (`extra`) says gives every field of the row back as it was read, and only
    absent ones are derived; if the tree was changed since, all are derived again, and what cannot be
    (`meta.core_concepts` ...) is carried over.

    Raises:
        ProofError: If the proof is not sound, or a text cannot be written in the proof language.
    """
    check_proof(tree.steps, tree.intermediates, tree.sentences)
    read, derived = copy.deepcopy(dict(tree.extra)), _derive(tree)
    meta: dict[str, Any] = read["meta"] if isinstance(read.get("meta"), dict) else {}
    if _is_as_read(tree):
        return {**read, **_absent(derived, read), "meta": meta | _absent(derived["meta"], meta)}
    if meta.get("distractors") != derived["meta"].get("distractors"):
        meta.pop("distractors_relevance", None)  # stands in the order of the distractors
    carried = {key: value for key, value in read.items() if key not in derived and key not in _PROOF_FIELDS}
    meta = {key: value for key, value in meta.items() if key not in _META_FIELDS}
    return {**derived, **carried, "meta": {**derived["meta"], **meta}}


def format_trees(trees: Iterable[ExplanationTree]) -> str:
    """Return the official JSONL text of trees, one row a line; official files come back byte for byte."""
    return "".join(f"{json.dumps(tree_to_row(tree))}\n" for tree in trees)


def write_trees(trees: Iterable[ExplanationTree], file: str | os.PathLike[str]) -> None:
    """Write official JSONL, gzipped if the name ends in `.gz`; the file is replaced whole or not at all.

    Raises:
        ProofError: If a tree cannot be written, see `tree_to_row`.
        DataError: If the file cannot be written.
    """
    write_text(file, format_trees(trees))


def _parse_context(context: str | None, source: str | None, line: int | None) -> dict[str, str]:
    """Return the sentences of `sent1: text sent2: text ...`."""
    before, *parts = _CONTEXT_ID.split(context or "")
    names, texts = parts[0::2], [text.strip() for text in parts[1::2]]
    mistake = None
    if context is None:
        mistake = "none"
    elif before.strip():
        mistake = shorten(before.strip())
    elif len(set(names)) < len(names):
        mistake = f"{next(name for name in names if names.count(name) > 1)} twice"
    elif not all(texts):
        mistake = f"{names[texts.index('')]} without a text"
    if mistake:
        message = f"expected 'sent1: text sent2: text ...', found {mistake}"
        raise FormatError(message, source=source, line=line, field="context")
    return dict(zip(names, texts, strict=True))


def _with_distractors(tree: ExplanationTree, listed: Sequence[str]) -> ExplanationTree:
    """Set the sentences that the proof does not use, the listed ones first and in their order."""
    if not tree.steps:
        return tree
    order = dict.fromkeys([*(name for name in listed if name in tree.sentences), *tree.sentences])
    return replace(tree, distractors=tuple(name for name in order if name not in tree.leaves))


def _is_as_read(tree: ExplanationTree) -> bool:
    try:
        return bool(tree.extra) and row_to_tree(tree.extra) == tree
    except DataError:  # `extra` was not a row
        return False


def _derive(tree: ExplanationTree) -> dict[str, Any]:
    """Return the official row of a tree, as if it had not been read."""
    # A row that was read without a question stays without.
    texts = {
        key: text
        for key, text in (("question", tree.question), ("answer", tree.answer))
        if text or "context" not in tree.extra
    }
    root = hypothesis_id(tree.steps, tree.intermediates)
    proof = format_proof(tree.steps, tree.intermediates)
    row: dict[str, Any] = {
        "id": tree.id,
        "context": " ".join(f"{name}: {text}" for name, text in tree.sentences.items()),
        **texts,
        "hypothesis": tree.hypothesis,
        "proof": proof,
    }
    meta: dict[str, Any] = {f"{key}_text": text for key, text in texts.items()}
    if not tree.steps:
        return {**row, "meta": {**meta, "triples": dict(tree.sentences)}}
    return {
        **row,
        "full_text_proof": full_text_proof(tree),
        "depth_of_proof": depth_of_proof(tree.steps),
        "length_of_proof": len(tree.steps),
        "meta": {
            **meta,
            "hypothesis_id": root,
            "triples": dict(tree.sentences),
            "distractors": list(_with_distractors(tree, tree.distractors).distractors),
            "intermediate_conclusions": {
                root if step.conclusion == HYPOTHESIS else step.conclusion: tree.text(step.conclusion)
                for step in tree.steps
            },
            "step_proof": proof,
        },
    }


def _absent(derived: Mapping[str, Any], read: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in derived.items() if read.get(key) is None}
