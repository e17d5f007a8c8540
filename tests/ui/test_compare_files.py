"""Files of the Compare page."""

import csv
import io
from typing import Any

from entail.data.records import Corpus, ExplanationTree, Step
from entail.data.spreadsheets import to_csv
from entail.evaluation.retrieval.comparison import compare, comparison_rows
from entail.evaluation.retrieval.split_comparison import compare_split, query_rows
from entail.index.lexical import Bm25Index, TfidfIndex

ODD = Corpus.of("odd", ["=HYPERLINK(0) ice", "ice is cold, snow too"])
INDEXES = TfidfIndex(ODD), Bm25Index(ODD)


def rows_of(rows: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(rows))))


def test_premises_and_queries_with_their_decisions_and_no_formula() -> None:
    decisions = {"ice is cold, snow too": True, "=HYPERLINK(0) ice": False}
    comparison = compare("ice", ODD, INDEXES, gold={"ice is cold, snow too"}, decisions=decisions)
    rows = rows_of(comparison_rows(comparison))
    assert {row["premise"]: (row["gold"], row["decision"]) for row in rows} == {
        "'=HYPERLINK(0) ice": ("0", "rejected"),
        "ice is cold, snow too": ("1", "accepted"),
    }
    assert sorted(row["rank tfidf"] for row in rows) == ["1", "2"]
    texts = {"sent1": "ice is cold, snow too", "sent2": "nowhere"}
    tree = ExplanationTree("t", "+ice is cold", texts, steps=(Step(("sent1", "sent2"), "hypothesis"),))
    split = compare_split(ODD, [tree], INDEXES, ks=(1,))
    rows = rows_of(query_rows(split))
    assert {row["query"] for row in rows} == {"'+ice is cold"}
    assert all(row["ranks tfidf"].endswith(" inf") for row in rows)
    assert all(float(row["AP tfidf"]) == split.changes["query_excluded"][0].ap[0] for row in rows)
