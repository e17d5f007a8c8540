"""Examples of a tour, and their words."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from entail.data.records import Corpus, ExplanationTree
from entail.errors import RetrievalError
from entail.evaluation.retrieval.split_comparison import SplitComparison, compare_split
from entail.evaluation.retrieval.tour import choose_stops, tell

NAMES = ("Words", "Meaning")
CORPUS = Corpus.of(
    "facts",
    [
        "the moon is round and white",
        "the moon is a moon of the earth",
        "earth has a sky",
        "moonlight is reflected sunlight",
        "a mirror reflects light",
        "ice floats",
        "glass is a solid",
    ],
)
Pair = tuple[Any, Any]


@pytest.fixture
def trees(tree_of: Callable[..., ExplanationTree]) -> list[ExplanationTree]:
    return [
        tree_of("the moon is bright", [(["moonlight is reflected sunlight"], "the moon is bright")]),
        tree_of("a mirror is bright", [(["a mirror reflects light"], "a mirror is bright")]),
        tree_of("ice is light", [(["ice floats"], "ice is light")]),
        tree_of("glass is hard", [(["glass is a solid"], "glass is hard")]),
    ]


@pytest.fixture
def indexes(listed_index: Any) -> Pair:
    first = {
        "the moon is bright": [
            "the moon is a moon of the earth",
            "the moon is round and white",
            "earth has a sky",
        ],
        "a mirror is bright": ["glass is a solid", "a mirror reflects light"],
        "ice is light": ["ice floats"],
        "glass is hard": ["glass is a solid"],
    }
    second = {
        "the moon is bright": ["moonlight is reflected sunlight"],
        "a mirror is bright": ["a mirror reflects light"],
        "ice is light": ["earth has a sky", "glass is a solid", "ice floats"],
        "glass is hard": ["glass is a solid"],
    }
    return listed_index(CORPUS, first), listed_index(CORPUS, second)


@pytest.fixture
def split(trees: list[ExplanationTree], indexes: Pair) -> SplitComparison:
    return compare_split(CORPUS, trees, indexes)


def test_gains_come_before_losses_the_most_changed_first(split: SplitComparison, indexes: Pair) -> None:
    stops = choose_stops(split, indexes)
    assert [stop.change.query for stop in stops] == [
        "the moon is bright",
        "a mirror is bright",
        "ice is light",
    ]
    assert [stop.better for stop in stops] == [1, 1, 0]
    assert stops == choose_stops(split, indexes)


def test_a_short_tour_still_tells_of_a_loss(split: SplitComparison, indexes: Pair) -> None:
    stops = choose_stops(split, indexes, most=2)
    assert [stop.change.query for stop in stops] == ["the moon is bright", "ice is light"]
    assert [s.better for s in choose_stops(split, indexes, most=2, losses=0)] == [1, 1]


def test_what_stands_before_the_premise_is_counted(split: SplitComparison, indexes: Pair) -> None:
    moon = choose_stops(split, indexes)[0]
    assert moon.premise == "moonlight is reflected sunlight"
    assert moon.ranks == (4, 1)
    assert (moon.before, moon.lookalikes) == (3, 2)
    assert moon.first_lookalike == "the moon is a moon of the earth"


def test_the_sentence_says_what_was_counted(split: SplitComparison, indexes: Pair) -> None:
    moon, mirror, ice = choose_stops(split, indexes)
    for text in ("2 sentences", moon.first_lookalike or "?", moon.premise, "rank 1 instead of 4"):
        assert text in tell(moon, NAMES)
    assert "1 other sentence" in tell(mirror, NAMES)
    assert "rank 1 instead of 3" in tell(ice, NAMES)
    three = dataclasses.replace(moon, change=dataclasses.replace(moon.change, premises=3, found=(0, 2)))
    assert tell(three, NAMES).startswith(tell(moon, NAMES))
    assert tell(three, NAMES) != tell(moon, NAMES)


def test_no_premise_is_told_twice(
    indexes: Pair, tree_of: Callable[..., ExplanationTree], listed_index: Any
) -> None:
    texts = ["ice is light", "ice is not heavy"]
    trees = [tree_of(text, [(["ice floats"], text)]) for text in texts]
    pair = (
        listed_index(CORPUS, {text: ["earth has a sky", "ice floats"] for text in texts}),
        listed_index(CORPUS, {text: ["ice floats"] for text in texts}),
    )
    split = compare_split(CORPUS, trees, pair)
    assert [stop.premise for stop in choose_stops(split, pair)] == ["ice floats"]


def test_the_querys_own_text_is_no_sentence_before_the_premise(
    tree_of: Callable[..., ExplanationTree], listed_index: Any
) -> None:
    query = "earth has a sky"
    pair = (
        listed_index(CORPUS, {query: [query, "glass is a solid", "ice floats"]}),
        listed_index(CORPUS, {query: [query, "ice floats"]}),
    )
    split = compare_split(CORPUS, [tree_of(query, [(["ice floats"], query)])], pair)
    (stop,) = choose_stops(split, pair)
    assert (stop.ranks, stop.before) == ((2, 1), 1)


def test_indexes_of_something_else_are_refused(split: SplitComparison, indexes: Pair) -> None:
    other = indexes[1]
    other.manifest = dataclasses.replace(other.manifest, revision="changed")
    with pytest.raises(RetrievalError):
        choose_stops(split, (indexes[0], other))
