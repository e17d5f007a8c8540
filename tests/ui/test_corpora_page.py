"""Corpora: their page while colleagues change them, too, the choice for a new tree, imported trees."""

import csv
import io
import time
import zipfile
from typing import Any, cast

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import InitialValue, Selectbox

from entail.data.records import Corpus, Premise
from entail.progress import Meter
from entail.runtime.models import INDEXES, ModelCache
from entail.runtime.tasks import Task
from entail.trees.formats.bundle import zip_trees
from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Accept, Conclude, Create, Write
from entail.ui.shared.corpus_choice import default_corpus
from entail.ui.shared.resources import Workspace
from tests.support.machine import until
from tests.ui.conftest import accepts, by, keys, named, opened, settled


@pytest.fixture
def ada(app: AppTest) -> AppTest:
    """Return the page as Ada sees it."""
    return opened(by(app), "Corpora")


def select(app: AppTest, row: int) -> AppTest:
    """Select a premise of the table."""
    app.session_state[app.dataframe[0].key] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    return app.run()


def test_premises_go_to_the_corpus_on_the_screen_by_who_has_a_name(app: AppTest, shared: Workspace) -> None:
    other = shared.corpora.add_corpus(Corpus.of("two", ["snow is ice", "ice is cold"]), author="Bo")
    shared_tree, _ = (
        shared.log.create(Create(hypothesis="snow is cold"), author="Ada", corpus_id=corpus_id)
        for corpus_id in (other.id, SAMPLE_ID)
    )
    app = opened(app, "Corpora")
    named(app.text_area, "Add premises").set_value("glass can break")
    app = named(app.button, "Add").click().run()
    assert app.text_input(key="author_name-change"), "only who has a name adds premises"
    assert shared.corpora.info(SAMPLE_ID).version == 1
    ada = by(app).run()
    assert ada.selectbox(key="corpus").value == SAMPLE_ID
    named(ada.text_area, "Add premises").set_value("glass can break\n\nglass can break")
    # Ada's last tree is another now, and so is the corpus that she most likely wants.
    shared.log.act(shared_tree, Write(node="n1", text="snow is frozen"), author="Bo", base=1)
    shared.corpora.add(SAMPLE_ID, ["glass is a solid"], author="Bo")
    ada = named(ada.button, "Add").click().run()
    assert ada.selectbox(key="corpus").value == SAMPLE_ID
    assert shared.corpora.corpus(SAMPLE_ID).texts[-2:] == ("glass is a solid", "glass can break")
    assert shared.corpora.info(SAMPLE_ID).count == 4785 + 2
    assert named(ada.text_area, "Add premises").value == ""


def test_a_correction_typed_while_the_corpus_changes_is_saved(ada: AppTest, shared: Workspace) -> None:
    first, *_, old = shared.corpora.corpus(SAMPLE_ID).premises[:4]
    ada = select(ada, 3)
    named(ada.text_area, "Premise").set_value("glass can break")
    shared.corpora.retire(SAMPLE_ID, [first.key], author="Bo")
    ada = named(ada.button, "Correct").click().run()
    texts = shared.corpora.corpus(SAMPLE_ID).texts
    assert (texts[-1], old.text in texts) == ("glass can break", False)
    assert "Premise" not in [area.label for area in ada.text_area]


def test_a_correction_of_a_premise_that_is_gone_stays_on_the_screen(ada: AppTest, shared: Workspace) -> None:
    premise = shared.corpora.corpus(SAMPLE_ID).premises[3]
    ada = select(ada, 3)
    named(ada.text_area, "Premise").set_value("glass can break")
    shared.corpora.correct(SAMPLE_ID, premise.key, "glass is a solid", author="Bo")
    ada = named(ada.button, "Correct").click().run()
    assert ada.error
    assert shared.corpora.info(SAMPLE_ID).version == 2
    assert named(ada.run().text_area, "Premise").value == "glass can break"
    ada = select(ada, 0)  # another one is picked
    assert named(ada.text_area, "Premise").value != "glass can break"


def test_an_archived_corpus_leaves_the_lists_and_comes_back(app: AppTest, shared: Workspace) -> None:
    facts = shared.corpora.add_corpus(Corpus.of("facts", ["snow is ice"]), author="Ada")
    ada = opened(by(app), "Corpora")
    ada.selectbox(key="corpus").set_value(facts.id)
    ada.run().button(key=f"archive-{facts.id}").click().run()
    assert "facts" not in ada.selectbox(key="corpus").options
    assert shared.corpora.changes(facts.id)[0].author == "Ada"
    assert "facts" not in ada.switch_page("pages/Compare.py").run().selectbox(key="compare_corpus").options
    ada.switch_page("pages/Corpora.py").run().button(key=f"archive-{facts.id}").click().run()
    assert "facts" in ada.selectbox(key="corpus").options


def test_a_file_of_excel_on_windows_is_read_in_its_encoding_and_leads_to_a_tree(
    ada: AppTest, shared: Workspace
) -> None:
    facts = "id;text\n1;a café costs 5 €\n".encode("cp1252")
    ada = ada.file_uploader(key="corpus_file-0").upload("facts.csv", facts, "text/csv").run()
    ada = named(ada.button, "Import").click().run()
    assert ada.error
    ada.selectbox(key="corpus_encoding-0").set_value("cp1252")
    ada = named(ada.button, "Import").click().run()
    corpus = ada.selectbox(key="corpus").value
    assert shared.corpora.corpus(corpus).texts == ("a café costs 5 €",)
    assert not ada.file_uploader(key="corpus_file-1").value, "a second click imports nothing again"
    ada.button(key="start_on_corpus").click().run()
    ada = opened(ada, "Trees")  # the harness goes back to the page that was left
    assert ada.selectbox(key="start_corpus").value == corpus


def test_an_empty_file_is_said_and_a_wrong_encoding_is_seen(ada: AppTest) -> None:
    ada = ada.file_uploader(key="corpus_file-0").upload("facts.txt", b" \n", "text/plain").run()
    assert ada.warning
    ada = ada.file_uploader(key="corpus_file-0").upload("f.txt", "\u6c37".encode("cp932"), "text/plain").run()
    for encoding in ("cp932", "gb18030"):
        ada = ada.selectbox(key="corpus_encoding-0").set_value(encoding).run()
        assert any("\u6c37" in caption.value for caption in ada.caption) == (encoding == "cp932")


def test_pasted_premises_become_a_corpus(ada: AppTest, shared: Workspace) -> None:
    ada.text_area(key="corpus_pasted-0").set_value("ice is cold\n\nfire is hot")
    ada.text_input(key="corpus_name-0").set_value("opposites")
    ada = named(ada.run().button, "Import").click().run()
    info = shared.corpora.info(ada.selectbox(key="corpus").value)
    assert (info.name, shared.corpora.corpus(info.id).texts) == ("opposites", ("ice is cold", "fire is hot"))
    assert ada.text_area(key="corpus_pasted-1").value == ""


def test_columns_of_a_file_are_shown_and_searched(ada: AppTest, shared: Workspace) -> None:
    facts = b"id,text,source\n7,Ice is cold.,book\n8,ice is cold,web\n9,fire is hot,web\n"
    ada = ada.file_uploader(key="corpus_file-0").upload("facts.csv", facts, "text/csv").run()
    ada = named(ada.button, "Import").click().run()
    corpus = ada.selectbox(key="corpus").value
    assert shared.corpora.corpus(corpus).texts == ("Ice is cold.", "fire is hot"), (
        "near-duplicates are merged"
    )
    assert ada.dataframe[0].value.to_dict("list") == {
        "premise": ["Ice is cold.", "fire is hot"],
        "id": ["7", "9"],
        "source": ["book", "web"],
    }
    for words, scope, ids in (("web", "all columns", ["9"]), ("web", "premise", []), ("7", "id", ["7"])):
        ada.text_input(key="find_facts").set_value(words)
        ada = ada.selectbox(key=f"find_in-{corpus}").set_value(scope).run()
        assert ada.dataframe[0].value["id"].tolist() == ids


def test_a_large_corpus_is_sent_page_by_page(app: AppTest, shared: Workspace) -> None:
    texts = [f"fact {number} {'is long ' * 60}" for number in range(401)]
    corpus = shared.corpora.add_corpus(Corpus.of("large", texts), author="Ada").id
    ada = opened(by(app), "Corpora")
    ada = ada.selectbox(key="corpus").set_value(corpus).run()
    assert len(ada.dataframe[0].value) == 200
    assert len(ada.dataframe[0].proto.SerializeToString()) < 100_000
    ada = ada.pagination[0].set_value(3).run()
    assert ada.dataframe[0].value["premise"][0] == texts[400][:300]
    ada = select(ada, 0)
    assert named(ada.text_area, "Premise").value == texts[400]
    ada = named(ada.button, "Retire").click().run()
    assert len(ada.dataframe[0].value) == 200, "the last page is gone"
    ada = ada.text_input(key="find_facts").set_value("fact 77").run()
    assert ada.dataframe[0].value["premise"].tolist() == [texts[77][:300]]
    assert not ada.pagination


def test_all_trees_of_a_corpus_are_one_download_with_its_ids(app: AppTest, shared: Workspace) -> None:
    ice = Premise("ice is cold", "7", (("source", "book"),))
    corpus = Corpus.of("facts", [ice, "fire is hot"])
    info = shared.corpora.add_corpus(corpus, author="Ada")
    ids = []
    for claim in ("Snow is cold.", "snow is cold", "b; c -> d"):
        ids.append(shared.log.create(Create(hypothesis=claim), author="Ada", corpus_id=info.id))
        history = shared.log.act(ids[-1], Accept(node="n1", premise=ice), author="Ada", base=1)
        shared.log.act(ids[-1], Write(node="n1", text="x"), author="Ada", base=history.seq)
    shared.log.act(ids[-1], Conclude(node="n1", premises=("n2",), text="b; a -> c"), author="Ada", base=3)
    with zipfile.ZipFile(io.BytesIO(zip_trees(corpus, ids, shared.log))) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert {name for name in texts if name.startswith("pictures/")} == {
        "pictures/snow-is-cold.svg",
        f"pictures/snow-is-cold-{ids[1]}.svg",
        "pictures/b-c-d.svg",
    }
    assert (len(texts["trees.jsonl"].splitlines()), len(texts["not_in_trees.txt"].splitlines())) == (2, 1)
    assert texts["premises.csv"].splitlines() == [
        '"key","id","premise","source"',
        f'"{ice.key}","7","ice is cold","book"',
        f'"{corpus.keys[1]}","","fire is hot",""',
    ]
    rows = [*csv.DictReader(io.StringIO(texts["pairs.csv"]))]
    assert {row["child"]: row["child_id"] for row in rows} == {"ice is cold": "7", "x": "", "b; a -> c": ""}
    assert [row["id"] for row in csv.DictReader(io.StringIO(texts["judged.csv"]))] == ["7"] * 3
    app = opened(by(app), "Corpora")
    assert [button.proto.label for button in app.get("download_button")]
    app = app.selectbox(key="corpus").set_value(info.id).run()
    assert [button.proto.label.count("3") for button in app.get("download_button")] == [1]


def test_keywords_rank_while_premises_are_encoded_until_that_is_cancelled(
    app: AppTest, shared: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, corpus = ModelCache.build, Corpus.of("many", ["ice is cold", "fire is hot"])

    def slow(self: ModelCache, name: str, corpus: Corpus, **more: Any) -> Any:
        if name == "bm25":
            return build(self, name, corpus, **more)
        meter = Meter(10**6, "encoding", report=more["progress"], interval=0)
        while True:
            meter.add(1)
            time.sleep(0.01)

    def encoding() -> list[Task[object]]:
        tasks: dict[Any, Task[object]] = dict(INDEXES.tasks())
        return [task for key, task in tasks.items() if key[0:3:2] == ("minilm", corpus.hash)]

    monkeypatch.setattr(ModelCache, "build", slow)
    info = shared.corpora.add_corpus(corpus, author="Ada")
    tree = shared.log.create(Create(hypothesis="ice is cold water"), author="Ada", corpus_id=info.id)
    app.session_state["tree"], app.session_state["retriever"] = tree, "minilm"
    app.session_state["shared_words"] = False
    app = by(app).switch_page("pages/Trees.py")
    until(lambda: accepts(app.run()))
    assert not app.error
    app = app.button(key="cancel-encoding").click().run()
    (task,) = encoding()
    assert task.done.wait(5)
    app = app.run()
    assert app.button(key="encoding"), "it does not start again by itself"
    assert not app.error
    assert encoding() == [task]
    accepts(app)[0].click().run()
    assert [evidence.retriever for evidence in shared.log.evidence(tree).values()] == ["bm25"]
    app = app.button(key="encoding").click().run()
    (again,) = encoding()
    assert not again.done.is_set()
    app = app.switch_page("pages/Corpora.py").run()
    app.selectbox(key="corpus").set_value(info.id).run().button(key=f"archive-{info.id}").click().run()
    assert again.done.wait(5), "an archived corpus is not encoded"


@pytest.fixture
def kept_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a list send the label that it had when its option was picked, as a browser does."""
    state, sent = cast("Any", Selectbox._widget_state).fget, dict[str, str]()

    def as_a_browser(box: Selectbox[Any]) -> WidgetState:
        message: WidgetState = state(box)
        if isinstance(box._value, InitialValue) and not box.proto.set_value:
            message.string_value = sent.get(box.id, message.string_value)
        sent[box.id] = message.string_value
        return message

    monkeypatch.setattr(Selectbox, "_widget_state", property(as_a_browser))


@pytest.mark.usefixtures("kept_labels")
@pytest.mark.parametrize(
    ("name", "key"), [("Corpora", "corpus"), ("Trees", "start_corpus"), ("Compare", "compare_corpus")]
)
def test_a_picked_corpus_stays_when_it_grows(app: AppTest, shared: Workspace, name: str, key: str) -> None:
    picked = shared.corpora.add_corpus(Corpus.of("zzz", ["snow is ice", "ice is cold"]), author="Cy").id
    for side, retriever in (("left", "tfidf"), ("right", "bm25")):
        app.session_state[f"compare_{side}"] = retriever
    app = opened(by(app), name)
    app = settled(app.selectbox(key=key).set_value(picked).run())
    shared.corpora.add(picked, ["glass can break"], author="Bo")
    for _ in range(3):
        app = settled(app.run())
        assert app.selectbox(key=key).value == picked


@pytest.fixture
def small(shared: Workspace) -> str:
    """Return the id of a small corpus, the first by its name."""
    return shared.corpora.add_corpus(Corpus.of("aaa", ["snow is ice", "fire is hot"]), author="Bo").id


def test_the_default_corpus_is_the_author_s_then_the_team_s_then_the_largest(
    shared: Workspace, small: str
) -> None:
    def usual(author: str | None) -> str:
        return default_corpus(shared.corpora.corpora(), shared.log.trees(), author).id

    assert shared.corpora.corpora()[0].id == small, "by name it would be the first"
    assert [usual(author) for author in (None, "Ada", "Bo")] == [SAMPLE_ID, SAMPLE_ID, small]
    later = shared.corpora.add_corpus(Corpus.of("zzz", ["fire is hot"]), author="Bo").id
    assert usual("Bo") == later, "of several the last imported"
    first = shared.log.create(Create(hypothesis="a"), author="Ada", corpus_id=small)
    assert [usual(author) for author in (None, "Ada", "Bo", "Cy")] == [small, small, later, small]
    shared.log.create(Create(hypothesis="b"), author="Ada", corpus_id=SAMPLE_ID)
    shared.log.create(Create(hypothesis="no facts"), author="Ada", corpus_id=None)
    assert usual("Ada") == SAMPLE_ID
    shared.log.act(first, Write(node="n1", text="c"), author="Ada", base=1)
    assert usual("Ada") == small


def test_the_corpus_follows_the_author_until_one_is_picked(
    app: AppTest, shared: Workspace, small: str
) -> None:
    def values(app: AppTest) -> set[str]:
        return {app.selectbox(key=key).value for key in ("start_corpus", "import_corpus")}

    shared.log.create(Create(hypothesis="a"), author="Ada", corpus_id=small)
    shared.log.create(Create(hypothesis="b"), author="Cy", corpus_id=SAMPLE_ID)
    assert values(app.run()) == {SAMPLE_ID}
    app = by(app).run()
    assert values(app) == {small}
    for key in ("start_corpus", "import_corpus"):
        app = app.selectbox(key=key).set_value(SAMPLE_ID).run()
    assert values(by(app.button(key="leave").click().run()).run()) == {SAMPLE_ID}


def test_trees_are_imported_over_the_corpus_on_the_screen(
    app: AppTest, shared: Workspace, small: str
) -> None:
    theirs, _ = (
        shared.log.create(Create(hypothesis="a"), author="Ada", corpus_id=corpus)
        for corpus in (small, SAMPLE_ID)
    )
    app = by(app).run()
    app = app.file_uploader(key="import_file-0").upload("t.txt", b"ice melts\n", "text/plain").run()
    assert app.selectbox(key="import_corpus").value == SAMPLE_ID
    # Ada's last tree is another now, and so is the corpus that she most likely wants.
    shared.log.act(theirs, Write(node="n1", text="c"), author="Bo", base=1)
    app = app.button(key="import_go").click().run()
    assert next(tree for tree in shared.log.trees() if tree.hypothesis == "ice melts").corpus_id == SAMPLE_ID
    assert not app.file_uploader(key="import_file-1").value, "a second click imports nothing again"
    assert "import_go" not in keys(app)
