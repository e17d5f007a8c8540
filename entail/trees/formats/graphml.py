"""Trees as GraphML, for networkx, Gephi, yEd and the like, and back.

An edge goes from a premise to what it explains, as an arrow of a proof does. Nodes carry `text`, `kind`
(`hypothesis`, `intermediate`, `premise`, `rejected`), `judgement` (`accepted`, `rejected`; absent where
nobody judged), `author`, `origin`, `sentence_id` (its id in an imported row), `key` and
`order` (place among the premises of its parent).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from entail.data.reading import Source, read_text, source_name
from entail.errors import FormatError
from entail.trees.formats.entailment_bank import grow, refold
from entail.trees.formats.escaping import printable
from entail.trees.layout.positions import rejected_id
from entail.trees.log.acts import Create, GivenNode
from entail.trees.log.tree import Node, Tree

if TYPE_CHECKING:
    import networkx as nx


def to_graphml(tree: Tree, *, with_rejected: bool = True) -> str:
    """Return a tree as GraphML.

    Args:
        tree: The tree.
        with_rejected: Whether rejected premises are nodes too, each with an edge to the node it was
            rejected for.
    """
    import networkx as nx

    graph = nx.DiGraph(source=json.dumps(dict(tree.source)))
    accepted = {judgement.seq for judgement in tree.judgements.values() if judgement.accepted}
    for start in (tree.root.id, *tree.loose):
        for node in tree.walk(start):
            graph.add_node(node.id, **_about(tree, node, accepted=node.seq in accepted))
            if node.parent is not None:
                graph.add_edge(node.id, node.parent, relation="explains")
    for (node_id, key), judgement in tree.judgements.items() if with_rejected else ():
        if not judgement.accepted:
            beside = rejected_id(node_id, key)
            graph.add_node(
                beside,
                text=printable(judgement.premise.text),
                kind="rejected",
                judgement="rejected",
                author=printable(judgement.author),
                key=key,
            )
            graph.add_edge(beside, node_id, relation="rejected")
    lines = nx.generate_graphml(graph, named_key_ids=True)
    return "\n".join(('<?xml version="1.0" encoding="utf-8"?>', *lines, ""))


def _about(tree: Tree, node: Node, *, accepted: bool) -> dict[str, Any]:
    about = {
        "text": printable(node.text),
        "kind": node.kind,
        "judgement": "accepted" if accepted and node.origin == "accept" else None,
        "author": printable(node.author),
        "origin": node.origin,
        "sentence_id": node.label,
        "key": node.key,
        "order": tree.nodes[node.parent].children.index(node.id) if node.parent else 0,
    }
    return {name: value for name, value in about.items() if value is not None}


def from_graphml(source: Source, *, name: str | None = None) -> Create:
    """Return the act that begins a tree with a GraphML file.

    Files of other programs are read if each node has a `text` (or `label`) and edges go from premises to the
    one node they explain. The hypothesis is the node of kind `hypothesis`, else the only one that explains
    nothing. Rejected premises stay behind: who judged them, and what was shown, is not in the file.

    Raises:
        FormatError: If the file is no GraphML, or its graph is no tree.
    """
    import networkx as nx

    shown = source_name(source, name)
    text = read_text(source, name=name)
    if "<!DOCTYPE" in text:  # entities can be declared nowhere else
        raise FormatError("expected GraphML without a document type, found one; take it out", source=shown)
    try:
        graph = nx.parse_graphml(text.partition("?>")[2] if text.startswith("<?xml") else text)
    except Exception as error:  # networkx lets through whatever its XML parser and its casts raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"expected GraphML, found something else ({reason})", source=shown) from error
    if not graph.is_directed() or graph.is_multigraph():
        raise FormatError(
            "expected directed edges from premises to what they explain, at most one between two nodes",
            source=shown,
        )
    graph.remove_nodes_from([id for id, kind in graph.nodes(data="kind") if kind == "rejected"])
    root = _root(graph, shown)
    act = Create(
        hypothesis=_text(graph, root, shown), nodes=_nodes(graph, root, shown), source=_source(graph, shown)
    )
    try:
        refold(grow(act))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise FormatError(
            "expected what `entail` wrote about the imported row, or nothing", source=shown, field="source"
        ) from error
    return act


def _root(graph: nx.DiGraph[str], shown: str) -> str:
    tops = [id for id in graph if graph.out_degree(id) == 0]
    named = [id for id, kind in graph.nodes(data="kind") if kind == "hypothesis"]
    found = named or tops
    if len(found) != 1 or found[0] not in tops:
        raise FormatError(
            "expected one hypothesis: a node of kind 'hypothesis', or the only one without an edge to "
            f"another, found {len(found)}: {', '.join(sorted(found)[:5]) or 'none'}",
            source=shown,
        )
    for id in graph:
        if graph.out_degree(id) > 1:
            raise FormatError(
                f"expected each node to explain one other, found that {id!r} explains "
                f"{', '.join(sorted(graph.successors(id)))}; give it a node for each",
                source=shown,
            )
    return str(found[0])


def _nodes(graph: nx.DiGraph[str], root: str, shown: str) -> tuple[GivenNode, ...]:
    tops: list[tuple[str, int | None]] = [
        (id, None) for id in graph if graph.out_degree(id) == 0 and id != root
    ]
    stack = [*reversed(tops), *((id, -1) for id in reversed(_below(graph, root)))]
    nodes: list[GivenNode] = []
    while stack:
        id, parent = stack.pop()
        about = graph.nodes[id]
        key, label = about.get("key"), about.get("sentence_id")
        nodes.append(
            GivenNode(
                _text(graph, id, shown),
                parent,
                label=str(label) if label else None,
                key=str(key) if key else None,
            )
        )
        stack += [(child, len(nodes) - 1) for child in reversed(_below(graph, id))]
    if len(nodes) + 1 != len(graph):
        raise FormatError("expected a tree, found nodes that explain each other in a circle", source=shown)
    return tuple(nodes)


def _below(graph: nx.DiGraph[str], id: str) -> list[str]:
    def place(child: str) -> float:
        order = graph.nodes[child].get("order", 0)
        return order if isinstance(order, int | float) else 0

    return sorted(graph.predecessors(id), key=place)


def _text(graph: nx.DiGraph[str], id: str, shown: str) -> str:
    about = graph.nodes[id]
    text = about.get("text", about.get("label"))  # what other programs call it
    if not isinstance(text, str) or not text.strip():
        raise FormatError(f"expected a text on node {id!r}, found {text!r}", source=shown, field="text")
    return text


def _source(graph: nx.DiGraph[str], shown: str) -> dict[str, Any]:
    try:
        source = json.loads(graph.graph.get("source", "{}"))
    except (TypeError, ValueError):
        source = None
    if not isinstance(source, dict):
        raise FormatError("expected a JSON object, found something else", source=shown, field="source")
    return source
