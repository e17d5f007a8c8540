import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Premise
from entail.trees.layout import appearance
from entail.trees.layout.positions import layout, rejected_id
from entail.trees.log.acts import Act, Create, Event, Finish, GivenNode, Reject
from entail.trees.log.replay import replay
from entail.trees.log.tree import Tree
from entail.ui.components.graph import GraphEvent, build_network, describe_graph

ICE = Premise("ice is a kind of solid")


def grown(*acts: Act) -> Tree:
    """Return n1 over (n1.1 over (n1.3 over n1.4), n1.2), n1.5 loose, with acts of Ada's on top."""
    create = Create(
        hypothesis="the moon is cold",
        nodes=(
            GivenNode("no light makes cold", -1),
            GivenNode("the moon is a place", -1),
            GivenNode("a side is dark", 0),
            GivenNode("it is turned away <b>now</b>", 2, label="sent7"),
            GivenNode("never used", None),
        ),
    )
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return replay(
        [Event(seq=i, author="Ada", at=at, act=act) for i, act in enumerate((create, *acts), 1)]
    ).tree


def nodes_of(tree: Tree, **options: object) -> dict[str, dict[str, object]]:
    collapsed = options.get("collapsed", ())
    network = build_network(tree, layout(tree, **options), collapsed=collapsed)
    return {node["id"]: node for node in network.nodes}


def test_network_is_pyvis_s_with_the_layout_s_places() -> None:
    from pyvis.network import Network

    tree = grown()
    drawing = layout(tree)
    network = build_network(tree, drawing)
    assert isinstance(network, Network)
    assert network.get_nodes() == list(drawing.places)
    for node in network.nodes:
        place = drawing.places[node["id"]]
        assert (node["x"], node["y"]) == pytest.approx((place.x, place.y), abs=0.5)
        assert node["fixed"] is True
        assert node["physics"] is False


def test_edges_go_from_premise_to_conclusion() -> None:
    network = build_network(grown(), layout(grown()))
    found = [(edge["from"], edge["to"], edge["arrows"]) for edge in network.edges]
    assert found == [
        ("n1.1", "n1", "to"),
        ("n1.3", "n1.1", "to"),
        ("n1.4", "n1.3", "to"),
        ("n1.2", "n1", "to"),
    ]


def test_a_node_says_its_kind_its_text_and_who_made_it() -> None:
    node = nodes_of(grown())["n1.4"]
    assert node["group"] == "premise"
    assert node["title"] == "it is turned away <b>now</b>"
    assert node["label"].replace("\n", " ") == node["title"]
    assert node["caption"] == "Premise sent7, by Ada"
    assert "below" not in node


def test_kinds_differ_in_shape_too() -> None:
    nodes = nodes_of(grown())
    assert [nodes[id]["group"] for id in ("n1", "n1.1", "n1.2")] == ["hypothesis", "intermediate", "premise"]
    assert nodes["n1"]["shape"] == "ellipse" != nodes["n1.1"]["shape"]
    assert len({appearance.SHAPES[kind] for kind in appearance.KINDS}) == 4


def test_what_is_collapsed_counts_and_keeps_its_texts_for_the_search() -> None:
    nodes = nodes_of(grown(), collapsed={"n1.1"})
    assert set(nodes) == {"n1", "n1.1", "n1.2", "n1.5"}
    assert nodes["n1"]["below"] == 4
    assert "collapsed" not in nodes["n1"]
    assert nodes["n1.1"] | {"below": 2, "collapsed": True} == nodes["n1.1"]
    assert nodes["n1.1"]["inside"] == "a side is dark\nit is turned away <b>now</b>"


def test_a_leaf_named_as_collapsed_is_a_leaf() -> None:
    assert "collapsed" not in nodes_of(grown(), collapsed={"n1.2"})["n1.2"]


def test_finished_nodes_say_so() -> None:
    nodes = nodes_of(grown(Finish(node="n1.2", premises=(ICE,))))
    assert nodes["n1.2"]["finished"] is True
    assert nodes["n1.2"]["caption"] == "Premise n1.2, by Ada; finished"
    assert "finished" not in nodes["n1"]


def test_rejected_premises_are_dotted_and_lead_back_to_their_node() -> None:
    tree = grown(Reject(node="n1.1", premise=ICE))
    id = rejected_id("n1.1", ICE.key)
    assert id not in nodes_of(tree)
    network = build_network(tree, layout(tree, with_rejected=True))
    node = network.get_node(id)
    assert node | {"group": "rejected", "of": "n1.1", "key": ICE.key, "caption": "Rejected by Ada"} == node
    dotted = [edge for edge in network.edges if "dashes" in edge]
    assert [(edge["from"], edge["to"], edge["dashes"]) for edge in dotted] == [(id, "n1.1", [2, 4])]


def test_network_goes_through_json() -> None:
    network = build_network(grown(), layout(grown()))
    assert json.loads(json.dumps([network.nodes, network.edges])) == [network.nodes, network.edges]


def test_description_in_words() -> None:
    assert describe_graph(grown(), selected="n1.2") == (
        "Explanation tree of “the moon is cold”: 2 intermediate conclusions, 3 premises. "
        "Selected: “the moon is a place”. The outline has the same as text."
    )
    assert "Selected" not in describe_graph(grown(), selected="n99")


def page() -> None:
    from datetime import UTC, datetime

    import streamlit as st

    from entail.trees.log.acts import Create, Event, GivenNode
    from entail.trees.log.replay import replay
    from entail.ui.components.graph import draw_graph
    from entail.ui.components.inbox import inbox

    create = Create(hypothesis="the moon is cold", nodes=(GivenNode("no light makes cold", -1),))
    tree = replay([Event(seq=1, author="Ada", at=datetime(2026, 1, 1, tzinfo=UTC), act=create)]).tree
    inbox("graph").take(st.session_state.pop("sent", None))
    events = draw_graph(tree, selected="n99", collapsed={"n98"}, show_rejected=True, key="graph")
    st.text(repr(tuple(events)))


def test_events_come_in_order_and_once() -> None:
    kinds = [{"kind": "select", "node": "n1"}, {"kind": "open", "node": "n1.1", "premise": None}]
    strange = [{"kind": "explode", "node": "n1"}, {"kind": "select", "node": 3}, {"node": "n1"}]
    app = AppTest.from_function(page)
    app.session_state["sent"] = {
        "mount": "a",
        "messages": [{**message, "number": i} for i, message in enumerate((*strange, *kinds), start=1)],
    }
    ran = app.run()
    assert not ran.exception
    assert ran.text[0].value == repr((GraphEvent("select", "n1"), GraphEvent("open", "n1.1")))
    assert ran.run().text[0].value == "()"


def test_what_the_browser_gets_is_whole_and_asks_for_nothing() -> None:
    from entail.ui.components.graph import _library_js

    js = _library_js()
    assert "vis-network" in js
    assert "sourceMappingURL" not in js
    assert "export default function" in js
    assert all(
        look.border in js for theme in (appearance.LIGHT, appearance.DARK) for look in theme.looks.values()
    )


def test_pyvis_is_loaded_by_the_first_graph_and_not_before() -> None:
    names = "{'pyvis', 'IPython', 'networkx'}"
    code = f"import sys, entail.ui.components.graph; print(sorted({names} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
