"""The Direction page: two sentences, a table, search by direction."""

import csv
import io
import json
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.data.nli.sentence_pairs import read_pairs
from entail.data.records import Corpus
from entail.data.spreadsheets import to_csv
from entail.encoders.catalogue import resolve
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.gausscse.verdict import ADDED, judge_table
from entail.ui.direction.encoder import gaussian_names
from entail.ui.shared.resources import Workspace
from tests.ui.conftest import html, opened, said, settled

PAGE = "pages/Direction.py"


def typed(app: AppTest, first: str, second: str) -> AppTest:
    app.text_area(key="direction_first").set_value(first)
    return settled(app.text_area(key="direction_second").set_value(second).run())


def uploaded(app: AppTest, name: str, content: bytes) -> AppTest:
    return settled(app.file_uploader(key="direction_file").upload(name, content, "text/csv").run())


def figures(app: AppTest) -> list[str]:
    return [str(metric.value) for metric in app.metric]


def csv_rows(table: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(table))))


@pytest.fixture
def table_mode(app: AppTest, gaussian: str) -> AppTest:
    app.session_state["direction_mode"] = "table"
    return opened(app, PAGE)


@pytest.mark.usefixtures("tiny_home")
def test_without_an_encoder_the_page_says_where_to_get_one(app: AppTest) -> None:
    app = opened(app, PAGE)
    assert gaussian_names() == {}, "points have no direction"
    assert "entail train gausscse" in said(app)
    assert not app.text_area


def test_two_sentences_are_judged_drawn_and_swapped(app: AppTest, gaussian: str) -> None:
    app = typed(opened(app, PAGE), "ba be bi bo bu", "ba be")
    forward, backward, margin, threshold = figures(app)
    (expected,) = GaussianEncoder(gaussian).similarities(["ba be"], ["ba be bi bo bu"])
    assert (forward, threshold) == (f"{expected:.3f}", "0.500")
    assert forward != backward
    assert app.get("vega_lite_chart")
    assert f"If only one entails the other: the {'first' if float(margin) > 0 else 'second'}, " in said(app)
    app = settled(app.button(key="direction_swap").click().run())
    assert app.text_area(key="direction_first").value == "ba be"
    assert figures(app)[:2] == [backward, forward]
    assert float(figures(app)[2]) == -float(margin) != 0


def test_confidence_is_at_least_one_half(app: AppTest, gaussian: str) -> None:
    path = resolve(gaussian).path
    assert path is not None
    about = json.loads((path / "entail.json").read_text(encoding="utf-8"))
    about["gaussian"] |= {"threshold": 0.1, "entailment": {"slope": 1.0, "intercept": -9.0}}
    (path / "entail.json").write_text(json.dumps(about), encoding="utf-8")
    assert "Each entails the other, 50% confidence" in said(typed(opened(app, PAGE), "ba be bi", "si so"))
    table = read_pairs(b"first,second\nba be bi,si so\n", name="pairs.csv", most=10)
    (row,) = csv_rows(judge_table(GaussianEncoder(gaussian), table).to_rows())
    assert (row["says"], float(row["sure"])) == ("both ways", 0.5)


@pytest.mark.usefixtures("gaussian")
def test_a_judge_reads_both_sentences_together(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    class Judge:
        def entailment(self, premises: list[str], hypotheses: list[str]) -> np.ndarray:
            assert premises == hypotheses[::-1] == ["ba be", "bi bo"]
            return np.array([0.75, 0.25])

    monkeypatch.setattr("entail.ui.direction.pair.list_judges", lambda: ["mine"])
    monkeypatch.setattr("entail.ui.direction.pair.load_judge", lambda name: Judge())
    assert "first → second 75%, second → first 25%" in said(
        settled(typed(opened(app, PAGE), "ba be", "bi bo"))
    )


@pytest.mark.usefixtures("gaussian")
def test_equal_long_and_empty_sentences(app: AppTest) -> None:
    app = typed(opened(app, PAGE), "ba be", " ba  be")
    assert "Each entails the other, 100% confidence" in said(app)
    assert "If only one" not in said(app)
    app = typed(app, "ba be", "ba " * 10_000)
    (warning,) = app.warning
    assert "second sentence" in str(warning.value)
    for first, second in (("ba be", " "), ("\u200b\u200b", "\u200b\0")):
        app = typed(app, first, second)
        assert app.info
        assert not app.metric


def test_search_by_direction_next_to_cosine(
    app: AppTest, shared: Workspace, gaussian: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = ["ba be bi", "bo bu da", "de di do ba be", "du fa"]
    app.session_state["direction_mode"] = "search"
    app.session_state["direction_corpus"] = shared.corpora.add_corpus(
        Corpus.of("four", facts), author="Ada"
    ).id
    app.session_state["direction_query"] = "ba be"
    app = opened(app, PAGE)
    rows = html(app, 'class="entail-sentence"')
    assert len(rows) == 2 * len(facts)
    assert all("in both" in row for row in rows)
    second, third = (float(row.partition('entail-quiet">')[2][:5]) for row in rows[1:3])
    assert second > third > 0.5
    assert "No entailment below" not in said(app)
    between = (second + third) / 2
    monkeypatch.setattr("entail.ui.direction.search.threshold_of", lambda form: between)
    assert "**No entailment below this line**: threshold" in said(settled(app.run()))
    monkeypatch.setattr("entail.ui.direction.search.threshold_of", lambda form: 1.5)
    app = settled(app.segmented_control(key="direction_way").set_value("entailed").run())
    assert f"Entailed by the query ({gaussian})" in said(app)
    assert "**No hit is an entailment**" in said(app)
    app = settled(app.text_input(key="direction_query").set_value("ba " * 10_000).run())
    assert "truncated" in said(app)
    app = settled(app.text_input(key="direction_query").set_value("\u200b").run())
    assert "Enter a query" in said(app)


def test_a_table_gets_a_verdict_a_row(table_mode: AppTest) -> None:
    content = "id,premise,hypothesis\n1,ba be bi,ba\n2,=1+1,=1+1\n3,ba,\n4,\u200b,\u200b\n".encode()
    app = uploaded(table_mode, "pairs.csv", content)
    table = app.dataframe[0].value
    assert list(table["first"]) == ["ba be bi", "=1+1", "ba", "\u200b"]
    assert table["says"][1] == "both ways"
    assert "4 pairs" in said(app)
    assert " both ways" in said(app)
    assert "empty sentence: 2" in said(app)


@pytest.mark.parametrize(
    ("name", "content", "first", "words"),
    [
        ("p.tsv", b'premise\thypothesis\nba be\nbo\t"bu"\n', ["bo"], "left out: 1. p.tsv, line 2: "),
        ("p.csv", b"prem,hyp\nba,be\n", ["ba"], "“prem” and “hyp”"),
    ],
)
def test_columns_of_a_table_are_found(
    table_mode: AppTest, name: str, content: bytes, first: list[str], words: str
) -> None:
    app = uploaded(table_mode, name, content)
    assert words in said(app)
    assert list(app.dataframe[0].value["first"]) == first


def test_columns_of_a_table_are_proposed_and_picked(table_mode: AppTest) -> None:
    app = uploaded(table_mode, "p.csv", b"id,one sentence,another sentence,note\n1,ba,be,bo\n")
    assert list(app.dataframe[0].value["first"]) == ["ba"]
    field = next(box for box in app.selectbox if box.label == "First sentence")
    app = settled(field.set_value(3).run())
    assert [*app.dataframe[0].value["first"], *app.dataframe[0].value["second"]] == ["bo", "be"]


def test_the_file_of_verdicts_keeps_every_column(table_mode: AppTest, gaussian: str) -> None:
    content = b"id,premise,Hypothesis,says\n7,ba be,ba,x\n8,ba,,\n9,=1,ba be" + 40 * b" ba"
    judged = judge_table(GaussianEncoder(gaussian), read_pairs(content, most=9))
    assert judged.truncated == (False, False, True)
    rows = csv_rows(judged.to_rows())
    assert [row["id"] for row in rows] == ["7", "8", "9"]
    assert (rows[0]["Hypothesis"], rows[2]["premise"]) == ("ba", "'=1")
    verdict = judged.verdicts[0]
    assert verdict is not None
    assert [row["says"] for row in rows] == ["x", "", ""], "a column of the table's own"
    assert (rows[0]["judged_says"], rows[0]["margin"]) == (verdict.says, str(verdict.margin))
    assert (rows[1]["judged_says"], rows[2]["truncated"]) == ("", "1")
    names = ["premise", "hypothesis", *ADDED, "judged_margin"]
    content = f"{','.join(names)}\nba be,ba,{','.join('01234567')}\n".encode()
    table = judge_table(GaussianEncoder(gaussian), read_pairs(content, most=9)).to_rows()
    header, row = csv.reader(io.StringIO(to_csv(table)))
    assert len({*header}) == len(header) == len(names) + len(ADDED)
    assert row[2 : len(names)] == [*"01234567"]
    assert "judged_judged_margin" in header
    assert "judged_says for says, " in said(uploaded(table_mode, "p.csv", content))
