"""The pages in trouble: a database that fails while one is at work, long lists, colleagues who are faster."""

import re
import sqlite3
import tomllib

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from entail.data.reading import MAX_BYTES
from entail.errors import DatabaseError
from entail.settings import MAX_CORPUS_MB
from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.ui.shared.form import upload_limit
from entail.ui.shared.resources import Workspace
from tests.trees.conftest import damage
from tests.ui.conftest import ROOT, accepts, by, new_app, on_tree, opens

PAGES = ("streamlit_app.py", "pages/Trees.py", "pages/Compare.py", "pages/Corpora.py")
LOCKED = "the database is locked by another process; try again, nothing was lost"


def errors(app: AppTest) -> str:
    """Return what the page says is wrong, without Markdown's escapes."""
    return re.sub(r"\\(.)", r"\1", "\n".join(str(error.value) for error in app.error))


def own_trees(shared: Workspace, count: int) -> list[str]:
    acts = [Create(hypothesis=f"claim number {number}") for number in range(count)]
    return shared.log.create_all(acts, author="Ada")


@pytest.mark.parametrize("page", PAGES)
def test_a_database_damaged_while_at_work_is_explained_on_every_page(
    app: AppTest, shared: Workspace, page: str
) -> None:
    file = shared.database.file
    assert file is not None
    shared.database.engine.dispose()
    damage(file)
    app.session_state["tree"] = "00000000"
    app = app.switch_page(page).run()
    assert not app.exception
    assert "is damaged" in errors(app)
    assert "entail restore" in errors(app)


def test_an_archived_tree_stays_in_its_place_to_be_restored(app: AppTest, shared: Workspace) -> None:
    own_trees(shared, 3)
    app = by(app.run().switch_page("pages/Trees.py")).run()
    order = [button.key for button in app.button if str(button.key).startswith("archive-")]
    app = app.button(key=order[1]).click().run()
    assert [button.key for button in app.button if str(button.key).startswith("archive-")] == order
    assert [button.key for button in app.button if button.label.startswith("Undo")] == [order[1]]
    app = app.button(key=order[1]).click().run()
    assert not shared.log.trees(archived=True)
    assert not [button for button in app.button if button.label.startswith("Undo")]
    app = app.button(key=order[1]).click().run()
    app = by(new_app().run().switch_page("pages/Trees.py")).run()  # another session has it in the folder
    assert not [button for button in app.button if button.label.startswith("Undo")]


def test_an_archive_that_fails_says_why_and_can_be_repeated(
    app: AppTest, shared: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree_id,) = own_trees(shared, 1)
    app = by(app).switch_page("pages/Trees.py").run()

    def locked(*_: object, **__: object) -> None:
        raise DatabaseError(LOCKED)

    with monkeypatch.context() as patch:
        patch.setattr(TreeLog, "archive", locked)
        app = app.button(key=f"archive-{tree_id}").click().run()
    assert not app.exception
    assert app.toast
    assert not shared.log.trees(archived=True)
    app = app.button(key=f"archive-{tree_id}").click().run()
    assert app.toast
    assert [tree.id for tree in shared.log.trees(archived=True)] == [tree_id]
    app = app.button(key=f"archive-{tree_id}").click().run()
    assert not shared.log.trees(archived=True)


def test_a_long_list_of_trees_is_found_by_words(app: AppTest, shared: Workspace) -> None:
    own_trees(shared, 60)
    app = app.switch_page("pages/Trees.py").run()
    assert opens(app) == 12 + 12
    app = app.button(key="find_own-more").click().run()
    assert opens(app) == 24 + 12
    shared.log.create(Create(hypothesis="ice is cold"), author="Bo", corpus_id=SAMPLE_ID)
    for words in ("number 59", "59 NUMBER", "bo ice"):
        app = app.text_input(key="find_own").set_value(words).run()
        assert opens(app) == 1 + 12
    app = app.text_input(key="find_own").set_value("nothing of the kind").run()
    assert opens(app) == 12


@pytest.mark.parametrize("query", ["../../x", "\0", "<script>", "a" * 5000])
def test_rubbish_in_the_address_leads_to_the_list(app: AppTest, query: str) -> None:
    app.query_params["tree"] = query
    app = app.switch_page("pages/Trees.py").run()
    assert not app.exception
    assert errors(app).startswith("there is no tree")
    assert len(errors(app)) < 400
    assert opens(app) == 12


@pytest.mark.parametrize(("server", "promised"), [(200, 200), (500, 200), (5, 5)])
def test_the_page_promises_what_both_the_server_and_the_readers_take(
    monkeypatch: pytest.MonkeyPatch, server: int, promised: int
) -> None:
    monkeypatch.setattr(st, "get_option", {"server.maxUploadSize": server}.__getitem__)
    assert upload_limit() == promised
    assert promised * 1_000_000 <= MAX_BYTES
    config = ROOT / ".streamlit" / "config.toml"
    assert tomllib.loads(config.read_text(encoding="utf-8"))["server"]["maxUploadSize"] == MAX_CORPUS_MB


# --- another process that is writing ---


def test_a_click_that_finds_the_database_locked_can_be_repeated(
    app: AppTest, shared: Workspace, writer: sqlite3.Connection
) -> None:
    tree_id = shared.log.create(Create(hypothesis="the sun is a star"), author="Ada", corpus_id=SAMPLE_ID)
    app = on_tree(app, tree_id)
    writer.execute("BEGIN IMMEDIATE")
    app = accepts(app)[0].click().run()
    assert not app.exception
    assert "locked" in errors(app)
    writer.execute("ROLLBACK")
    app = accepts(app)[0].click().run()
    assert not app.error
    assert [event.act.kind for event in shared.log.history(tree_id).events] == ["create", "accept"]


def test_words_typed_stay_in_a_dialog_that_finds_the_database_locked(
    app: AppTest, shared: Workspace, writer: sqlite3.Connection
) -> None:
    tree_id = shared.log.create(Create(hypothesis="ice is cold"), author="Ada")
    app.session_state["tree"] = tree_id
    app = by(app).switch_page("pages/Trees.py").run()
    app = app.button(key="tool-write").click().run()
    app.text_area(key=f"write-{tree_id}-0").set_value("ice is frozen water")
    writer.execute("BEGIN IMMEDIATE")
    app = next(b for b in app.button if b.label == "Write" and b.key != "tool-write").click().run()
    assert "locked" in errors(app)
    assert app.text_area(key=f"write-{tree_id}-0").value == "ice is frozen water"
    writer.execute("ROLLBACK")
    next(b for b in app.button if b.label == "Write" and b.key != "tool-write").click().run()
    tree = shared.log.history(tree_id).tree
    assert [tree.nodes[node].text for node in tree.root.children] == ["ice is frozen water"]


def test_one_can_come_in_and_look_around_while_the_database_is_locked(
    app: AppTest, shared: Workspace, writer: sqlite3.Connection
) -> None:
    writer.execute("BEGIN IMMEDIATE")
    app = app.run()
    app.text_input(key="author_name-start").set_value("Bo")
    app = app.button(key="start").click().run()
    assert not app.error
    assert "author_name-start" not in {field.key for field in app.text_input}
    for page in PAGES:
        app = app.switch_page(page).run()
        assert not app.exception
        assert not app.error
    writer.execute("ROLLBACK")
    assert shared.authors.names() == ["EntailmentBank"]
