"""The outline without a browser: its rows, what a click does, what the browser is sent."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Premise
from entail.trees.layout import appearance
from entail.trees.layout.positions import rejected_id
from entail.trees.log.acts import Act, Conclude, Create, Event, Finish, GivenNode, Reject, Remove
from entail.trees.log.replay import replay
from entail.trees.log.tree import Tree
from entail.ui.components.graph import GraphEvent
from entail.ui.components.keyboard import KeyPress
from entail.ui.components.outline import OutlineEvent, Row, events_of, rows_of
from entail.ui.shared.resources import Workspace
from entail.ui.trees.authoring import handle_key, open_tree
from entail.ui.trees.screen import Screen
from entail.ui.trees.views import apply_event

ICE = Premise("ice is a kind of solid")
SNOW = Premise("snow is white")
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


def row(tree: Tree, id: str, *, with_rejected: bool = False) -> Row:
    return next(row for row in rows_of(tree, with_rejected=with_rejected) if row.id == id)


def test_rows_are_depth_first_and_loose_ones_last() -> None:
    found = [(row.id, row.parent, row.level) for row in rows_of(grown())]
    assert found == [
        ("n1", None, 1),
        ("n1.1", "n1", 2),
        ("n1.3", "n1.1", 3),
        ("n1.4", "n1.3", 4),
        ("n1.2", "n1", 2),
        ("n1.5", None, 1),
        ("n1.6", "n1.5", 2),
    ]


def test_a_row_says_kind_text_and_author() -> None:
    assert row(grown(), "n1.4") == Row(
        "n1.4", "n1.4", "n1.3", "premise", HOSTILE, 4, "Premise sent7, by Ada", ()
    )
    assert row(grown(), "n1").kind == "hypothesis"
    assert row(grown(), "n1.1").caption == "Intermediate conclusion n1.1, by Ada"


def test_finished_nodes_and_conclusions_without_premises_are_marked() -> None:
    tree = grown(
        Finish(node="n1.2", premises=(ICE,)),
        Conclude(node="n1", premises=("n1.2",), text="so it is"),
        Remove(node="n1.2"),
        Finish(node="n1.1", premises=()),
    )
    assert row(tree, "n3").marks == ("no premises yet",)
    assert row(tree, "n1.1").marks == ("finished",)
    assert row(tree, "n1").marks == ()


def test_rejected_premises_stand_below_their_node_and_lead_to_it() -> None:
    tree = grown(Reject(node="n1.1", premise=SNOW), Reject(node="n1.1", premise=ICE))
    assert "rejected" not in {row.kind for row in rows_of(tree)}
    rows = rows_of(tree, with_rejected=True)
    assert [(r.id, r.parent) for r in rows[2:5]] == [
        (rejected_id("n1.1", SNOW.key), "n1.1"),
        (rejected_id("n1.1", ICE.key), "n1.1"),
        ("n1.3", "n1.1"),
    ]
    assert rows[2] == Row(
        *(rows[2].id, "n1.1", "n1.1", "rejected", SNOW.text, 3),
        *("Rejected premise of n1.1", ("rejected by Bo",)),
    )


def test_every_row_s_parent_comes_before_it() -> None:
    seen: set[str | None] = {None}
    for row in rows_of(grown(Reject(node="n1.4", premise=ICE)), with_rejected=True):
        assert row.parent in seen
        seen.add(row.id)


def test_only_what_is_well_formed_is_an_event() -> None:
    messages: list[dict[str, object]] = [
        {"kind": "explode", "node": "n1"},
        {"kind": "select", "node": 3},
        {"node": "n1"},
        {"kind": "toggle", "node": "n1"},
        {"kind": "select", "node": "n1.1"},
        {"kind": "collapse", "node": "n1.1"},
    ]
    assert list(events_of(iter(messages))) == [
        OutlineEvent("select", "n1.1"),
        OutlineEvent("collapse", "n1.1"),
    ]


def after(*events: GraphEvent | OutlineEvent, collapsed: Iterable[str] = ()) -> tuple[str, frozenset[str]]:
    """Return what is selected and collapsed once these events were taken in."""
    screen = Screen("tree", collapsed=frozenset(collapsed))
    for event in events:
        apply_event(screen, event)
    return screen.selected, screen.collapsed


def test_a_click_selects_and_leaves_collapsed_what_is() -> None:
    assert after(OutlineEvent("select", "n1.3"), collapsed=["n1.3"]) == ("n1.3", {"n1.3"})


def test_collapse_and_expand_say_which_and_can_come_twice() -> None:
    fold, unfold = OutlineEvent("collapse", "n1.1"), OutlineEvent("expand", "n1.1")
    assert after(fold, fold) == ("n1", {"n1.1"})
    assert after(fold, unfold, unfold) == ("n1", frozenset())


def test_graph_and_outline_share_what_is_collapsed() -> None:
    assert after(GraphEvent("toggle", "n1.1"), OutlineEvent("expand", "n1.1")) == ("n1", frozenset())
    assert after(OutlineEvent("collapse", "n1.1"), GraphEvent("open", "n1.1")) == ("n1.1", frozenset())


def page() -> None:
    from datetime import UTC, datetime

    import streamlit as st

    from entail.trees.log.acts import Create, Event, GivenNode
    from entail.trees.log.replay import replay
    from entail.ui.components.outline import draw_outline

    nodes = (GivenNode("no <i>light</i> makes cold", -1), GivenNode("it is dark", 0))
    create = Create(hypothesis="the moon is cold", nodes=nodes if st.session_state.get("full") else ())
    tree = replay([Event(seq=1, author="Ada", at=datetime(2026, 1, 1, tzinfo=UTC), act=create)]).tree
    draw_outline(
        tree,
        selected="n1.2",
        collapsed={"n1.1", "n1.2", "n98"},
        key="outline",
        on_event=lambda event: None,
    )


def sent(app: AppTest) -> dict[str, Any]:
    """Return what the browser is told of the outline."""
    (mount,) = (
        block.proto
        for block in app.get("bidi_component")
        if block.proto.component_name.endswith("entail_outline")
    )
    assert "moon" not in mount.js_content + mount.html_content
    return dict(json.loads(mount.json))


def test_texts_travel_as_data_and_a_leaf_is_never_collapsed() -> None:
    app = AppTest.from_function(page)
    app.session_state["full"] = True
    told = sent(app.run())
    assert not app.exception
    assert [row["text"] for row in told["rows"]] == [
        "the moon is cold",
        "no <i>light</i> makes cold",
        "it is dark",
    ]
    assert (told["selected"], told["collapsed"], told["hint"]) == ("n1.2", ["n1.1"], "")


def test_a_tree_just_begun_says_what_comes() -> None:
    app = AppTest.from_function(page).run()
    assert sent(app)["hint"].startswith("Premises that you accept appear here")


def test_what_the_browser_gets_is_whole() -> None:
    from entail.ui.components.outline import _library_js

    js = _library_js()
    assert js.count("export default") == 1
    for theme in (appearance.LIGHT, appearance.DARK):
        assert all(look.border in js and look.fill in js for look in theme.looks.values())
    assert all(name in js for name in appearance.NAMES.values())


@pytest.mark.parametrize("name", ["innerHTML", "insertAdjacentHTML", "outerHTML", "document.write"])
def test_no_text_can_become_markup(name: str) -> None:
    from entail.ui.components.outline import _library_js

    assert name not in _library_js()


def test_a_key_that_goes_into_what_is_folded_away_shows_it(shared: Workspace) -> None:
    nodes = (GivenNode("no light makes cold", -1), GivenNode("it is dark", 0))
    tree = shared.log.create(Create(hypothesis="the moon is cold", nodes=nodes), author="Ada", corpus_id=None)
    place = open_tree(shared, tree, "tfidf")
    place.screen.collapsed = frozenset({"n1", "n1.1"})
    for key, selected, collapsed in (("down", "n1", {"n1", "n1.1"}), ("right", "n1.1", {"n1.1"})):
        handle_key(place, KeyPress(key, 1))
        assert (place.screen.selected, place.screen.collapsed) == (selected, collapsed)
