"""Official EntailmentBank files (JSONL, tasks 1 to 3), in and out, and their proof language.

The language: `sent1 & sent2 -> int1: text; int1 & sent3 -> hypothesis; `.
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, Field

from entail.data.reading import Source, parse_jsonl, read_text, shorten, source_name
from entail.data.records import HYPOTHESIS, ExplanationTree, Step
from entail.data.stored import validate
from entail.data.writing import write_text
from entail.errors import DataError, FormatError, ProofError

MAX_NODES = 10_000
"""Limit of nodes that a proof may unfold to; sharing can make a short proof grow without end."""

_ID = r"(?:sent|int)[0-9]+"
# No possessive group: in Python 3.11.2 it takes "sent1 &" for a whole turn.
_LEFT = rf"(?:{_ID}|{HYPOTHESIS})(?:\s*+&\s*+(?:{_ID}|{HYPOTHESIS}))*"
# A semicolon ends a step only where another step begins or nothing follows: facts have semicolons too.
_END = re.compile(rf";\s*+(?={_LEFT}\s*+->|\Z)")
_STEP = re.compile(rf"({_LEFT})\s*+->\s*+(?:({HYPOTHESIS})|(int[0-9]+)\s*+:\s*+(\S.*))", re.DOTALL)
_SWALLOWED = re.compile(r";[^;]*->")


def parse_proof(text: str) -> tuple[tuple[Step, ...], dict[str, str]]:
    """Return the steps of a proof and the texts of its intermediate conclusions, both in order.

    The text of an intermediate conclusion may hold any of ``: & ; ->`` as long as it cannot be read as a
    step. `check_proof` checks that the proof is sound.

    >>> steps, intermediates = parse_proof("sent1 & sent2 -> int1: ice melts; int1 -> hypothesis; ")
    >>> steps[0], intermediates
    (Step(premises=('sent1', 'sent2'), conclusion='int1'), {'int1': 'ice melts'})

    Raises:
        ProofError: If a step cannot be read, or an intermediate conclusion is concluded twice.
    """
    steps: list[Step] = []
    intermediates: dict[str, str] = {}
    parts = [part.strip() for part in _END.split(text)]
    for number, part in enumerate(parts if parts[-1] else parts[:-1], start=1):
        match = _STEP.fullmatch(part)
        if not match or (match[4] and _SWALLOWED.search(match[4])):
            expected = f"'sent1 & sent2 -> int1: text' or 'int1 & sent3 -> {HYPOTHESIS}'"
            raise _error(number, f"expected {expected}, found {shorten(part)!r}")
        conclusion = match[2] or match[3]
        if conclusion in intermediates:
            raise _error(number, f"{conclusion} is concluded a second time")
        if match[3]:
            intermediates[conclusion] = match[4]
        steps.append(Step(tuple(re.findall(rf"{_ID}|{HYPOTHESIS}", match[1])), conclusion))
    return tuple(steps), intermediates


def format_proof(steps: Iterable[Step], intermediates: Mapping[str, str]) -> str:
    """Return the official text of a proof, `; ` after every step, so that parsing gives the same proof.

    >>> format_proof(*parse_proof("sent1 & sent2->int1:ice melts;int1->hypothesis"))
    'sent1 & sent2 -> int1: ice melts; int1 -> hypothesis; '

    Raises:
        ProofError: If a conclusion has no text, or a text could be read as a step, so that it
            cannot be written in this language.
    """
    steps = tuple(steps)
    parts = []
    for step in steps:
        conclusion = step.conclusion
        if conclusion != HYPOTHESIS:
            if not intermediates.get(conclusion, "").strip():
                raise ProofError(f"{conclusion} has no text; write one before the proof is written out")
            conclusion = f"{conclusion}: {intermediates[conclusion].strip()}"
        part = f"{' & '.join(step.premises)} -> {conclusion}"
        try:
            same = parse_proof(f"{part}; ")[0] == (step,)
        except ProofError:
            same = False
        if not same:
            raise ProofError(
                f"{shorten(part)!r} cannot be written as one step; take '->' or ';' out of the text"
            )
        parts.append(f"{part}; ")
    return "".join(parts)


def check_proof(steps: Sequence[Step], intermediates: Mapping[str, str], sentences: Collection[str]) -> None:
    """Check that a proof is sound; one without steps is.

    A sentence used twice, an intermediate conclusion used twice or never, and a step from one premise all
    occur in the official files and are sound.

    Raises:
        ProofError: Naming the step and the sentence, for a sentence that is unknown (`sentences` are the ids
            of the context) or not yet concluded (also in a circle), a conclusion reached twice or without
            text, a step without premises, a hypothesis never concluded, or more than `MAX_NODES` nodes.
    """
    step_numbers: dict[str, int] = {}
    for number, (_, conclusion) in _numbered(steps):
        if conclusion in step_numbers:
            first = step_numbers[conclusion]
            raise _error(number, f"{conclusion} is concluded a second time, the first was step {first}")
        if conclusion in sentences:
            raise _error(number, f"{conclusion} is a sentence of the context, not a conclusion")
        if conclusion != HYPOTHESIS and not intermediates.get(conclusion, "").strip():
            raise _error(number, f"{conclusion} has no text")
        step_numbers[conclusion] = number
    if steps and HYPOTHESIS not in step_numbers:
        raise ProofError(f"no step concludes the {HYPOTHESIS}; the last concludes {steps[-1].conclusion}")
    if unused := [name for name in intermediates if name not in step_numbers]:
        raise ProofError(f"{unused[0]} has a text, but no step concludes it")
    sizes: dict[str, int] = {}
    for number, (premises, conclusion) in _numbered(steps):
        if not premises:
            raise _error(number, f"{conclusion} is concluded from no premise")
        for premise in premises:
            if premise not in sentences and premise not in sizes:
                if later := step_numbers.get(premise):
                    raise _error(number, f"{premise} is used before step {later}, which concludes it")
                known_ids = shorten(", ".join([*sentences, *sizes])) or "nothing"
                raise _error(number, f"{premise} is unknown; known here: {known_ids}")
            if premise == HYPOTHESIS:
                raise _error(number, f"the {HYPOTHESIS} cannot be a premise of {conclusion}")
        sizes[conclusion] = 1 + sum(sizes.get(premise, 1) for premise in premises)
        if sizes[conclusion] > MAX_NODES:
            raise _error(number, f"the tree below {conclusion} unfolds to more than {MAX_NODES:,} nodes")


def _numbered(steps: Iterable[Step]) -> Iterator[tuple[int, tuple[tuple[str, ...], str]]]:
    return ((number, (step.premises, step.conclusion)) for number, step in enumerate(steps, start=1))


def _error(number: int, message: str) -> ProofError:
    return ProofError(f"step {number}: {message}")


def hypothesis_id(steps: Sequence[Step], intermediates: Mapping[str, str]) -> str:
    """Return the `intN` that stands for the hypothesis: its place among the steps, or the next free one.

    >>> hypothesis_id([Step(("sent1",), "int1"), Step(("int1",), "hypothesis")], {"int1": "..."})
    'int2'
    """
    number = next((n for n, step in enumerate(steps, start=1) if step.conclusion == HYPOTHESIS), 1)
    if f"int{number}" in intermediates:
        return next_id("int", intermediates)
    return f"int{number}"


def next_id(stem: str, ids: Iterable[str]) -> str:
    """Return the id after the largest of a stem; Python reads no number of over 4,300 digits.

    >>> next_id("int", ["int2", "sent7"])
    'int3'
    """
    numbers = (int(name[len(stem) :]) for name in ids if name.startswith(stem) and len(name) < 100)
    return f"{stem}{1 + max(numbers, default=0)}"


def full_text_proof(tree: ExplanationTree) -> str:
    """Return the proof as text: sentences and conclusions as texts, intermediate premises as ids."""
    root = hypothesis_id(tree.steps, tree.intermediates)
    return "".join(
        f" [BECAUSE] {' [AND] '.join(tree.sentences.get(p, p) for p in step.premises)}"
        f" [INFER] {root if step.conclusion == HYPOTHESIS else step.conclusion}: {tree.text(step.conclusion)}"
        for step in tree.steps
    )


def depth_of_proof(steps: Sequence[Step]) -> int:
    """Return the official depth: half the depth of operators in the proof's prefix form, rounded down.

    There `#` joins a conclusion to its premises and `&` two premises, so it is not the number of steps on the
    longest path. A premise that a step names twice counts once.

    >>> depth_of_proof([Step(("sent1", "sent2"), "int1"), Step(("int1", "sent3"), "hypothesis")])
    2
    """
    depths: dict[str, int] = {}
    for step in steps:
        *parts, depth = [depths.get(premise, 0) for premise in dict.fromkeys(step.premises)]
        for part in reversed(parts):
            depth = 1 + max(part, depth)
        depths[step.conclusion] = 1 + depth
    return depths.get(HYPOTHESIS, 0) // 2


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
