"""Every page in its states: first visit, at work, empty, in trouble."""

import json
import time
from dataclasses import replace

import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Create, Edit, Remove
from entail.ui.components.inbox import NodeEvent
from entail.ui.frame.author import Visitor
from entail.ui.shared.resources import Workspace
from entail.ui.trees.page import open_tree
from entail.ui.trees.screen import Screen
from tests.ui.conftest import ROOT, accepts, buttons, by, named, on_tree, opens, said, settled

HOSTILE = "ice <script>alert(1)</script> is **cold** :red[x] $y$"


@pytest.fixture
def own(shared: Workspace) -> str:
    """Return a small tree of Ada's over a corpus of three facts."""
    corpus = Corpus.of("three", ["snow is a kind of ice", "ice is cold", HOSTILE])
    info = shared.corpora.add_corpus(corpus, author="Ada")
    return shared.log.create(Create(hypothesis="snow is a cold kind of ice"), author="Ada", corpus_id=info.id)


def test_starting_a_tree_needs_a_name_and_a_claim(home: AppTest, shared: Workspace) -> None:
    home.text_input(key="start_text").set_value("ice floats")
    home = home.button(key="start").click().run()
    assert home.warning
    home.text_input(key="author_name-start").set_value("Ada\u0007")
    home = home.button(key="start").click().run()
    assert home.error
    home.text_input(key="start_text").set_value("   ")
    home.text_input(key="author_name-start").set_value("Ada")
    home = home.button(key="start").click().run()
    assert "Enter the claim first" in said(home)
    home.text_input(key="start_text").set_value("ice floats on water")
    home = home.button(key="start").click().run()
    assert not home.exception
    (tree,) = (tree for tree in shared.log.trees() if not tree.example)
    assert (tree.hypothesis, tree.created_by, tree.corpus_id) == ("ice floats on water", "Ada", SAMPLE_ID)


def test_home_has_a_card_for_each_tree_of_the_team_and_folds_the_examples(app: AppTest, own: str) -> None:
    app = app.run()
    targets = [link.proto.query_string for link in app.get("page_link")]
    assert targets.count(f"tree={own}") == 1
    assert sum(target.startswith("tree=") for target in targets) == 13, "the first examples, folded"
    assert "three · Ada" in said(app)
    assert not any(expander.proto.expanded for expander in app.expander)


def test_a_second_tree_of_a_claim_is_started_by_a_second_click(home: AppTest, shared: Workspace) -> None:
    twin = shared.log.create(Create(hypothesis="ice floats"), author="Bo", corpus_id=SAMPLE_ID)
    home = by(home).run()
    home.text_input(key="start_text").set_value(" Ice  floats")
    home = home.button(key="start").click().run()
    assert not home.exception
    assert [tree.id for tree in shared.log.trees() if not tree.example] == [twin]
    links = [twin in str(link.proto) for link in home.get("page_link")].count(True)
    assert links == 2, "on its card, and at the button"
    home = home.button(key="start").click().run()
    assert sorted(tree.hypothesis for tree in shared.log.trees() if not tree.example) == [
        "Ice  floats",
        "ice floats",
    ]


@pytest.mark.parametrize(("length", "is_started"), [(9000, True), (10_001, False)])
def test_a_long_claim_is_started_or_refused_but_never_lost(
    home: AppTest, shared: Workspace, length: int, is_started: bool
) -> None:
    claim = "x" * length
    by(home).run().text_input(key="start_text").set_value(claim)
    home = home.button(key="start").click().run()
    own = [tree.hypothesis for tree in shared.log.trees() if not tree.example]
    assert own == ([claim] if is_started else [])
    assert is_started or (home.error and home.text_input(key="start_text").value == claim)


def test_back_from_a_tree_leads_to_the_list(app: AppTest, own: str) -> None:
    app = on_tree(app, own)
    assert accepts(app)
    app = app.switch_page("pages/Compare.py").run().switch_page("pages/Trees.py").run()
    assert accepts(app), "from another page, the tree is still open"
    app = app.run().run()
    app.query_params.clear()
    app = app.run()
    assert not accepts(app)
    assert opens(app)


def test_a_tree_stays_open_until_the_browser_has_its_address(app: AppTest, own: str) -> None:
    app.session_state["tree"], app.session_state["retriever"] = own, "tfidf"
    app = by(app).switch_page("pages/Trees.py").run()
    app.query_params.clear()  # a component was quicker than the new address
    app = settled(app.run())
    assert accepts(app)


def test_a_start_waits_for_the_name_that_the_browser_remembers(home: AppTest, shared: Workspace) -> None:
    home.text_input(key="start_text").set_value("ice floats")
    home = by(home.button(key="start").click().run()).run()
    (tree,) = (tree for tree in shared.log.trees() if not tree.example)
    assert (tree.hypothesis, tree.created_by) == ("ice floats", "Ada")
    assert home.session_state["start_request"].requested is None


@pytest.mark.parametrize(("age", "opened"), [(0, True), (60, False)])
def test_a_new_tree_is_opened_again_where_the_change_of_page_was_lost(
    home: AppTest, shared: Workspace, age: float, opened: bool
) -> None:
    tree = shared.log.create(Create(hypothesis="ice floats"), author="Ada", corpus_id=SAMPLE_ID)
    home.session_state["start_request"].new_tree = tree, time.monotonic() - age
    home = home.run()
    assert ("tree" in home.session_state) is opened


def test_accept_reject_undo_redo_by_click(app: AppTest, shared: Workspace, own: str) -> None:
    app = on_tree(app, own)
    accept = accepts(app)
    assert [b.label.split()[0] for b in accept] == ["1", "2", "3"]
    app = accept[0].click().run()
    tree = shared.log.history(own).tree
    assert [tree.nodes[c].text for c in tree.root.children] == ["snow is a kind of ice"]
    assert "accepted here" in said(app)
    assert [b.key for b in buttons(app, "withdraw-")] == [str(accept[0].key).replace("accept", "withdraw")]
    reject = buttons(app, "reject-")
    app = reject[1].click().run()
    assert [p.text for p in shared.log.history(own).tree.rejected("n1")] == ["ice is cold"]
    app = app.button(key="tool-undo").click().run()
    app = app.button(key="tool-undo").click().run()
    assert not shared.log.history(own).tree.root.children
    app = app.button(key="tool-redo").click().run()
    assert shared.log.history(own).tree.root.children == ("n2",)
    app = app.button(key=f"finish-{own}").click().run()
    tree = shared.log.history(own).tree
    assert {p.text for p in tree.rejected("n1")} == {"ice is cold", HOSTILE}
    assert "n1" in tree.finished
    assert not app.exception


def test_a_box_has_the_ranking_that_it_was_accepted_from(app: AppTest, own: str) -> None:
    app = accepts(on_tree(app, own))[1].click().run()
    (mount,) = (
        block.proto
        for block in app.get("bidi_component")
        if "entail_graph" in str(block.proto.component_name) and '"nodes"' in block.proto.json
    )
    (title,) = (node["title"] for node in json.loads(mount.json)["nodes"] if node["id"] == "n2")
    assert "2nd by TF-IDF" in title
    assert "Ada" in title


def test_an_accept_costs_one_read_and_one_write(app: AppTest, shared: Workspace, own: str) -> None:
    app = on_tree(app, own).run()
    engine, begun = shared.database.engine, []

    def begin(connection: sa.Connection) -> None:
        begun.append("entail_writing" in connection.get_execution_options())

    sa.event.listen(engine, "begin", begin)
    app = accepts(app)[0].click().run()
    sa.event.remove(engine, "begin", begin)
    assert "accepted here" in said(app)
    assert begun == [True, False]
    (presence,) = shared.authors.list_presences()
    assert (presence.author, presence.tree_id, presence.node) == ("Ada", own, "n1")


def test_an_unnamed_visitor_looks_but_is_asked_before_acting(
    app: AppTest, shared: Workspace, own: str
) -> None:
    app = on_tree(app, own, author="")
    app = accepts(app)[0].click().run()
    assert shared.log.history(own).seq == 1
    app = app.text_input(key="author_name-dialog").set_value("Ada").run()
    assert "accepted here" in said(app), "the act waited for the name"
    assert [event.author for event in shared.log.history(own).events] == ["Ada", "Ada"]


def test_an_edit_of_a_removed_node_can_be_restored(app: AppTest, shared: Workspace, own: str) -> None:
    app = accepts(on_tree(app, own))[0].click().run()
    screen: Screen = app.session_state["screens"][own]
    session = replace(open_tree(shared, own, "tfidf"), screen=screen, visitor=Visitor("Ada"))
    shared.log.act(own, Remove(node="n2", keep_premises=False), author="Bo", base=2)
    assert not session.act(Edit(node="n2", text="snow is a soft kind of ice"))
    app = app.run()
    assert "Bo" in str(app.warning[0].value)
    assert "snow is a soft kind of ice" in str(app.warning[0].value), "the input is not lost"
    app = app.button(key="recover").click().run()
    assert not app.exception
    assert not app.warning
    tree = shared.log.history(own).tree
    assert [tree.nodes[child].text for child in tree.root.children] == ["snow is a soft kind of ice"]


@pytest.mark.parametrize("view", ["Graph", "Outline", "History"])
def test_every_view_draws_every_tree_and_shows_text_as_text(
    app: AppTest, shared: Workspace, own: str, view: str
) -> None:
    example = max((t for t in shared.log.trees() if t.example), key=lambda tree: tree.premises).id
    for tree_id in (own, example):
        app = on_tree(app, tree_id, author="")
        app = app.segmented_control(key="view").set_value(view).run()
        assert not app.exception
        assert "<script>" not in said(app) + "".join(str(block.body) for block in app.get("html"))


def test_selecting_in_the_outline_shows_that_nodes_candidates(
    app: AppTest, shared: Workspace, own: str
) -> None:
    app = on_tree(app, own)
    app = accepts(app)[0].click().run()
    app = app.segmented_control(key="view").set_value("Outline").run()
    app.session_state["screens"][own].apply(NodeEvent("select", "n2"))
    app = app.run()
    offered = [b.key for b in accepts(app)]
    assert len(offered) == 2  # neither its own text nor the hypothesis above
    assert all(f"{own}-n2-" in (key or "") for key in offered)


def test_corpora_grow_by_who_has_a_name(app: AppTest, shared: Workspace) -> None:
    app = app.switch_page("pages/Corpora.py").run()
    app.text_area[0].set_value("glass is a solid")
    app = named(app.button, "Add").click().run()
    assert app.text_input(key="author_name-change")
    assert shared.corpora.info(SAMPLE_ID).version == 1
    app = by(app).run()
    app.text_area[0].set_value("glass is a solid\n\nglass is a solid\nglass can break")
    app = named(app.button, "Add").click().run()
    assert not app.exception
    assert "version 2, 4,787 premises" in said(app)
    assert shared.corpora.info(SAMPLE_ID).version == 2


def test_an_upload_leads_to_the_new_corpus_and_a_tree_over_it(app: AppTest, shared: Workspace) -> None:
    app = by(app).switch_page("pages/Corpora.py").run()
    facts = b"ice is cold\nsnow is ice"
    app = app.file_uploader(key="corpus_file-0").upload("facts.txt", facts, "text/plain").run()
    app = named(app.button, "Import").click().run()
    assert not app.exception
    info = next(corpus for corpus in shared.corpora.corpora() if corpus.name == "facts")
    assert app.selectbox(key="corpus").value == info.id
    assert not app.file_uploader(key="corpus_file-1").value, "a second click imports nothing again"
    app = app.button(key="start_on_corpus").click().run()
    assert not app.exception
    app = app.switch_page("pages/Trees.py").run()  # the harness goes back to the page that was left
    assert app.selectbox(key="start_corpus").value == info.id


def test_the_package_and_the_checkout_configure_the_web_server_alike() -> None:
    packaged = ROOT / "entail" / "ui" / "app" / ".streamlit" / "config.toml"
    assert packaged.read_bytes() == (ROOT / ".streamlit" / "config.toml").read_bytes()


def test_the_checkout_has_an_entry_point_for_every_page() -> None:
    packaged = ROOT / "entail" / "ui" / "app" / "pages"
    names = {page.name for page in packaged.glob("*.py")}
    assert names == {page.name for page in (ROOT / "pages").glob("*.py")}
