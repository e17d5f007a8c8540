"""Agreement on trees: hand-computed values, and alpha by its definition."""

from itertools import combinations

import pytest

from entail.data.text import premise_key
from entail.teams.agreement import ASPECTS, Aspect, agreement, similarity
from entail.teams.shapes import Shape
from entail.trees.formats.entailment_bank import grow
from entail.trees.log.acts import Create, GivenNode


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
    parents: dict[str, int | None] = {"x": -1, "a": 0, "b": 0, "c": -1, "d": None}
    nodes = tuple(GivenNode(text, parent) for text, parent in parents.items())
    tree = grow(Create(hypothesis="h", nodes=nodes))
    keys = {node.id: premise_key(node.text) for node in tree.nodes.values()}
    expected = Shape.of({"n1": ("n1.1", "n1.4"), "n1.1": ("n1.2", "n1.3")}, keys, "n1")
    assert Shape.of_tree(tree) == expected, "what explains nothing is no part"
    assert expected.leaves == {premise_key(text) for text in "abc"}


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
    assert result.low <= result.alpha <= result.high
    assert agreement(copies, aspect) == result


def test_what_cannot_be_compared_has_no_alpha() -> None:
    assert agreement({"p": [FLAT]}).alpha is None
    same = agreement({"p": [FLAT, FLAT], "q": [FLAT, FLAT]})
    assert (same.alpha, same.observed, same.expected) == (None, 1, 1)
    assert agreement({"p": [FLAT, FLAT], "q": [shape(("de", "h"))] * 2}).alpha == 1
