"""Files of the Compare page."""

import csv
import io

import pytest

from entail.data.records import Corpus, ExplanationTree, Step
from entail.data.spreadsheets import to_csv
from entail.evaluation.retrieval.comparison import compare, comparison_rows
from entail.evaluation.retrieval.split_comparison import SplitComparison, compare_split, query_rows
from entail.index.lexical import Bm25Index, TfidfIndex

ODD = Corpus.of("odd", ["=HYPERLINK(0) ice", "ice is cold, snow too"])


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def split() -> SplitComparison:
    tree = ExplanationTree(
        "t",
        "+ice is cold",
        {"sent1": "ice is cold, snow too", "sent2": "nowhere"},
        steps=(Step(("sent1", "sent2"), "hypothesis"),),
    )
    return compare_split(ODD, [tree], (TfidfIndex(ODD), Bm25Index(ODD)), ks=(1,))


def test_premises_with_their_decisions_and_no_formula() -> None:
    decisions = {"ice is cold, snow too": True, "=HYPERLINK(0) ice": False}
    comparison = compare(
        "ice",
        ODD,
        (TfidfIndex(ODD), Bm25Index(ODD)),
        gold={"ice is cold, snow too"},
        decisions=decisions,
    )
    rows = rows_of(to_csv(comparison_rows(comparison)))
    assert {row["premise"]: (row["gold"], row["decision"]) for row in rows} == {
        "'=HYPERLINK(0) ice": ("0", "rejected"),
        "ice is cold, snow too": ("1", "accepted"),
    }
    assert sorted(row["rank tfidf"] for row in rows) == ["1", "2"]


def test_queries_by_both_protocols(split: SplitComparison) -> None:
    rows = rows_of(to_csv(query_rows(split)))
    assert [row["protocol"] for row in rows] == ["query_excluded", "paper"]
    assert {row["query"] for row in rows} == {"'+ice is cold"}
    assert all(row["ranks tfidf"].endswith(" inf") for row in rows)
    assert all(float(row["AP tfidf"]) == split.changes["paper"][0].ap[0] for row in rows)
