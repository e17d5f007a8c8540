"""A proof in the other notations of the official files: full text, lisp, polish, depth, the root's `intN`.

All take a checked proof: every premise stands in the context or is concluded by an earlier step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from entail.data.records import HYPOTHESIS, ExplanationTree, Step


def hypothesis_id(steps: Sequence[Step], intermediates: Mapping[str, str]) -> str:
    """Return the `intN` that stands for the hypothesis: its place among the steps, or the next free one.

    >>> hypothesis_id([Step(("sent1",), "int1"), Step(("int1",), "hypothesis")], {"int1": "..."})
    'int2'
    """
    place = next((n for n, step in enumerate(steps, start=1) if step.conclusion == HYPOTHESIS), 1)
    if f"int{place}" in intermediates:
        place = 1 + max(int(name[3:]) for name in intermediates)
    return f"int{place}"


def full_text_proof(tree: ExplanationTree) -> str:
    """Return the proof in words: sentences and conclusions as texts, intermediate premises as ids."""
    root = hypothesis_id(tree.steps, tree.intermediates)
    return "".join(
        f" [BECAUSE] {' [AND] '.join(tree.sentences.get(p, p) for p in step.premises)}"
        f" [INFER] {_rooted(step.conclusion, root)}: {tree.text(step.conclusion)}"
        for step in tree.steps
    )


def lisp_proof(steps: Sequence[Step], root: str) -> str:
    """Return the proof as nested lists; what is used twice is written twice.

    >>> lisp_proof([Step(("sent1", "sent2"), "int1"), Step(("int1", "sent3"), "hypothesis")], "int2")
    '((((sent1 sent2) -> int1) sent3) -> int2)'
    """
    done: dict[str, str] = {}
    for step in steps:
        inner = " ".join(done.get(premise, premise) for premise in step.premises)
        done[step.conclusion] = f"(({inner}) -> {_rooted(step.conclusion, root)})"
    return done.get(HYPOTHESIS, "")


def polish_proof(steps: Sequence[Step], root: str) -> str:
    """Return the proof in prefix form: `#` joins a conclusion to its premises, `&` two premises.

    A premise that a step names twice is written once.

    >>> polish_proof([Step(("sent1", "sent2"), "int1"), Step(("int1", "sent3"), "hypothesis")], "int2")
    '# int2 & # int1 & sent1 sent2 sent3'
    """
    done: dict[str, str] = {}
    for step in steps:
        inner = [done.get(premise, premise) for premise in dict.fromkeys(step.premises)]
        joined = "".join(f"& {part} " for part in inner[:-1]) + inner[-1]
        done[step.conclusion] = f"# {_rooted(step.conclusion, root)} {joined}"
    return done.get(HYPOTHESIS, "")


def depth_of_proof(steps: Sequence[Step]) -> int:
    """Return the official depth: half the depth of operators in `polish_proof`, rounded down.

    It is not the number of steps on the longest path: every `&` of a step counts as well.

    >>> depth_of_proof([Step(("sent1", "sent2"), "int1"), Step(("int1", "sent3"), "hypothesis")])
    2
    """
    depths: dict[str, int] = {}
    for step in steps:
        inner = [depths.get(premise, 0) for premise in dict.fromkeys(step.premises)]
        depth = inner[-1]
        for part in reversed(inner[:-1]):
            depth = 1 + max(part, depth)
        depths[step.conclusion] = 1 + depth
    return depths.get(HYPOTHESIS, 0) // 2


def _rooted(conclusion: str, root: str) -> str:
    return root if conclusion == HYPOTHESIS else conclusion
