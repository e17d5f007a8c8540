"""The pages in trouble: a database that fails while one is at work, long lists, colleagues who are faster."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from entail.errors import DatabaseError, FormatError
from entail.trees.acts import Create
from entail.trees.log import TreeLog
from entail.ui.authoring import take_place, take_press
from entail.ui.exchange import import_trees
from entail.ui.keyboard import KeyPress
from entail.ui.resources import Workspace

PAGES = ("streamlit_app.py", "pages/Trees.py", "pages/Compare.py", "pages/Corpora.py")
LOCKED = "the database is locked by another process; try again, nothing was lost"


def named(app: AppTest, name: str = "Ada") -> AppTest:
    return app.text_input(key="sidebar_name").set_value(name).run()


def errors(app: AppTest) -> str:
    """Return what the page says is wrong, without Markdown's escapes."""
    return re.sub(r"\\(.)", r"\1", "\n".join(str(error.value) for error in app.error))


def opens(app: AppTest) -> int:
    return len([button for button in app.button if button.label == "Open"])


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
    content = bytearray(file.read_bytes())
    for at in range(4096, len(content), 4096):
        content[at : at + 200] = b"\xff" * 200
    file.write_bytes(content)
    app.session_state["tree"] = "00000000"
    app = app.switch_page(page).run()
    assert not app.exception
    assert "is damaged" in errors(app)
    assert "entail restore" in errors(app)


def test_an_archive_that_fails_says_why_and_can_be_repeated(
    app: AppTest, shared: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree_id,) = own_trees(shared, 1)
    app = named(app)

    def locked(*_: object, **__: object) -> None:
        raise DatabaseError(LOCKED)

    with monkeypatch.context() as patch:
        patch.setattr(TreeLog, "archive", locked)
        app = app.button(key=f"archive-{tree_id}").click().run()
    assert not app.exception
    assert LOCKED in errors(app)
    app = app.button(key=f"archive-{tree_id}").click().run()
    assert not app.error
    assert [tree.id for tree in shared.log.trees(archived=True)] == [tree_id]
    app = app.button(key=f"archive-{tree_id}").click().run()
    assert not shared.log.trees(archived=True)


def test_a_long_list_of_trees_is_found_by_words(app: AppTest, shared: Workspace) -> None:
    own_trees(shared, 60)
    app = app.run()
    assert opens(app) == 12 + 12
    app = app.text_input(key="find_own").set_value("number 59").run()
    assert opens(app) == 1 + 12
    app = app.text_input(key="find_own").set_value("nothing of the kind").run()
    assert opens(app) == 12
    assert "No hypothesis holds these words." in [caption.value for caption in app.caption]


@pytest.mark.parametrize("query", ["../../x", "\0", "%00", "<script>", "a" * 5000, "**b**"])
def test_rubbish_in_the_address_leads_to_the_list(app: AppTest, query: str) -> None:
    app.query_params["tree"] = query
    app = app.switch_page("pages/Trees.py").run()
    assert not app.exception
    assert errors(app).startswith("there is no tree")
    assert len(errors(app)) < 400
    assert opens(app) == 10


def test_a_hypothesis_of_two_thousand_characters_leaves_room_for_the_tree(
    app: AppTest, shared: Workspace
) -> None:
    tree_id = shared.log.create(Create(hypothesis="long " * 400), author="Ada")
    app.session_state["tree"] = tree_id
    app = app.switch_page("pages/Trees.py").run()
    assert not app.exception
    longest = max(len(str(block.value)) for block in app.markdown if "long long" in str(block.value))
    assert longest < 700


def test_a_malformed_file_of_trees_imports_nothing(shared: Workspace) -> None:
    before = len(shared.log.trees())
    good = (
        '{"id": "a", "question": "q", "answer": "b", "hypothesis": "h", '
        '"proof": "sent1 & sent2 -> hypothesis; ", "context": "sent1: x sent2: y", '
        '"meta": {"triples": {"sent1": "x", "sent2": "y"}, '
        '"intermediate_conclusions": {}}}'
    )
    with pytest.raises(FormatError, match="line 2"):
        import_trees(shared, f"{good}\n{{nope\n".encode(), name="x.jsonl", author="Ada", corpus_id=None)
    assert len(shared.log.trees()) == before
    assert import_trees(shared, good.encode(), name="x.jsonl", author="Ada", corpus_id=None) == 1


def test_a_key_that_finds_the_database_in_trouble_is_answered_not_raised(
    shared: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: object, **__: object) -> None:
        raise DatabaseError(LOCKED)

    (tree_id,) = own_trees(shared, 1)
    place = take_place(shared, tree_id, "tfidf")
    monkeypatch.setattr(TreeLog, "history", locked)
    take_press(place, KeyPress("u", 1, ""))
    assert place.screen.notice == ("error", LOCKED)
