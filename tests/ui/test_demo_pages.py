"""A demo as its visitors see it: everything to look at, nothing of the team's to change."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from entail.trees.installation.seed import SAMPLE_ID
from entail.ui.shared.resources import Workspace
from tests.support.machine import digests
from tests.ui.conftest import buttons, new_app, said, settled


@pytest.fixture
def demo(shared: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A demo over a team's data folder, which is returned."""
    shared.database.close()
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    st.cache_resource.clear()
    yield tmp_path / "data"
    st.cache_resource.clear()


def visit(page: str = "streamlit_app.py", **state: object) -> AppTest:
    app = new_app()
    for name, value in {"author": "Eve", "retriever": "tfidf", **state}.items():
        app.session_state[name] = value
    return settled(app.run().switch_page(page).run())


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("streamlit_app.py", "no trees can be imported"),
        ("pages/Corpora.py", "corpora cannot be changed"),
        ("pages/Models.py", "nothing"),
    ],
)
def test_each_page_says_what_is_not_there_and_why(demo: Path, script: str, why: str) -> None:
    before = digests(demo)
    app = visit(script)
    if script == "pages/Models.py":
        app.segmented_control(key="models_view").set_value("Hub").run()
    assert "This is a demo." in said(app)
    assert f"In this demo {why}" in said(app)
    assert not {button.label for button in app.button} & {"Add", "Import", "Correct", "Retire"}
    assert digests(demo) == before


def test_a_visitor_writes_a_tree_that_goes_with_them(demo: Path, tmp_path: Path) -> None:
    before = digests(demo)
    app = visit()
    app.text_input(key="start_text").set_value("snow is cold")
    start = app.button(key="start")
    assert not start.disabled
    log = app.session_state["visitor_log"]
    start.click().run()
    mine = [tree for tree in log.trees() if not tree.example]
    assert [(tree.hypothesis, tree.corpus_id, tree.authors) for tree in mine] == [
        ("snow is cold", SAMPLE_ID, ("Eve",))
    ]
    page = visit("pages/Trees.py", visitor_log=log, tree=mine[0].id)
    assert not buttons(page, "accept-")[0].disabled
    team = next(tree for tree in log.trees() if tree.example)
    page = visit("pages/Trees.py", visitor_log=log, tree=team.id)
    assert "the team's trees cannot be changed" in said(page)
    assert buttons(page, "accept-")[0].disabled
    stranger = visit()
    assert not [tree for tree in stranger.session_state["visitor_log"].trees() if not tree.example]
    assert len(list(tmp_path.glob("entail-demo-*"))) == 2
    assert digests(demo) == before
    log.close()
    stranger.session_state["visitor_log"].close()
    assert not list(tmp_path.glob("entail-demo-*"))
