"""Proof language of EntailmentBank: parser, checker, writer.

The language: `sent1 & sent2 -> int1: text; int1 & sent3 -> hypothesis; `.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from entail.data.reading import shorten
from entail.data.records import HYPOTHESIS, ExplanationTree, Step
from entail.errors import ProofError

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
