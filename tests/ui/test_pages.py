"""Every page in its states: first visit, at work, empty, in trouble."""

import json
import time
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Create, Edit, Remove
from entail.ui.frame.author import Visitor
from entail.ui.frame.walk import STATE, STEPS
from entail.ui.shared.resources import Workspace
from entail.ui.shared.start_question import smallest_example
from entail.ui.trees.page import open_tree
from entail.ui.trees.screen import Screen
from tests.ui.conftest import ROOT, accepts, buttons, by, keys, on_tree, opens, own_trees, said, settled

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
    home.text_input(key="start_text").set_value("x" * 10_001)
    home = home.button(key="start").click().run()
    assert home.error, "it is too long"
    assert home.text_input(key="start_text").value == "x" * 10_001
    assert not own_trees(shared)
    home.text_input(key="start_text").set_value("ice floats on water")
    home.button(key="start").click().run()
    (tree,) = own_trees(shared)
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
    assert [tree.id for tree in own_trees(shared)] == [twin]
    links = [twin in str(link.proto) for link in home.get("page_link")].count(True)
    assert links == 2, "on its card, and at the button"
    home = home.button(key="start").click().run()
    assert {tree.hypothesis for tree in own_trees(shared)} == {"Ice  floats", "ice floats"}


def test_a_tree_stays_open_until_the_browser_goes_back_to_the_list(app: AppTest, own: str) -> None:
    app.session_state["tree"], app.session_state["retriever"] = own, "tfidf"
    app = by(app).switch_page("pages/Trees.py").run()
    app.query_params.clear()  # a component was quicker than the new address
    app = settled(app.run())
    assert accepts(app)
    app = app.switch_page("pages/Compare.py").run().switch_page("pages/Trees.py").run()
    assert accepts(app), "from another page, the tree is still open"
    app = app.run().run()
    app.query_params.clear()
    app = app.run()
    assert not accepts(app)
    assert opens(app)


def test_a_start_waits_for_the_name_that_the_browser_remembers(home: AppTest, shared: Workspace) -> None:
    home.text_input(key="start_text").set_value("ice floats")
    home = by(home.button(key="start").click().run()).run()
    (tree,) = own_trees(shared)
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
    (presence,) = shared.authors.list_presences()
    assert (presence.author, presence.tree_id, presence.node) == ("Ada", own, "n1")
    (graph,) = (
        json.loads(block.proto.json)
        for block in app.get("bidi_component")
        if "entail_graph" in str(block.proto.component_name) and '"nodes"' in block.proto.json
    )
    (title,) = (node["title"] for node in graph["nodes"] if node["id"] == "n2")
    assert "1st by TF-IDF" in title, "a box has the ranking that it was accepted from"
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
        assert "<script>" not in said(app) + "".join(str(block.body) for block in app.get("html"))


# --- the five-minute walk: a bar above the pages that leads from one to the next ---


def test_the_walk_leads_from_home_to_the_example_tree_and_to_a_claim_to_try(
    app: AppTest, shared: Workspace
) -> None:
    shared.log.create(Create(hypothesis="ice is cold"), author="Ada", corpus_id=SAMPLE_ID)
    home = app.run()
    assert not {"walk_next", "open_example"} & keys(home)
    home = home.button(key="walk_start").click().run()
    assert {"walk_next", "walk_leave", "open_example"} <= keys(home)
    assert "walk_start" not in keys(home)
    home = home.button(key="walk_leave").click().run()
    assert "walk_next" not in keys(home)
    home = home.button(key="walk_start").click().run()
    app = home.button(key="walk_next").click().run()
    tree = smallest_example(shared.log.trees())
    assert tree is not None
    assert app.session_state["tree"] == tree.id
    assert app.session_state[STATE] == 1
    app = app.switch_page("pages/Trees.py").run()
    app = app.button(key="walk_try").click().run()
    assert app.text_input(key="start_text").value == tree.hypothesis
    app.text_input(key="author_name-start").set_value("Ada")
    app = app.button(key="start").click().run()
    assert [own.hypothesis for own in own_trees(shared)] == [tree.hypothesis, "ice is cold"]
    assert "walk_next" in keys(app.switch_page("pages/Trees.py").run())


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_every_step_has_its_bar_and_the_last_one_ends_it(app: AppTest, number: int) -> None:
    app.session_state[STATE] = number
    app = app.switch_page(STEPS[number].path).run()
    assert ("walk_next" in keys(app)) == (number + 1 < len(STEPS))
    assert "walk_leave" in keys(app)
    assert "walk_resume" not in keys(app)
    app = app.switch_page("pages/Corpora.py").run()
    assert "walk_next" not in keys(app)
    app = app.button(key="walk_resume").click().run()
    assert "walk_resume" not in keys(app)


def test_the_checkout_has_the_pages_of_the_package_and_its_web_server() -> None:
    packaged, config = ROOT / "entail" / "ui" / "app", ".streamlit/config.toml"
    assert (packaged / config).read_bytes() == (ROOT / config).read_bytes()
    names = [{page.name for page in (folder / "pages").glob("*.py")} for folder in (packaged, ROOT)]
    assert names[0] == names[1]
