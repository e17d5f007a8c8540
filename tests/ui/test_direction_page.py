"""The Direction page: two sentences, a table, search by direction."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.data.nli.sentence_pairs import PairTable, read_pairs
from entail.data.records import Corpus
from entail.encoders.catalogue import resolve
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.gausscse.pair_table import ADDED, JudgedTable, judge_table
from entail.gausscse.verdict import Verdict
from entail.index.protocol import Hits
from entail.ui.direction.encoder import gaussian_names
from entail.ui.direction.search import count_entailing, search_rows
from entail.ui.shared.downloads import table_csv
from entail.ui.shared.resources import Workspace
from tests.ui.conftest import said, settled

PAGE = "pages/Direction.py"


def opened(app: AppTest) -> AppTest:
    return settled(app.switch_page(PAGE).run())


def uploaded(app: AppTest, name: str, content: bytes) -> AppTest:
    return settled(app.file_uploader(key="direction_file").upload(name, content, "text/csv").run())


def figures(app: AppTest) -> dict[str, str]:
    return {metric.label: str(metric.value) for metric in app.metric}


def test_without_an_encoder_it_says_where_to_get_one(app: AppTest, tiny_home: Path) -> None:
    app = opened(app)
    assert gaussian_names() == {}, "points tell no direction"
    assert "No Gaussian encoder yet" in said(app)
    assert "entail train gausscse" in said(app)
    assert not app.text_area


def test_two_sentences_are_judged_drawn_and_swapped(app: AppTest, gaussian: str) -> None:
    app = opened(app)
    app.text_area(key="direction_first").set_value("ba be bi bo bu")
    app = settled(app.text_area(key="direction_second").set_value("ba be").run())
    before = figures(app)
    assert set(before) == {"First → second", "Second → first", "Margin", "Threshold"}
    assert before["Threshold"] == "0.500"
    (told,) = GaussianEncoder(gaussian).similarities(["ba be"], ["ba be bi bo bu"])
    assert before["First → second"] == f"{told:.3f}"
    assert len(app.get("vega_lite_chart")) == 2
    assert "of all variance in 16 dimensions" in said(app)
    likelier = "first" if float(before["Margin"]) > 0 else "second"
    assert f"If only one entails the other: the {likelier}, " in said(app)
    app = settled(app.button(key="direction_swap").click().run())
    after = figures(app)
    assert app.text_area(key="direction_first").value == "ba be"
    assert after["First → second"] == before["Second → first"] != before["First → second"]
    assert float(after["Margin"]) == -float(before["Margin"]) != 0


def test_the_confidence_beside_a_verdict_is_never_below_one_half(app: AppTest, gaussian: str) -> None:
    path = resolve(gaussian).path
    assert path is not None
    about = json.loads((path / "entail.json").read_text(encoding="utf-8"))
    about["gaussian"] |= {"threshold": 0.1, "entailment": {"slope": 1.0, "intercept": -9.0}}
    (path / "entail.json").write_text(json.dumps(about), encoding="utf-8")
    app = opened(app)
    app.text_area(key="direction_first").set_value("ba be bi")
    app = settled(app.text_area(key="direction_second").set_value("si so").run())
    assert "Each entails the other, 50% confidence" in said(app)
    table = read_pairs(b"first,second\nba be bi,si so\n", name="pairs.csv", most=10)
    (row,) = csv.DictReader(io.StringIO(table_csv(judge_table(GaussianEncoder(gaussian), table).to_rows())))
    assert (row["says"], float(row["sure"])) == ("both ways", 0.5)


def test_sentences_that_are_equal_long_or_empty(app: AppTest, gaussian: str) -> None:
    app = opened(app)
    app.text_area(key="direction_first").set_value("ba be")
    app = settled(app.text_area(key="direction_second").set_value(" ba  be").run())
    assert "Each entails the other, 100% confidence" in said(app)
    assert "If only one" not in said(app)
    app = settled(app.text_area(key="direction_second").set_value("ba " * 10_000).run())
    assert "The second sentence exceeds the encoder's input" in said(app)
    assert "The first sentence exceeds" not in said(app)
    app = settled(app.text_area(key="direction_second").set_value(" ").run())
    assert "Enter two sentences" in said(app)
    assert not app.metric
    app.text_area(key="direction_first").set_value("\u200b\u200b")
    app = settled(app.text_area(key="direction_second").set_value("\u200b\0").run())
    assert "Enter two sentences" in said(app), "nothing of them can be seen"


def test_search_by_direction_stands_beside_plain_cosine(
    app: AppTest, shared: Workspace, gaussian: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = ["ba be bi", "bo bu da", "de di do ba be", "du fa"]
    four = shared.corpora.add_corpus(Corpus.of("four", facts), author="Ada")
    app.session_state["direction_mode"] = "search"
    app.session_state["direction_corpus"] = four.id
    app.session_state["direction_query"] = "ba be"
    app = opened(app)
    found = [str(block.body) for block in app.get("html") if 'class="entail-sentence"' in str(block.body)]
    assert len(found) == 2 * len(facts)
    assert all("in both" in row for row in found)
    assert "Plain cosine (MiniLM)" in said(app)
    assert [b.label for b in app.get("download_button")] == ["Results (CSV)"]
    # Where the threshold falls between two of them it is said there, and where none is above it, that too.
    second, third = (float(row.partition('entail-quiet">')[2][:5]) for row in found[1:3])
    assert second > third > 0.5
    assert "No entailment below" not in said(app)
    between = (second + third) / 2
    monkeypatch.setattr(GaussianEncoder, "threshold", property(lambda self: between))
    app = settled(app.run())
    assert "**No entailment below this line**: threshold" in said(app)
    monkeypatch.setattr(GaussianEncoder, "threshold", property(lambda self: 1.5))
    app = settled(app.segmented_control(key="direction_way").set_value("entailed").run())
    assert f"Entailed by the query ({gaussian})" in said(app)
    assert "**No hit is an entailment**" in said(app)
    app = settled(app.text_input(key="direction_query").set_value("ba " * 10_000).run())
    assert "truncated" in said(app)
    app = settled(app.text_input(key="direction_query").set_value("\u200b").run())
    assert "Enter a query" in said(app)


def test_what_was_found_says_what_entails_and_what_is_only_nearest() -> None:
    corpus = Corpus.of("three", ["=1+1", "ice is cold", "fire is hot"])
    by_direction = Hits(np.array([[1, 0, 2]]), np.array([[0.9, 0.5, 0.25]], dtype=np.float32))
    by_cosine = Hits(np.array([[2, 1, 0]]), np.array([[0.75, 0.5, 0.25]], dtype=np.float32))
    assert count_entailing(by_direction, 0.5) == 1, "at the threshold it is not above it"
    assert (count_entailing(by_direction, 0.1), count_entailing(by_direction, 0.9)) == (3, 0)
    sides = [("What entails it", by_direction), ("Plain cosine", by_cosine)]
    rows = list(csv.DictReader(io.StringIO(table_csv(search_rows(corpus, sides, 0.5)))))
    assert [(row["fact"], row["entailment"]) for row in rows[:3]] == [
        ("ice is cold", "yes"),
        ("'=1+1", "no"),
        ("fire is hot", "no"),
    ]
    assert [row["similarity"] for row in rows] == [
        "0.900000",
        "0.500000",
        "0.250000",
        "0.750000",
        "0.500000",
        "0.250000",
    ]
    assert {(row["search"], row["threshold"], row["entailment"]) for row in rows[3:]} == {
        ("Plain cosine", "", "")
    }


def test_a_table_comes_back_with_a_verdict_a_row(app: AppTest, gaussian: str) -> None:
    app.session_state["direction_mode"] = "table"
    app = opened(app)
    content = "id,premise,hypothesis\n1,ba be bi,ba\n2,=1+1,=1+1\n3,ba,\n4,\u200b,\u200b\n".encode()
    app = settled(app.file_uploader(key="direction_file").upload("pairs.csv", content, "text/csv").run())
    table = app.dataframe[0].value
    assert list(table["first"]) == ["ba be bi", "=1+1", "ba", "\u200b"]
    assert table["says"][1] == "both ways"
    assert "4 pairs" in said(app)
    assert "empty sentence: 2" in said(app)
    app = settled(app.file_uploader(key="direction_file").upload("bad.csv", b"one\nx\n", "text/csv").run())
    assert "bad.csv: expected two columns of sentences called premise and hypothesis, " in said(app)


def test_a_table_is_read_as_the_command_line_reads_it(app: AppTest, gaussian: str) -> None:
    app.session_state["direction_mode"] = "table"
    app = opened(app)
    content = b'gold_label\tsentence1_binary_parse\tsentence1\tsentence2\n-\t(\t"ba be\tba\n-\t(\tbo\t"bu\n'
    app = uploaded(app, "pairs.tsv", content)
    assert [*app.dataframe[0].value["first"]] == ['"ba be', "bo"]
    assert "“sentence1” and “sentence2”" in said(app)
    app = uploaded(app, "p.tsv", b'premise\thypothesis\nba be\nbo\t"bu"\n')
    assert [*app.dataframe[0].value["second"]] == ["bu"]
    assert "left out: 1. p.tsv, line 2" in said(app)
    app = uploaded(app, "p.csv", b"premise;hypothesis;label\nba, be;bi;x\n")
    assert [*app.dataframe[0].value["first"]] == ["ba, be"]


def test_columns_that_nobody_named_are_told_or_refused(app: AppTest, gaussian: str) -> None:
    app.session_state["direction_mode"] = "table"
    app = opened(app)
    app = uploaded(app, "p.csv", b"id,prem,hyp\n1,ba,be\n")
    assert "found 'id', 'prem', 'hyp'; name the two so, or leave no others" in said(app)
    assert not app.dataframe
    app = uploaded(app, "p.csv", b"prem,hyp\nba,be\n")
    assert [*app.dataframe[0].value["first"]] == ["ba"]
    assert "“prem” and “hyp”" in said(app)


def test_what_is_taken_along_keeps_every_column(gaussian: str) -> None:
    table = read_pairs(b"id,premise,Hypothesis,says\n7,ba be,ba,x\n8,ba,,\n9,=1,ba be" + 40 * b" ba", most=9)
    assert table.rows[2] == ("9", "=1", "ba be" + 40 * " ba", "")
    judged = judge_table(GaussianEncoder(gaussian), table)
    assert judged.truncated == (False, False, True)
    rows = list(csv.DictReader(io.StringIO(table_csv(judged.to_rows()))))
    assert [row["id"] for row in rows] == ["7", "8", "9"]
    assert (rows[0]["Hypothesis"], rows[2]["premise"]) == ("ba", "'=1")
    verdict = judged.verdicts[0]
    assert verdict is not None
    assert [row["says"] for row in rows] == ["x", "", ""], "a column of the table's own"
    assert (rows[0]["judged_says"], rows[0]["margin"]) == (verdict.says, str(verdict.margin))
    assert (rows[1]["judged_says"], rows[1]["margin"], rows[2]["truncated"]) == ("", "", "1")


def test_no_column_gives_way_to_what_is_added(app: AppTest, gaussian: str) -> None:
    names = ["premise", "hypothesis", *ADDED, "judged_margin"]
    content = ",".join(names) + "\nba be,ba" + "".join(f",{number}" for number in range(8)) + "\n"
    table = read_pairs(content.encode(), most=9)
    judged = judge_table(GaussianEncoder(gaussian), table)
    header, row = csv.reader(io.StringIO(table_csv(judged.to_rows())))
    assert len({*header}) == len(header) == len(names) + len(ADDED)
    assert row[2 : len(names)] == [*"01234567"]
    verdict = judged.verdicts[0]
    assert verdict is not None
    assert row[header.index("judged_judged_margin")] == str(verdict.margin)
    app.session_state["direction_mode"] = "table"
    app = uploaded(opened(app), "p.csv", content.encode())
    assert "judged_says for says, " in said(app)


def test_counts_are_told_in_words() -> None:
    def told(says: Any) -> Verdict:
        return Verdict("a", "b", 0.5, 0.25, says, 1.0, None, None)

    table = PairTable(("a", "b"), (("x", "y"),) * 4, (0, 1))
    assert (
        str(JudgedTable(table, (told("neither"), None, told("entails"), told("neither"))))
        == "2 neither, 1 entails"
    )
