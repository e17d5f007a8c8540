"""Files of the Compare page."""

import csv
import io
import json
import math

import pytest

from entail.data.records import Corpus, ExplanationTree, Step
from entail.data.spreadsheets import to_csv
from entail.evaluation.retrieval.comparison import compare, comparison_json, comparison_rows
from entail.evaluation.retrieval.split_comparison import SplitComparison, compare_split, query_rows
from entail.evaluation.retrieval.tour import choose_stops, headline, tell, tour_json, tour_rows
from entail.index.lexical import Bm25Index, TfidfIndex
from entail.ui.shared.downloads import to_json
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
    content = json.loads(to_json(comparison_json(comparison)))
    assert {row["text"]: row["decision"] for row in content["premises"]} == decisions
    assert content["retrievers"] == ["tfidf", "bm25"]


def test_queries_by_both_protocols(split: SplitComparison) -> None:
    rows = rows_of(to_csv(query_rows(split)))
    assert [row["protocol"] for row in rows] == ["query_excluded", "paper"]
    assert {row["query"] for row in rows} == {"'+ice is cold"}
    assert all(row["ranks tfidf"].endswith(" inf") for row in rows)
    assert all(float(row["AP tfidf"]) == split.changes["paper"][0].ap[0] for row in rows)


def test_figures_are_json_with_their_intervals(split: SplitComparison) -> None:
    content = json.loads(to_json(split.to_json()))
    assert {figure["protocol"] for figure in content["figures"]} == {"query_excluded", "paper"}
    for figure in content["figures"]:
        assert figure["first_interval"][0] <= figure["first"] <= figure["first_interval"][1]
        assert math.isclose(figure["difference"], figure["second"] - figure["first"])
    assert content["missing"] == ["nowhere"]
    assert [effort["limit"] for effort in content["effort"]] == [100, 100]


def test_a_tour_with_its_sentences() -> None:
    claim, gold, other = "=ice and water", "ice ice ice water", "=ice and water too"
    facts = Corpus.of("facts", [other, gold, "snow is cold"])
    tree = ExplanationTree("t", claim, {"sent1": gold}, steps=(Step(("sent1",), "hypothesis"),))
    indexes = ListedIndex(facts, {claim: [gold]}), ListedIndex(facts, {claim: [other, gold]})
    split = compare_split(facts, [tree], indexes, ks=(1, 10))
    stops, names = choose_stops(split, indexes), ("+one", "two")
    (stop,) = stops
    (row,) = rows_of(to_csv(tour_rows(stops, names)))
    assert (row["example"], row["claim"], row["premise"]) == ("1", f"'{claim}", gold)
    assert row["told"] == tell(stop, names)
    assert (row["place +one"], row["place two"], row["better"]) == ("1", "2", "'+one")
    assert (row["AP +one"], row["AP two"]) == ("1.0", "0.5")
    assert (row["before it"], row["first alike"]) == ("1", f"'{other}")
    differences = {float(row["difference in AP"]) for row in rows_of(to_csv(query_rows(split)))}
    assert differences == {-0.5}
    content = json.loads(to_json(tour_json(split, stops, names)))
    assert content["retrievers"] == ["+one", "two"]
    (example,) = content["examples"]
    assert (example["claim"], example["told"]) == (claim, tell(stop, names))
    assert (example["places"], example["better"], example["first_alike"]) == ([1, 2], "+one", other)
    assert content["comes_to"] == list(headline(split, names))
