"""What the comparison gives to take along."""

import csv
import io
import json
import math

import pytest

from entail.aeenc.bias import bias
from entail.data.records import Corpus, ExplanationTree, Step
from entail.evaluation.retrieval.comparison import compare
from entail.evaluation.retrieval.exchange import (
    comparison_json,
    comparison_rows,
    query_rows,
    tour_json,
    tour_rows,
)
from entail.evaluation.retrieval.split_comparison import SplitComparison, compare_split
from entail.evaluation.retrieval.tour import choose_stops, headline, tell
from entail.index.lexical import Bm25Index, TfidfIndex
from entail.ui.shared.downloads import rows_csv, table_csv, to_json
from tests.evaluation.conftest import ListedIndex

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


def test_no_spreadsheet_takes_a_premise_for_a_formula() -> None:
    comparison = compare("ice", ODD, (TfidfIndex(ODD), Bm25Index(ODD)), gold={"ice is cold, snow too"})
    rows = rows_of(table_csv(comparison_rows(comparison)))
    assert {row["premise"]: row["gold"] for row in rows} == {
        "'=HYPERLINK(0) ice": "0",
        "ice is cold, snow too": "1",
    }
    assert sorted(row["rank tfidf"] for row in rows) == ["1", "2"]


def test_decisions_stand_beside_what_is_gold() -> None:
    said = {"ice is cold, snow too": True, "=HYPERLINK(0) ice": False}
    comparison = compare("ice", ODD, (TfidfIndex(ODD), Bm25Index(ODD)), decisions=said)
    found = {
        row["premise"].lstrip("'"): row["decision"] for row in rows_of(table_csv(comparison_rows(comparison)))
    }
    assert found == {"ice is cold, snow too": "accepted", "=HYPERLINK(0) ice": "rejected"}
    told = json.loads(to_json(comparison_json(comparison)))
    assert {row["text"]: row["decision"] for row in told["premises"]} == said
    assert told["retrievers"] == ["tfidf", "bm25"]


def test_every_query_is_told_by_both_protocols(split: SplitComparison) -> None:
    rows = rows_of(table_csv(query_rows(split)))
    assert [row["protocol"] for row in rows] == ["query_excluded", "paper"]
    assert {row["query"] for row in rows} == {"'+ice is cold"}
    assert all(row["ranks tfidf"].endswith(" inf") for row in rows)
    assert all(float(row["AP tfidf"]) == split.changes["paper"][0].ap[0] for row in rows)


def test_figures_are_json_with_their_intervals(split: SplitComparison) -> None:
    told = json.loads(to_json(split.to_json()))
    assert {figure["protocol"] for figure in told["figures"]} == {"query_excluded", "paper"}
    for figure in told["figures"]:
        assert figure["first_interval"][0] <= figure["first"] <= figure["first_interval"][1]
        assert math.isclose(figure["difference"], figure["second"] - figure["first"])
    assert told["missing"] == ["nowhere"]
    assert [effort["limit"] for effort in told["effort"]] == [100, 100]


def test_rows_of_a_generator_keep_their_fields_in_order() -> None:
    rows = ({"query": "=q", "cosine": value} for value in (0.25, 0.5))
    assert rows_csv(rows).splitlines() == ["query,cosine", "'=q,0.25", "'=q,0.5"]
    assert rows_csv(iter(())) == ""


def test_bias_of_lexical_retrievers_is_refused_by_the_library_too() -> None:
    from entail.errors import RetrievalError

    with pytest.raises(RetrievalError, match="no vectors"):
        bias(ODD, [], [TfidfIndex(ODD)])


def test_a_tour_is_taken_along_with_its_sentences() -> None:
    claim, gold, other = "=ice and water", "ice ice ice water", "=ice and water too"
    facts = Corpus.of("facts", [other, gold, "snow is cold"])
    tree = ExplanationTree("t", claim, {"sent1": gold}, steps=(Step(("sent1",), "hypothesis"),))
    indexes = ListedIndex(facts, {claim: [gold]}), ListedIndex(facts, {claim: [other, gold]})
    split = compare_split(facts, [tree], indexes, ks=(1, 10))
    stops, names = choose_stops(split, indexes), ("+one", "two")
    (stop,) = stops
    (row,) = rows_of(table_csv(tour_rows(stops, names)))
    assert (row["example"], row["claim"], row["premise"]) == ("1", f"'{claim}", gold)
    assert row["told"] == tell(stop, names)
    assert (row["place +one"], row["place two"], row["better"]) == ("1", "2", "'+one")
    assert (row["AP +one"], row["AP two"]) == ("1.000000", "0.500000")
    assert (row["before it"], row["first alike"]) == ("1", f"'{other}")
    told = json.loads(to_json(tour_json(split, stops, names)))
    assert told["retrievers"] == ["+one", "two"]
    (example,) = told["examples"]
    assert (example["claim"], example["told"]) == (claim, tell(stop, names))
    assert (example["places"], example["better"], example["first_alike"]) == ([1, 2], "+one", other)
    assert told["comes_to"] == list(headline(split, names))
