"""Graph and outline without a browser: their nodes and rows, a click, what the browser receives."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Premise
from entail.trees.formats.graphs import to_svg
from entail.trees.formats.text import Line, to_text
from entail.trees.formats.text import outline as lines_of
from entail.trees.layout.positions import layout
from entail.trees.log.acts import Act, Conclude, Create, Event, Finish, GivenNode, Remove
from entail.trees.log.replay import replay
from entail.trees.log.tree import Tree
from entail.trees.review.commands import Command
from entail.ui.components.graph import GraphView, network_of
from entail.ui.components.inbox import KeyPress, NodeEvent
from entail.ui.frame.author import Visitor
from entail.ui.shared.resources import Workspace
from entail.ui.trees.page import TreePage, open_tree
from entail.ui.trees.screen import Screen

ICE = Premise("ice is a kind of solid")
HOSTILE = "it is turned <b>away</b> :red[now] $x$"


def grown(*acts: Act) -> Tree:
    """Return n1 over (n1.1 over (n1.3 over n1.4), n1.2), n1.5 over n1.6 loose, with acts of Bo's on top."""
    create = Create(
        hypothesis="the moon is cold",
        nodes=(
            GivenNode("no light makes cold", -1),
            GivenNode("the moon is a place", -1),
            GivenNode("a side is dark", 0),
            GivenNode(HOSTILE, 2, label="sent7"),
            GivenNode("never used", None),
            GivenNode("nor this", 4),
        ),
    )
    at = datetime(2026, 1, 1, tzinfo=UTC)
    events = [Event(seq=1, author="Ada", at=at, act=create)]
    events += [Event(seq=i, author="Bo", at=at, act=act) for i, act in enumerate(acts, 2)]
    return replay(events).tree


def boxes_of(tree: Tree, **options: Any) -> dict[str, dict[str, Any]]:
    """Return each node of the network of the graph, by id, the points of lines left out."""
    lines = {name: options.pop(name, None) for name in ("notes", "meters")}
    drawing = layout(tree, **options)
    network = network_of(tree, drawing, collapsed=options.get("collapsed", ()), **lines)
    return {node["id"]: node for node in network.nodes if not node["group"].endswith("step")}


def test_a_box_shows_kind_text_author_verdict_level_and_what_it_hides() -> None:
    lines = {"notes": {"n1": "Supported"}, "meters": {"n1": 0.95}}
    boxes = boxes_of(grown(Finish(node="n1.2", premises=(ICE,))), **lines)
    assert [boxes[id]["group"] for id in ("n1", "n1.1", "n1.2")] == ["hypothesis", "intermediate", "premise"]
    assert boxes["n1.4"]["title"] == f"Premise sent7, by Ada\n{HOSTILE}"
    assert " ".join(boxes["n1.4"]["label"].split()) == HOSTILE
    assert boxes["n1"]["title"].splitlines()[1:] == ["the moon is cold", "Supported"]
    assert [box["label"] for box in boxes.values() if box.get("of") == "n1"] == ["\N{MINUS SIGN} ●"]
    assert "finished" in boxes["n1.2"]["title"]
    assert [node["of"] for node in boxes.values() if node["group"] == "tick"] == ["n1.2"]
    boxes = boxes_of(grown(), collapsed={"n1.1", "n1.2"})
    levels = [(id, box["level"], box.get("open")) for id, box in boxes.items() if "level" in box]
    inner = [("n1", 1, True), ("n1.1", 2, False), ("n1.5", 2, True)]
    assert sorted(levels) == sorted([*inner, ("n1.2", 2, None), ("n1.6", 3, None)])
    signs = {box["of"]: box["label"] for box in boxes.values() if box["group"] == "fold"}
    assert signs == {"n1": "\N{MINUS SIGN}", "n1.1": "+2", "n1.5": "\N{MINUS SIGN}"}
    assert "2 below" in boxes["n1.1"]["title"]
    assert "a side is dark" in boxes["n1.1"]["words"], "found by the words of what it hides"


def test_a_conclusion_without_premises_is_not_finished() -> None:
    tree = grown(Finish(node="n1", premises=()), *(Remove(node=id) for id in ("n1.1", "n1.2")))
    assert "n1" in tree.finished
    assert not [node for node in boxes_of(tree).values() if node["group"] == "tick"]
    assert "finished" not in boxes_of(tree)["n1"]["title"]
    assert lines_of(tree)[0].marks == ()
    assert 'class="tick"' not in to_svg(tree)


def test_the_focus_follows_the_browser_and_ends_where_something_else_is_selected() -> None:
    tree, view = grown(), GraphView()
    view.handle({"kind": "focus", "node": "n1.1"}, tree)
    for selected in ("n1.1", "n1.4", None):
        view.show(tree, selected)
        assert view.focus == "n1.1"
    view.show(tree, "n1.2")
    assert view.focus == "n1"
    view.handle({"kind": "focus", "node": "n99"}, tree)
    assert view.focus == "n1"
    view.handle({"kind": "focus", "node": "n1.1"}, tree)
    view.show(grown(Remove(node="n1.1")), "n1")
    assert view.focus == "n1"


def test_rows_are_depth_first_with_kind_text_author_and_marks() -> None:
    tree = grown(
        Finish(node="n1.2", premises=(ICE,)),
        Conclude(node="n1", premises=("n1.2",), text="so it is"),
        Remove(node="n1.2"),
        Finish(node="n1.1", premises=()),
    )
    rows = {row.id: row for row in lines_of(tree)}
    assert [(row.id, row.level) for row in lines_of(grown())] == [
        *(("n1", 1), ("n1.1", 2), ("n1.3", 3), ("n1.4", 4), ("n1.2", 2)),
        *(("n1.5", 1), ("n1.6", 2)),  # loose ones last
    ]
    text = ["Hypothesis: the moon is cold", "  Intermediate conclusion: no light makes cold"]
    assert to_text(tree).splitlines()[:2] == text
    assert rows["n1.4"] == Line("n1.4", "n1.4", "n1.3", "premise", HOSTILE, 4, "Premise sent7, by Ada", ())
    assert rows["n1.1"].caption == "Intermediate conclusion, by Ada"
    assert [rows[id].marks for id in ("n3", "n1.1", "n1")] == [("no premises yet",), ("finished",), ()]


def after(*events: NodeEvent, collapsed: Iterable[str] = ()) -> tuple[str, frozenset[str]]:
    """Return the selected and the collapsed nodes after these events."""
    screen = Screen("tree", collapsed=frozenset(collapsed))
    for event in events:
        screen.apply(event)
    return screen.selected, screen.collapsed


def test_clicks_select_and_collapse_in_both_views() -> None:
    collapse, expand = NodeEvent("collapse", "n1.1"), NodeEvent("expand", "n1.1")
    assert after(NodeEvent("select", "n1.3"), collapsed=["n1.3"]) == ("n1.3", {"n1.3"})
    assert after(collapse, collapse) == ("n1", {"n1.1"})
    assert after(collapse, expand, expand) == ("n1", frozenset())
    assert after(NodeEvent("toggle", "n1.1"), expand) == ("n1", frozenset())
    assert after(collapse, NodeEvent("open", "n1.1")) == ("n1.1", frozenset())


@pytest.fixture
def context(shared: Workspace) -> TreePage:
    """Return Ada's context at n1 over (n1.1 over n1.2, n1.3)."""
    nodes = (GivenNode("no light makes cold", -1), GivenNode("it is dark", 0), GivenNode("it is a place", -1))
    tree = shared.log.create(Create(hypothesis="the moon is cold", nodes=nodes), author="Ada", corpus_id=None)
    return replace(open_tree(shared, tree, "tfidf"), visitor=Visitor("Ada"))


def handle(context: TreePage, event: NodeEvent) -> Tree:
    """Apply an event and return the tree after it."""
    context.with_candidates().handle_event(event)
    return context.shared.log.history(context.summary.id).tree


def test_a_box_dragged_onto_another_moves_there_and_undo_puts_it_back(context: TreePage) -> None:
    before = context.shared.log.history(context.summary.id).tree
    assert handle(context, NodeEvent("move", "n1.1", "n1.2")) == before
    assert context.screen.notice is not None
    assert context.screen.notice[0] == "error", "the log refuses it"
    tree = handle(context, NodeEvent("move", "n1.3", "n1.1"))
    assert tree.nodes["n1.1"].children == ("n1.2", "n1.3")
    context.with_candidates().run(Command("undo"))
    assert context.shared.log.history(context.summary.id).tree.nodes["n1.3"].parent == "n1"


def test_a_line_to_a_conclusion_and_buttons_at_a_box_open_dialogs(context: TreePage) -> None:
    before, screen = context.shared.log.history(context.summary.id).tree, context.screen
    for node, to, dialog in (("n1.2", "n1.1", "conclude"), ("n1.3", "n1.1", "move")):
        assert handle(context, NodeEvent("connect", node, to)) == before
        assert (screen.selected, screen.dialog, screen.goal) == (node, dialog, to)
    context.with_candidates().run(Command("dialog", "move"))
    assert screen.goal is None
    for node, name, dialog in (("n1.3", "edit", "edit"), ("n1.2", "remove", "remove"), ("n1", "name", None)):
        screen.dialog = None
        assert handle(context, NodeEvent("dialog", node, name)) == before
        assert screen.dialog == dialog
        assert screen.selected == (node if dialog else "n1.2")


def page() -> None:
    from datetime import UTC, datetime

    import streamlit as st

    from entail.trees.log.acts import Create, Event, GivenNode
    from entail.trees.log.replay import replay
    from entail.ui.components.graph import draw_graph
    from entail.ui.components.tree_view import draw_outline

    nodes = (GivenNode("no light makes cold", -1), GivenNode("it is dark", 0))
    create = Create(hypothesis="the moon is cold", nodes=nodes if st.session_state.get("full") else ())
    tree = replay([Event(seq=1, author="Ada", at=datetime(2026, 1, 1, tzinfo=UTC), act=create)]).tree
    for view in (draw_outline, draw_graph):
        view(
            tree,
            selected="n1.2",
            collapsed={"n1.1", "n1.2", "n98"},
            show_rejected=True,
            key=view.__name__,
            on_event=st.write,
        )


def test_the_browser_receives_what_is_selected_and_collapsed_and_a_hint_for_a_new_tree() -> None:
    def received(app: AppTest) -> list[dict[str, Any]]:
        blocks = [block.proto for block in app.get("bidi_component")]
        views = ("entail_outline", "entail_graph")
        return [json.loads(block.json) for block in blocks if block.component_name.endswith(views)]

    app = AppTest.from_function(page, default_timeout=60)
    assert all(data["hint"] for data in received(app.run()))
    app.session_state["full"] = True
    outline, graph = received(app.run())
    assert (outline["selected"], outline["collapsed"], outline["hint"]) == ("n1.2", ["n1.1"], "")
    assert (graph["selected"], graph["hint"]) == ("n1.1", "")
    tools = {name: (tool["disabled"], tool.get("ariaPressed")) for name, tool in graph["tools"].items()}
    assert tools["toggle"] == tools["toggle all"] == (False, "true")
    assert tools["connect"] == (True, None)


def test_a_key_that_goes_into_a_collapsed_node_expands_it(context: TreePage) -> None:
    context.screen.collapsed = frozenset({"n1", "n1.1"})
    for key, selected, collapsed in (("down", "n1", {"n1", "n1.1"}), ("right", "n1.1", {"n1.1"})):
        context.handle_key(KeyPress(key))
        assert (context.screen.selected, context.screen.collapsed) == (selected, collapsed)
