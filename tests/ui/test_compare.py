"""What the comparison gives to take along."""

import csv
import io

from entail.data.records import Corpus
from entail.evaluation.comparison import compare
from entail.index.lexical import Bm25Index, TfidfIndex
from entail.ui.compare import comparison_csv


def test_no_spreadsheet_takes_a_premise_for_a_formula() -> None:
    corpus = Corpus.of("odd", ["=HYPERLINK(0) ice", "ice is cold, snow too"])
    comparison = compare(
        "ice", corpus, (TfidfIndex(corpus), Bm25Index(corpus)), gold={"ice is cold, snow too"}
    )
    rows = list(csv.DictReader(io.StringIO(comparison_csv(comparison))))
    assert {row["premise"]: row["gold"] for row in rows} == {
        "'=HYPERLINK(0) ice": "0",
        "ice is cold, snow too": "1",
    }
    assert sorted(row["rank tfidf"] for row in rows) == ["1", "2"]
