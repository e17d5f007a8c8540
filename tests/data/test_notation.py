from __future__ import annotations

import pytest

from entail.data.entailment_bank import proof as notation
from entail.data.entailment_bank.proof import parse_proof
from entail.data.records import ExplanationTree

# Proofs of the official files (train, tasks 1 and 2) with what those files say of them.
OFFICIAL = [
    (
        "sent1 & sent2 & sent3 -> hypothesis; ",
        "((sent1 sent2 sent3) -> int1)",
        "# int1 & sent1 & sent2 sent3",
        1,
    ),
    (
        "sent1 & sent17 -> int1: a; int1 & sent25 -> hypothesis; ",
        "((((sent1 sent17) -> int1) sent25) -> int2)",
        "# int2 & # int1 & sent1 sent17 sent25",
        2,
    ),
    (
        "sent2 & sent4 -> int1: a; int1 & sent1 & sent3 -> int2: b; int2 -> hypothesis; ",
        "((((((sent2 sent4) -> int1) sent1 sent3) -> int2)) -> int3)",
        "# int3 # int2 & # int1 & sent2 sent4 & sent1 sent3",
        2,
    ),
    (
        "sent5 & sent6 -> int1: a; int1 & sent3 -> int2: b; int2 & sent1 -> int3: c; "
        "int2 & sent4 -> int4: d; int3 & int4 -> hypothesis; ",
        "((((((((sent5 sent6) -> int1) sent3) -> int2) sent1) -> int3) "
        "((((((sent5 sent6) -> int1) sent3) -> int2) sent4) -> int4)) -> int5)",
        "# int5 & # int3 & # int2 & # int1 & sent5 sent6 sent3 sent1 "
        "# int4 & # int2 & # int1 & sent5 sent6 sent3 sent4",
        4,
    ),
    (
        "sent3 & sent9 -> int1: a; int1 & sent7 & sent7 -> hypothesis; ",
        "((((sent3 sent9) -> int1) sent7 sent7) -> int2)",
        "# int2 & # int1 & sent3 sent9 sent7",
        2,
    ),
]


@pytest.mark.parametrize(("text", "lisp", "polish", "depth"), OFFICIAL)
def test_official_notations(text: str, lisp: str, polish: str, depth: int) -> None:
    steps, intermediates = parse_proof(text)
    root = notation.hypothesis_id(steps, intermediates)
    assert root == f"int{len(steps)}"
    assert notation.lisp_proof(steps, root) == lisp
    assert notation.polish_proof(steps, root) == polish
    assert notation.depth_of_proof(steps) == depth


def test_depth_counts_operators_not_steps() -> None:
    # One step of 2, 3, 4, 5 premises: operators 2, 3, 4, 5 deep.
    for premises, depth in ((1, 0), (2, 1), (3, 1), (4, 2), (5, 2)):
        left = " & ".join(f"sent{n + 1}" for n in range(premises))
        assert notation.depth_of_proof(parse_proof(f"{left} -> hypothesis")[0]) == depth


def test_depth_of_a_balanced_tree_is_that_of_its_deepest_branch() -> None:
    steps, _ = parse_proof(
        "sent1 & sent2 -> int1: a; sent3 & sent4 -> int2: b; int2 & sent5 -> int3: c; "
        "int1 & int3 -> hypothesis"
    )
    # "# int4 & [int1] # int3 & # int2 & ..": six operators above sent3.
    assert notation.depth_of_proof(steps) == 3


def test_the_hypothesis_takes_a_free_number() -> None:
    steps, intermediates = parse_proof("sent1 -> int2: a; int2 -> hypothesis")
    assert notation.hypothesis_id(steps, intermediates) == "int3"


def test_full_text() -> None:
    steps, intermediates = parse_proof("sent1 & sent2 -> int1: ice melts; int1 & sent3 -> hypothesis")
    tree = ExplanationTree(
        id="x",
        hypothesis="ice drips",
        sentences={"sent1": "ice is cold", "sent2": "fire is hot", "sent3": "water drips"},
        intermediates=intermediates,
        steps=steps,
    )
    assert notation.full_text_proof(tree) == (
        " [BECAUSE] ice is cold [AND] fire is hot [INFER] int1: ice melts"
        " [BECAUSE] int1 [AND] water drips [INFER] int2: ice drips"
    )
