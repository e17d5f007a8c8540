"""Two retrievers on one query, over a corpus small enough to rank by hand."""

from collections.abc import Callable

import pytest

from entail.data.records import Corpus
from entail.errors import ManifestMismatchError, RetrievalError
from entail.evaluation.retrieval.comparison import compare, comparison_rows
from tests.evaluation.conftest import ListedIndex

CORPUS = Corpus.of(
    "five", ["ice is cold", "fire is hot", "snow is ice", "the sun is a star", "salt is a solid"]
)


QUERIES = ("snow is cold", "ice  is cold", "ice")


def ranked(name: str, *texts: str) -> ListedIndex:
    index = ListedIndex(CORPUS, dict.fromkeys(QUERIES, texts))
    index.name = name
    return index


LEFT = ranked("left", "ice is cold", "snow is ice", "fire is hot", "salt is a solid", "the sun is a star")
RIGHT = ranked("right", "snow is ice", "fire is hot", "the sun is a star", "ice is cold", "salt is a solid")


def test_ranks_changes_and_overlap_by_hand() -> None:
    comparison = compare("snow is cold", CORPUS, (LEFT, RIGHT), k=2, gold={"snow is ice", "ice is cold"})
    assert [row.premise.text for row in comparison.side(0)] == ["ice is cold", "snow is ice"]
    assert [row.premise.text for row in comparison.side(1)] == ["snow is ice", "fire is hot"]
    ranks = {row.premise.text: row.ranks for row in comparison.rows}
    assert ranks == {"ice is cold": (1, 4), "snow is ice": (2, 1), "fire is hot": (3, 2)}
    assert {row.premise.text: row.change for row in comparison.rows}["ice is cold"] == -3
    assert comparison.shared == 1
    assert (comparison.count_gold(0), comparison.count_gold(1)) == (2, 1)


def test_the_query_itself_is_left_out_of_both() -> None:
    comparison = compare("ice  is cold", CORPUS, (LEFT, RIGHT), k=5)
    assert "ice is cold" not in {row.premise.text for row in comparison.rows}
    assert comparison.k == 4
    assert comparison.side(0)[0].ranks[0] == 1


def test_bad_requests_are_refused() -> None:
    for query, k in (("  ", 3), ("ice", 0)):
        with pytest.raises(RetrievalError):
            compare(query, CORPUS, (LEFT, RIGHT), k=k)
    with pytest.raises(ManifestMismatchError):
        compare("ice", Corpus.of("other", ["ice"]), (LEFT, RIGHT), k=3)


def test_where_the_two_differ_most_comes_first() -> None:
    comparison = compare("snow is cold", CORPUS, (LEFT, RIGHT), k=5)
    assert next(row.premise.text for row in comparison.by_difference) == "ice is cold"  # 1 -> 4
    weights = [row.weight for row in comparison.by_difference]
    assert weights == sorted(weights, reverse=True)


def test_what_authors_decided_stands_beside_what_is_gold() -> None:
    decisions = {"ice is cold": False, "snow is ice": True}
    comparison = compare(
        "snow is cold", CORPUS, (LEFT, RIGHT), k=5, gold={"ice is cold"}, decisions=decisions
    )
    rows = {row.premise.text: (row.gold, row.decision) for row in comparison.rows}
    assert rows["ice is cold"] == (True, False)
    assert rows["snow is ice"] == (False, True)
    assert rows["fire is hot"] == (False, None)


def test_of_a_large_corpus_the_first_of_both_lists_are_compared(list_first: Callable[[int], None]) -> None:
    list_first(4)
    comparison = compare("snow is cold", CORPUS, (LEFT, RIGHT), k=9)
    assert (comparison.k, comparison.listed) == (3, 3)
    ranks = {row.premise.text: row.ranks for row in comparison.rows}
    assert ranks == {
        "ice is cold": (1, 4),
        "snow is ice": (2, 1),
        "fire is hot": (3, 2),
        "the sun is a star": (4, 3),
    }
    cells = {row[0]: row[3:5] for row in comparison_rows(comparison)}
    assert cells["the sun is a star"] == ("> 3", 3)
    own = compare("ice  is cold", CORPUS, (LEFT, RIGHT), k=2)
    assert "ice is cold" not in {row.premise.text for row in own.rows}
    assert own.side(0)[0].ranks == (1, 1)
