"""Agreement on trees: hand-computed values, and annotators of known quality."""

from itertools import combinations

import numpy as np
import pytest

from entail.data.text import premise_key
from entail.teams.agreement import ASPECTS, Aspect, agreement, similarity
from entail.teams.shapes import Shape
from entail.trees.log.tree import Node, Tree


def shape(*steps: tuple[str, str]) -> Shape:
    """Return the shape of steps such as ("abx", "h"): a, b and x explain h."""
    children = {conclusion: list(premises) for premises, conclusion in steps}
    names = {name for premises, conclusion in steps for name in (*premises, conclusion)}
    return Shape.of(children, {name: name for name in names}, "h")


FLAT, DEEP, OTHER = shape(("abc", "h")), shape(("cx", "h"), ("ab", "x")), shape(("ax", "h"), ("bc", "x"))


@pytest.mark.parametrize(
    ("first", "second", "clades", "steps", "leaves"),
    [
        (FLAT, FLAT, 1, 1, 1),
        (FLAT, DEEP, 2 * 3 / 7, 0, 1),
        (DEEP, OTHER, 2 * 3 / 8, 0, 1),  # a, b, c of {a, b, c, ab} and {a, b, c, bc}
        (DEEP, shape(("dx", "h"), ("ab", "x")), 2 * 3 / 8, 2 * 1 / 4, 2 / 4),
        (FLAT, shape(("", "h")), 0, 0, 0),
        (shape(("", "h")), shape(("", "h")), 1, 1, 1),
    ],
)
def test_similarities(first: Shape, second: Shape, clades: float, steps: float, leaves: float) -> None:
    values = [similarity(first, second, aspect) for aspect in ASPECTS]
    assert values == pytest.approx([clades, steps, leaves])
    assert [similarity(second, first, aspect) for aspect in ASPECTS] == values


def test_the_shape_of_a_tree_is_that_of_its_premises() -> None:
    texts = {"n1": "h", "n2": "x", "n3": "a", "n4": "b", "n5": "c"}
    children = {"n1": ("n2", "n5"), "n2": ("n3", "n4")}
    parents = {child: node for node, below in children.items() for child in below}
    nodes = {
        id: Node(id, text, parents.get(id), children.get(id, ()), "write", "Ada", 1)
        for id, text in texts.items()
    }
    keys = {id: premise_key(text) for id, text in texts.items()}
    expected = Shape.of(children, keys, "n1")
    assert Shape.of_tree(Tree(nodes)) == expected
    assert expected.leaves == {premise_key(text) for text in "abc"}
    loose = nodes | {"n6": Node("n6", "d", None, (), "write", "Ada", 9)}
    assert Shape.of_tree(Tree(loose)) == expected, "what explains nothing is no part"


def by_hand(copies: dict[str, list[Shape]], aspect: Aspect) -> float:
    """Return alpha by its definition, over all pairs."""
    groups = [shapes for shapes in copies.values() if len(shapes) > 1]
    trees = [tree for shapes in groups for tree in shapes]
    n = len(trees)
    observed = sum(
        2 * sum(1 - similarity(a, b, aspect) for a, b in combinations(shapes, 2)) / (len(shapes) - 1)
        for shapes in groups
    )
    expected = 2 * sum(1 - similarity(a, b, aspect) for a, b in combinations(trees, 2)) / (n - 1)
    return 1 - observed / expected


@pytest.mark.parametrize("aspect", ASPECTS)
def test_alpha_is_that_of_its_definition(aspect: Aspect) -> None:
    empty = shape(("", "h"))
    copies = {
        "p": [FLAT, DEEP, DEEP],
        "q": [shape(("de", "h")), shape(("dx", "h"), ("ea", "x"))],
        "r": [shape(("fg", "h"))],
        "s": [empty, shape(("g", "h"))],
        "t": [empty, empty],
    }
    result = agreement(copies, aspect)
    assert result.alpha == pytest.approx(by_hand(copies, aspect))
    assert (result.hypotheses, result.trees) == (4, 9)
    assert result.low is not None
    assert result.high is not None
    assert result.low <= result.alpha <= result.high
    assert agreement(copies, aspect) == result


def test_what_cannot_be_compared_has_no_alpha() -> None:
    assert agreement({"p": [FLAT]}).alpha is None
    same = agreement({"p": [FLAT, FLAT], "q": [FLAT, FLAT]})
    assert (same.alpha, same.observed, same.expected) == (None, 1, 1)
    assert agreement({"p": [FLAT, FLAT], "q": [shape(("de", "h"))] * 2}).alpha == 1


def annotate(draw: np.random.Generator, hypotheses: int, error: float) -> dict[int, list[Shape]]:
    """Return two copies of each hypothesis, whose premises are replaced with some probability."""
    copies: dict[int, list[Shape]] = {}
    for number in range(hypotheses):
        gold = draw.integers(0, 3 * hypotheses, size=6)
        trees = []
        for _ in range(2):
            wrong = draw.random(6) < error
            leaves = np.where(wrong, draw.integers(0, 3 * hypotheses, size=6), gold)
            keys = {f"l{at}": str(leaf) for at, leaf in enumerate(leaves)}
            children = {"h": ["x", "l4", "l5"], "x": ["l0", "y"], "y": ["l1", "l2", "l3"]}
            trees.append(Shape.of(children, keys, "h"))
        copies[number] = trees
    return copies


def test_better_annotators_agree_more_and_chance_is_0() -> None:
    draw = np.random.default_rng(0)
    values = [agreement(annotate(draw, 60, error)).alpha for error in (0.0, 0.1, 0.3, 0.6, 1.0)]
    assert values == sorted(values, reverse=True)
    assert values[0] == 1
    assert abs(values[-1]) < 0.05
