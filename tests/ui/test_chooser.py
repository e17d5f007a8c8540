"""Corpus of a new tree, and import of trees from files."""

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Create, Write
from entail.ui.shared.corpus_choice import default_corpus
from entail.ui.shared.resources import Workspace
from tests.ui.conftest import by, keys

ROW = (
    '{"id": "a", "hypothesis": "h", "proof": "sent1 & sent2 -> hypothesis; ", '
    '"meta": {"triples": {"sent1": "x", "sent2": "y"}}}\n'
)


@pytest.fixture
def small(shared: Workspace) -> str:
    """Return the id of a small corpus, the first by its name."""
    return shared.corpora.add_corpus(Corpus.of("aaa", ["snow is ice", "fire is hot"]), author="Bo").id


def usual(shared: Workspace, author: str | None) -> str:
    return default_corpus(shared.corpora.corpora(), shared.log.trees(), author).id


def test_the_default_corpus_is_the_author_s_then_the_team_s_then_the_largest(
    shared: Workspace, small: str
) -> None:
    assert shared.corpora.corpora()[0].id == small, "by name it would be the first"
    assert [usual(shared, author) for author in (None, "Ada", "Bo")] == [SAMPLE_ID, SAMPLE_ID, small]
    later = shared.corpora.add_corpus(Corpus.of("zzz", ["fire is hot"]), author="Bo").id
    assert usual(shared, "Bo") == later, "of several the last imported"
    first = shared.log.create(Create(hypothesis="a"), author="Ada", corpus_id=small)
    assert [usual(shared, author) for author in (None, "Ada", "Bo", "Cy")] == [small, small, later, small]
    shared.log.create(Create(hypothesis="b"), author="Ada", corpus_id=SAMPLE_ID)
    shared.log.create(Create(hypothesis="no facts"), author="Ada", corpus_id=None)
    assert usual(shared, "Ada") == SAMPLE_ID
    shared.log.act(first, Write(node="n1", text="c"), author="Ada", base=1)
    assert usual(shared, "Ada") == small


@pytest.mark.parametrize("key", ["start_corpus", "import_corpus"])
def test_the_corpus_follows_the_author_until_one_is_picked(
    app: AppTest, shared: Workspace, small: str, key: str
) -> None:
    shared.log.create(Create(hypothesis="a"), author="Ada", corpus_id=small)
    shared.log.create(Create(hypothesis="b"), author="Cy", corpus_id=SAMPLE_ID)
    app = app.run()
    assert app.selectbox(key=key).value == SAMPLE_ID
    app = by(app).run()
    assert app.selectbox(key=key).value == small
    app = app.selectbox(key=key).set_value(SAMPLE_ID).run()
    app = by(app.button(key="leave").click().run()).run()
    assert app.selectbox(key=key).value == SAMPLE_ID


def test_a_malformed_file_imports_no_tree(app: AppTest, shared: Workspace) -> None:
    before = len(shared.log.trees())
    app = by(app).run()
    content = f"{ROW}{{nope\n".encode()
    app = app.file_uploader(key="import_file-0").upload("x.jsonl", content, "text/plain").run()
    app = app.button(key="import_go").click().run()
    assert app.error
    assert len(shared.log.trees()) == before


def test_trees_are_imported_over_the_corpus_on_the_screen(
    app: AppTest, shared: Workspace, small: str
) -> None:
    theirs, _ = (
        shared.log.create(Create(hypothesis="a"), author="Ada", corpus_id=corpus)
        for corpus in (small, SAMPLE_ID)
    )
    app = by(app).run().file_uploader(key="import_file-0").upload("t.jsonl", ROW.encode(), "text/plain").run()
    assert app.selectbox(key="import_corpus").value == SAMPLE_ID
    # Ada's last tree is another now, and so is the corpus that she most likely wants.
    shared.log.act(theirs, Write(node="n1", text="c"), author="Bo", base=1)
    app = app.button(key="import_go").click().run()
    assert not app.exception
    assert next(tree for tree in shared.log.trees() if tree.hypothesis == "h").corpus_id == SAMPLE_ID
    assert not app.file_uploader(key="import_file-1").value, "a second click imports nothing again"
    assert "import_go" not in keys(app)
