"""The pages in trouble: a database that fails while one is at work, long lists, colleagues who are faster."""

import re
import sqlite3
import tomllib
from contextlib import closing

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from entail.data.reading import MAX_BYTES
from entail.errors import DatabaseError
from entail.settings import MAX_CORPUS_MB
from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Create, Write
from entail.trees.log.event_log import TreeLog
from entail.ui.shared.form import upload_limit
from entail.ui.shared.resources import Workspace
from tests.trees.conftest import damage
from tests.ui.conftest import ROOT, accepts, buttons, by, new_app, on_tree, opened, opens

PAGES = ("streamlit_app.py", "pages/Trees.py", "pages/Compare.py", "pages/Corpora.py")


def errors(app: AppTest) -> str:
    """Return what the page says is wrong, without Markdown's escapes."""
    return re.sub(r"\\(.)", r"\1", "\n".join(str(error.value) for error in app.error))


def create_trees(shared: Workspace, count: int) -> list[str]:
    acts = [Create(hypothesis=f"the sun is a star, claim number {number}") for number in range(count)]
    return shared.log.create_all(acts, author="Ada", corpus_id=SAMPLE_ID)


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
    assert "is damaged" in errors(app)
    assert "entail restore" in errors(app)


def test_a_damaged_tree_is_named_and_others_open(app: AppTest, shared: Workspace) -> None:
    tree, other = create_trees(shared, 2)
    shared.log.act(tree, Write(node="n1", text="snow is ice"), author="Ada", base=1)
    assert shared.database.file is not None
    with closing(sqlite3.connect(shared.database.file)) as connection, connection:
        connection.execute("UPDATE events SET payload = '[' WHERE tree_id = ? AND seq = 2", (tree,))
    app = on_tree(app.run(), tree)
    assert [tree in error.value for error in app.error] == [True]
    assert opens(app) >= 2, "the list of trees is there"
    app = on_tree(app, other)
    assert not app.error
    assert accepts(app)


def test_an_archived_tree_stays_in_its_place_to_be_restored(
    app: AppTest, shared: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree_id = create_trees(shared, 3)[1]
    key = f"archive-{tree_id}"

    def can_be_undone(app: AppTest) -> list[str | None]:
        return [button.key for button in app.button if button.label.startswith("Undo")]

    def locked(*_: object, **__: object) -> None:
        raise DatabaseError("the database is locked by another process")

    app = opened(by(app), "Trees")
    order = [button.key for button in buttons(app, "archive-")]
    with monkeypatch.context() as patch:
        patch.setattr(TreeLog, "archive", locked)
        app = app.button(key=key).click().run()
    assert app.toast, "it says why"
    assert not shared.log.trees(archived=True)
    app = app.button(key=key).click().run()
    assert app.toast
    assert [tree.id for tree in shared.log.trees(archived=True)] == [tree_id]
    assert [button.key for button in buttons(app, "archive-")] == order
    assert can_be_undone(app) == [key]
    app = app.button(key=key).click().run()
    assert not shared.log.trees(archived=True)
    assert can_be_undone(app) == []
    app.button(key=key).click().run()
    assert can_be_undone(opened(by(new_app()), "Trees")) == [], "another session has it in the folder"


def test_a_long_list_of_trees_is_found_by_words(app: AppTest, shared: Workspace) -> None:
    create_trees(shared, 60)
    app = opened(app, "Trees")
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
    app = opened(app, "Trees", tree=query)
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


def test_words_typed_stay_in_a_dialog_that_finds_the_database_locked(
    app: AppTest, shared: Workspace, writer: sqlite3.Connection
) -> None:
    (tree_id,) = create_trees(shared, 1)
    app = on_tree(app, tree_id)
    writer.execute("BEGIN IMMEDIATE")
    app = accepts(app)[0].click().run()
    assert "locked" in errors(app)
    writer.execute("ROLLBACK")
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
        assert not app.error
    writer.execute("ROLLBACK")
    assert shared.authors.names() == ["EntailmentBank"]
