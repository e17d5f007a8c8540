"""The Compare page in its modes and states."""

import csv
import io
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

import entail
from entail.data.bundled import held_out_trees, sample_trees
from entail.data.entailment_bank.trees import write_trees
from entail.data.records import Corpus, ExplanationTree, Premise, Step
from entail.data.spreadsheets import to_csv
from entail.encoders.training_queries import training_queries_of
from entail.evaluation.retrieval.comparison import ComparedPremise, compare, comparison_rows
from entail.evaluation.retrieval.split_comparison import compare_split, query_rows
from entail.index.factory import LEXICAL
from entail.index.lexical import Bm25Index, TfidfIndex
from entail.memory import CACHE
from entail.trees.installation.seed import HELD_OUT_ID
from entail.trees.log.acts import Accept, Create, Reject
from entail.trees.log.replay import CREATED
from entail.ui.compare.choice import stored_trees
from entail.ui.compare.query import OPENING_CLAIM, height_of
from entail.ui.compare.split import HELD_OUT
from entail.ui.shared.chart_marks import (
    ACCEPTED,
    DECISIONS,
    GROUPS,
    OTHER,
    REFERENCE,
    REJECTED,
    Mark,
    decision_names,
    mark_of,
)
from entail.ui.shared.model_names import model_label, model_name
from entail.ui.shared.resources import Workspace, reference_premises
from tests.support.colours import contrast
from tests.ui.conftest import html, opened, said, settled


def compared(app: AppTest, **address: str) -> AppTest:
    """Open the page at an address, with lexical retrievers unless it names others."""
    return opened(app, "Compare", **{"left": "tfidf", "right": "bm25", **address})


def view(app: AppTest, name: str) -> AppTest:
    return settled(app.segmented_control(key="compare_view").set_value(name).run())


def test_a_claim_or_a_sentence_is_drawn_as_slopes_or_side_by_side(app: AppTest) -> None:
    app = compared(app)
    assert app.metric[0].label == "In both"
    assert len(app.get("download_button")) == 1
    assert app.get("vega_lite_chart")
    sides = html(view(app, "Side by side"), "ranked")
    assert len(sides) == 2
    assert any("★" in side for side in sides)
    # A sentence of one's own is text, and gives way to a claim of a tree.
    app = settled(app.text_input(key="compare_query").set_value("why <b>ice</b> floats").run())
    app = settled(app.selectbox(key="compare_right").set_value("tfidf").run())
    assert "Both sides are" in said(app)
    assert "no reference" in [metric.value for metric in app.metric]
    assert not any("<b>" in str(element.value) for element in app.markdown)
    other = app.selectbox(key="compare_pick").options[1]
    app = settled(app.selectbox(key="compare_pick").set_value(other).run())
    assert app.text_input(key="compare_query").value == ""
    assert app.selectbox(key="compare_pick").value == other


def test_an_edited_example_changes_no_figure(app: AppTest, shared: Workspace) -> None:
    corpus = max(shared.corpora.corpora(), key=lambda info: (info.id != HELD_OUT_ID, info.count))
    versions = [(t.id, CREATED) for t in shared.log.trees(corpus_id=corpus.id) if t.example]
    tree_id = versions[0][0]
    premises, before = reference_premises(corpus.id), stored_trees(shared, tuple(versions))
    added = shared.corpora.corpus(corpus.id).premises[0]
    shared.log.act(tree_id, Accept(node="n1", premise=added), author="Ada", base=1)
    reference_premises.clear()
    with CACHE.lock:
        CACHE.entries.clear()
    assert reference_premises(corpus.id) == premises
    assert stored_trees(shared, tuple(versions)) == before
    assert stored_trees(shared, ((tree_id, 2),)) != before[:1]


def test_decisions_of_authors_are_marked_as_they_are_now(app: AppTest, shared: Workspace) -> None:
    facts = Corpus.of("four", ["snow is a kind of ice", "ice is cold", "fire is hot", "a cold drink"])
    info = shared.corpora.add_corpus(facts, author="Ada")
    tree = shared.log.create(Create(hypothesis="snow is cold"), author="Ada", corpus_id=info.id)
    shared.log.act(tree, Accept(node="n1", premise=Premise("ice is cold")), author="Ada", base=1)
    shared.log.act(tree, Reject(node="n1", premise=Premise("a cold drink")), author="Ada", base=2)

    def decided(app: AppTest) -> tuple[int, int]:
        side = html(app, 'class="ranked"')[0]
        return side.count("✓"), side.count("✗")

    app = view(compared(app, corpus=info.id, query="snow is cold"), "Side by side")
    assert decided(app) == (1, 1)
    shared.log.undo(tree, author="Ada")
    assert decided(settled(app.run())) == (1, 0)
    app = compared(app, mode="split", trees="team")
    assert "1 claim with 1 reference premise in 1 tree" in said(app)


def test_a_tree_shows_all_its_nodes(app: AppTest, shared: Workspace) -> None:
    tree = max((t for t in shared.log.trees() if t.example), key=lambda tree: tree.steps)
    app = compared(app, mode="tree", tree=tree.id)
    assert len(app.dataframe[0].value) == tree.steps
    assert app.dataframe[0].value["query"].iloc[0] == tree.hypothesis
    assert len(app.get("vega_lite_chart")) == 1
    app = app.switch_page("pages/Corpora.py").run()
    app = opened(app, "Compare")
    assert app.segmented_control(key="compare_mode").value == "tree", "the session goes on where it was"
    assert app.selectbox(key="compare_tree").value == tree.id


def test_many_trees_give_figures_and_claims_by_difference(app: AppTest) -> None:
    app = compared(app, mode="split")
    (figures,) = (table.value for table in app.table)
    assert list(figures["measure"])[:2] == ["MAP", "NDCG"]
    assert all("[" in cell for cell in figures["TF\\-IDF"])  # a name is text, never Markdown
    (changes,) = (frame.value for frame in app.dataframe)
    assert changes["difference"].is_monotonic_decreasing
    assert changes["difference"].iloc[0] > 0 > changes["difference"].iloc[-1]
    assert sum("Candidates read" in metric.label for metric in app.metric) == 2
    assert len(app.get("download_button")) == 1
    assert app.selectbox(key="compare_corpus").value == HELD_OUT_ID, "claims that no shipped model has seen"
    assert HELD_OUT.replace("\\", "") in said(app)


def test_a_file_of_the_data_folder_is_a_split(app: AppTest, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "splits"
    folder.mkdir()
    write_trees(sample_trees()[:3], folder / "three.jsonl")
    app = compared(app, mode="split", trees="file")
    assert "in 3 trees (three.jsonl), 5,081 candidates" in said(app)
    (folder / "three.jsonl").write_text('{"id": "x"}\n', encoding="utf-8")
    app = settled(app.run())
    assert "line 1" in str(app.error[0].value)
    assert "hypothesis" in str(app.error[0].value)


def test_bias_is_drawn_for_encoders(app: AppTest) -> None:
    assert not compared(app, mode="bias").get("vega_lite_chart")
    app = compared(app, mode="bias", right="minilm")
    assert app.get("vega_lite_chart")
    assert "Similarity by MiniLM: yes." in said(app)
    assert not re.search(r"\([a-d]\)", said(app)), "no letters of a paper's panels"
    assert all(int(metric.value.replace(",", "")) > 0 for metric in app.metric)


def test_an_encoder_that_was_trained_on_these_claims_is_named(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {"bm25": 10_000, "tfidf": 0}
    monkeypatch.setattr(
        "entail.ui.compare.choice.training_queries_of",
        lambda name, queries: frozenset([*queries][: counts[name]]),
    )
    for mode, message in (("query", "Training example;"), ("tree", "Training examples: ")):
        assert message in said(compared(app, mode=mode))
    counts.update(bm25=1)
    app = compared(app, mode="split")
    assert "Training examples: 1 of" in said(app)
    assert "TF-IDF (keywords): Training" not in said(app)


def test_what_an_address_asks_for_in_vain_is_said(app: AppTest) -> None:
    app = compared(app, mode="tree", left="nobody", right="bm25", tree="ffffffff")
    warned = [str(warning.value) for warning in app.warning]
    assert any("nobody" in text for text in warned)
    assert any("ffffffff" in text for text in warned)
    assert app.get("vega_lite_chart")  # something is shown all the same
    app = settled(app.run())  # as the page does by itself once an index is made
    assert len(app.warning) == len(warned)
    app = settled(app.selectbox(key="compare_left").select("bm25").run())
    assert not any("nobody" in str(warning.value) for warning in app.warning)


def test_a_corpus_without_trees_says_what_to_do(app: AppTest, shared: Workspace) -> None:
    info = shared.corpora.add_corpus(Corpus.of("bare", ["ice is cold", "fire is hot"]), author="Ada")
    for mode, words in (("tree", "No tree over"), ("split", "No example tree"), ("query", "Enter a claim")):
        app = compared(app, mode=mode, corpus=info.id)
        assert words in said(app)
        (example,) = (link.proto for link in app.get("page_link") if link.proto.label == "Try an example")
        app.query_params.clear()
        examples = settled(compared(app, **dict(parse_qsl(example.query_string))))
        assert examples.selectbox(key="compare_corpus").value == HELD_OUT_ID
        assert examples.metric


def test_the_first_claim_is_one_that_no_side_was_trained_on(app: AppTest, shared: Workspace) -> None:
    def picked(**address: str) -> tuple[str, AppTest]:
        page = compared(app, left="minilm", right="aeenc-minilm", **address)
        return str(page.selectbox(key="compare_pick").value), page

    claim, first = picked()
    assert claim == OPENING_CLAIM in {tree.hypothesis for tree in held_out_trees()}
    assert not training_queries_of("aeenc-minilm", [claim])
    assert "held out, not trained on this claim" in said(first)
    assert "scores are optimistic" not in said(first)
    _, second = picked(query=sample_trees()[0].hypothesis)
    assert "scores are optimistic" in said(second)


def rows_of(rows: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(rows))))


def test_files_have_premises_and_queries_with_their_decisions_and_no_formula() -> None:
    odd, plain = "=HYPERLINK(0) ice", "ice is cold, snow too"
    corpus = Corpus.of("odd", [odd, plain])
    indexes = TfidfIndex(corpus), Bm25Index(corpus)
    comparison = compare("ice", corpus, indexes, gold={plain}, decisions={plain: True, odd: False})
    rows = rows_of(comparison_rows(comparison))
    assert {row["premise"]: (row["gold"], row["decision"]) for row in rows} == {
        f"'{odd}": ("0", "rejected"),
        plain: ("1", "accepted"),
    }
    assert sorted(row["rank tfidf"] for row in rows) == ["1", "2"]
    texts, steps = {"sent1": plain, "sent2": "nowhere"}, (Step(("sent1", "sent2"), "hypothesis"),)
    tree = ExplanationTree("t", "+ice is cold", texts, steps=steps)
    split = compare_split(corpus, [tree], indexes, ks=(1,))
    (row,) = rows_of(query_rows(split))
    assert (row["query"], row["ranks tfidf"][-4:]) == ("'+ice is cold", " inf")
    assert float(row["AP tfidf"]) == split.changes["query_excluded"][0].ap[0]


# --- marks of its charts, heights of ranks, and names of models ---

PAGES = ("#ffffff", "#11161d")  # the themes of .streamlit/config.toml


def test_every_shipped_model_has_a_name_of_its_own() -> None:
    packaged = Path(entail.__file__).parent.parent / "models"
    shipped = {"minilm", *LEXICAL, *(folder.name for folder in packaged.iterdir() if folder.is_dir())}
    assert len({model_name(name) for name in (*shipped, "minilm+bm25")}) == len(shipped) + 1
    assert not {name for name in shipped if model_label(name) == name}


@pytest.mark.parametrize("marks", [DECISIONS, GROUPS])
def test_marks_differ_by_colour_and_shape_and_are_visible_on_both_themes(marks: tuple[Mark, ...]) -> None:
    assert all(contrast(mark.colour, page) >= 3 for mark in marks for page in PAGES)
    for channel in ("name", "colour", "shape"):
        assert len({getattr(mark, channel) for mark in marks}) == len(marks)


@pytest.mark.parametrize(
    ("gold", "decision", "mark", "words"),
    [
        (False, None, OTHER, "Not judged"),
        (True, None, REFERENCE, "in a reference tree"),
        (False, True, ACCEPTED, "accepted by an author"),
        (True, False, REJECTED, "in a reference tree, rejected by an author"),
    ],
)
def test_a_decision_takes_precedence_over_a_reference_tree(
    gold: bool, decision: bool | None, mark: Mark, words: str
) -> None:
    row = ComparedPremise(Premise("a"), (1, 2), (0.0, 0.0), gold, decision)
    assert (mark_of(row), decision_names(row)) == (mark, words)


@pytest.mark.parametrize("k", [1, 20, 100])
def test_a_better_rank_is_never_lower(k: int) -> None:
    heights = [height_of(rank, k) for rank in (*range(1, 3 * k), 10**3, 10**4, 10**5)]
    assert all(a < b for a, b in pairwise(heights))
