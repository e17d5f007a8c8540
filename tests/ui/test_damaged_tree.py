"""A damaged tree on the pages: it says so, and everything else works."""

import sqlite3

import pytest
from streamlit.testing.v1 import AppTest

from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Create, Write
from entail.ui.shared.resources import Workspace
from tests.ui.conftest import accepts, on_tree, opens, said


@pytest.fixture
def damaged(shared: Workspace) -> tuple[str, str]:
    """Return the ids of a damaged tree and of one that is whole."""
    trees = []
    for hypothesis in ("snow is cold", "ice melts"):
        tree = shared.log.create(Create(hypothesis=hypothesis), author="Ada", corpus_id=SAMPLE_ID)
        shared.log.act(tree, Write(node="n1", text="snow is ice"), author="Ada", base=1)
        trees.append(tree)
    assert shared.database.file is not None
    other = sqlite3.connect(shared.database.file)
    with other:
        other.execute("UPDATE events SET payload = '[' WHERE tree_id = ? AND seq = 2", (trees[0],))
    other.close()
    return trees[0], trees[1]


def test_a_damaged_tree_is_named_and_others_open(
    app: AppTest, shared: Workspace, damaged: tuple[str, str]
) -> None:
    tree, other = damaged
    app = on_tree(app.run(), tree)
    assert [tree in error.value for error in app.error] == [True]
    assert opens(app) >= 2, "the list of trees is there"
    assert "Traceback" not in said(app)
    app = on_tree(app, other)
    assert not app.error
    assert accepts(app)
