"""The Corpora page while colleagues change the corpus, or the trees over it, too."""

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.trees.log.acts import Create, Write
from entail.trees.store.seed import SAMPLE_ID
from entail.ui.shared.resources import Workspace
from tests.ui.conftest import by, named


@pytest.fixture
def ada(app: AppTest) -> AppTest:
    """Return the page as Ada sees it."""
    return by(app).switch_page("pages/Corpora.py").run()


def select(app: AppTest, row: int) -> AppTest:
    """Select a premise of the table."""
    app.session_state[app.dataframe[0].key] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    return app.run()


def test_premises_typed_while_the_corpus_changes_are_added(ada: AppTest, shared: Workspace) -> None:
    named(ada.text_area, "Add premises").set_value("glass can break")
    shared.corpora.add(SAMPLE_ID, ["glass is a solid"], author="Bo")
    ada = named(ada.button, "Add").click().run()
    assert shared.corpora.corpus(SAMPLE_ID).texts[-2:] == ("glass is a solid", "glass can break")
    assert named(ada.text_area, "Add premises").value == ""


def test_premises_go_to_the_corpus_on_the_screen(app: AppTest, shared: Workspace) -> None:
    other = shared.corpora.add_corpus(Corpus.of("two", ["snow is ice", "ice is cold"]), author="Bo")
    shared_tree, _ = (
        shared.log.create(Create(hypothesis="snow is cold"), author="Ada", corpus_id=corpus_id)
        for corpus_id in (other.id, SAMPLE_ID)
    )
    ada = by(app).switch_page("pages/Corpora.py").run()
    assert ada.selectbox(key="corpus").value == SAMPLE_ID
    named(ada.text_area, "Add premises").set_value("glass can break")
    # Ada's last tree is another now, and so is the corpus that she most likely wants.
    shared.log.act(shared_tree, Write(node="n1", text="snow is frozen"), author="Bo", base=1)
    ada = named(ada.button, "Add").click().run()
    assert ada.selectbox(key="corpus").value == SAMPLE_ID
    assert shared.corpora.corpus(SAMPLE_ID).texts[-1] == "glass can break"


def test_a_correction_typed_while_the_corpus_changes_is_saved(ada: AppTest, shared: Workspace) -> None:
    first, *_, old = shared.corpora.corpus(SAMPLE_ID).premises[:4]
    ada = select(ada, 3)
    named(ada.text_area, "Premise").set_value("glass can break")
    shared.corpora.retire(SAMPLE_ID, [first.key], author="Bo")
    ada = named(ada.button, "Correct").click().run()
    texts = shared.corpora.corpus(SAMPLE_ID).texts
    assert (texts[-1], old.text in texts) == ("glass can break", False)
    assert [area.label for area in ada.text_area] == ["Add premises"]


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


def test_a_file_of_excel_on_windows_is_read_in_its_encoding(ada: AppTest, shared: Workspace) -> None:
    facts = "id;text\n1;a café costs 5 €\n".encode("cp1252")
    ada = ada.file_uploader(key="corpus_file-0").upload("facts.csv", facts, "text/csv").run()
    ada = named(ada.button, "Import").click().run()
    assert ada.error
    ada.selectbox(key="corpus_encoding-0").set_value("cp1252")
    ada = named(ada.button, "Import").click().run()
    assert shared.corpora.corpus(ada.selectbox(key="corpus").value).texts == ("a café costs 5 €",)
