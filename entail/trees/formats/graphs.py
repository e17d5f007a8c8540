"""Trees as DOT for Graphviz, and as GraphML for networkx, Gephi, yEd and the like, and back.

In GraphML an edge goes from a premise to its conclusion, as an arrow of a proof does. Nodes have `text`,
`kind` (`hypothesis`, `intermediate`, `premise`, `rejected`), `judgement` (`accepted`, `rejected`; absent
without one), `author`, `origin`, `sentence_id` (its id in an imported row), `key` and `order` (position among
the premises of its parent).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from entail.data.entailment_bank.proof import MAX_NODES
from entail.data.reading import Source, read_text, source_name
from entail.data.records import Corpus
from entail.data.stored import parse_as
from entail.data.text import premise_key
from entail.errors import FormatError
from entail.trees.formats.entailment_bank import grow, refold
from entail.trees.formats.text import printable, quote_dot
from entail.trees.layout.appearance import FONT_SIZE, LIGHT, SHAPES
from entail.trees.layout.drawing import rejected_id
from entail.trees.layout.positions import layout
from entail.trees.log.acts import Create, GivenNode
from entail.trees.log.tree import Node, Tree

if TYPE_CHECKING:
    import networkx as nx


_STYLES = {"double": "filled", "rounded": "filled,rounded", "rectangle": "filled", "dashed": "filled,dashed"}


def to_dot(tree: Tree, *, with_rejected: bool = False) -> str:
    """Return a tree as DOT; `dot -Tpdf` draws it with the hypothesis on top.

    Edges go from a premise to what it explains; premises keep their order; labels are wrapped.
    """
    lines = [
        "digraph explanation {",
        '  graph [fontname="sans-serif", rankdir=BT, ordering=in, charset=utf8, '
        f"label={quote_dot(tree.root.text)}, labelloc=t, fontcolor={quote_dot(LIGHT.text)}, "
        f"bgcolor={quote_dot(LIGHT.background)}];",
        f'  node [fontname="sans-serif", fontsize={FONT_SIZE}, penwidth=2];',
        f"  edge [color={quote_dot(LIGHT.edge)}];",
    ]
    drawing = layout(tree, with_rejected=with_rejected)
    for id, box in drawing.boxes.items():
        shape, look = SHAPES[box.kind], LIGHT.looks[box.kind]
        wrapped = "\n".join(box.lines)
        lines.append(
            f"  {quote_dot(id)} [shape=box, peripheries={2 if shape == 'double' else 1}, "
            f"style={quote_dot(_STYLES[shape])}, fillcolor={quote_dot(look.fill)}, "
            f"color={quote_dot(look.border)}, fontcolor={quote_dot(look.text)}, "
            f"label={quote_dot(wrapped)}];"
        )
    for parent, child in drawing.edges:
        dotted = " [style=dotted, arrowhead=none]" if drawing.boxes[child].kind == "rejected" else ""
        lines.append(f"  {quote_dot(child)} -> {quote_dot(parent)}{dotted};")
    return "\n".join((*lines, "}", ""))


def to_graphml(tree: Tree, *, with_rejected: bool = True) -> str:
    """Return a tree as GraphML; rejected premises are nodes with an edge to their node."""
    import networkx as nx

    graph = nx.DiGraph(source=json.dumps(dict(tree.source)))
    accepted = {judgement.seq for judgement in tree.judgements.values() if judgement.accepted}
    for node in tree.walk():
        graph.add_node(node.id, **_about(tree, node, accepted=node.seq in accepted))
        if node.parent is not None:
            graph.add_edge(node.id, node.parent, relation="explains")
    for (node_id, key), judgement in tree.judgements.items() if with_rejected else ():
        if not judgement.accepted:
            box, text = rejected_id(node_id, key), printable(judgement.premise.text)
            about = {"kind": "rejected", "judgement": "rejected", "author": printable(judgement.author)}
            graph.add_node(box, text=text, **about, key=key)
            graph.add_edge(box, node_id, relation="rejected")
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


def from_graphml(source: Source, *, name: str | None = None, corpus: Corpus | None = None) -> Create:
    """Return the act that creates the tree of a GraphML file.

    With a corpus, the premises of it have their keys, as in `unfold`; else the nodes have those of the file
    that fit their texts.

    Files of other programs are read if each node has a `text` (or `label`) and edges go from premises to
    their one conclusion. The hypothesis is the node of kind `hypothesis`, else the only one without an edge
    to another. Rejected premises are left out, since the file does not have their evidence.

    Raises:
        FormatError: If the file is no GraphML, or its graph is no tree.
    """
    import networkx as nx

    file_name = source_name(source, name)
    text = read_text(source, name=name)
    if "<!DOCTYPE" in text:  # entities can be declared nowhere else
        raise FormatError(
            "expected GraphML without a document type, found one; take it out", source=file_name
        )
    try:
        graph = nx.parse_graphml(text.partition("?>")[2] if text.startswith("<?xml") else text)
    except Exception as error:  # networkx lets through whatever its XML parser and its casts raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"expected GraphML, found something else ({reason})", source=file_name) from error
    if not graph.is_directed() or graph.is_multigraph():
        raise FormatError(
            "expected directed edges from premises to what they explain, at most one between two nodes",
            source=file_name,
        )
    graph.remove_nodes_from([id for id, kind in graph.nodes(data="kind") if kind == "rejected"])
    root = _root(graph, file_name)
    act = Create(
        hypothesis=_text(graph, root, file_name),
        nodes=_nodes(graph, root, file_name, corpus),
        source=_source(graph, file_name),
    )
    try:
        refold(grow(act))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise FormatError(
            "expected what `entail` wrote about the imported row, or nothing",
            source=file_name,
            field="source",
        ) from error
    return act


def _root(graph: nx.DiGraph[str], file_name: str) -> str:
    tops = [id for id in graph if graph.out_degree(id) == 0]
    named = [id for id, kind in graph.nodes(data="kind") if kind == "hypothesis"]
    roots = named or tops
    if len(roots) != 1 or roots[0] not in tops:
        raise FormatError(
            "expected one hypothesis: a node of kind 'hypothesis', or the only one without an edge to "
            f"another, found {len(roots)}: {', '.join(sorted(roots)[:5]) or 'none'}",
            source=file_name,
        )
    for id in graph:
        if graph.out_degree(id) > 1:
            raise FormatError(
                f"expected each node to explain one other, found that {id!r} explains "
                f"{', '.join(sorted(graph.successors(id)))}; give it a node for each",
                source=file_name,
            )
    return str(roots[0])


def _nodes(graph: nx.DiGraph[str], root: str, file_name: str, corpus: Corpus | None) -> tuple[GivenNode, ...]:
    if len(graph) > MAX_NODES:
        raise FormatError(f"expected up to {MAX_NODES:,} nodes, found {len(graph):,}", source=file_name)
    loose = [id for id in graph if graph.out_degree(id) == 0 and id != root]
    stack: list[tuple[str, int | None]] = [(id, None) for id in reversed(loose)]
    stack += [(id, -1) for id in reversed(_below(graph, root))]
    nodes: list[GivenNode] = []
    while stack:
        id, parent = stack.pop()
        about, text = graph.nodes[id], _text(graph, id, file_name)
        key, label = about.get("key"), about.get("sentence_id")
        if corpus is not None:
            key = premise_key(text) if corpus.position(text) is not None else None
        elif key != premise_key(text):  # edited by another program: an own statement
            key = None
        nodes.append(GivenNode(text, parent, str(label) if label else None, str(key) if key else None))
        stack += [(child, len(nodes) - 1) for child in reversed(_below(graph, id))]
    if len(nodes) + 1 != len(graph):
        raise FormatError(
            "expected a tree, found nodes that explain each other in a circle", source=file_name
        )
    return tuple(nodes)


def _below(graph: nx.DiGraph[str], id: str) -> list[str]:
    def order_of(child: str) -> float:
        order = graph.nodes[child].get("order", 0)
        return order if isinstance(order, int | float) else 0

    return sorted(graph.predecessors(id), key=order_of)


def _text(graph: nx.DiGraph[str], id: str, file_name: str) -> str:
    about = graph.nodes[id]
    text = about.get("text", about.get("label"))  # what other programs call it
    if not isinstance(text, str) or not text.strip():
        raise FormatError(f"expected a text on node {id!r}, found {text!r}", source=file_name, field="text")
    return text


def _source(graph: nx.DiGraph[str], file_name: str) -> dict[str, Any]:
    try:
        return parse_as(dict[str, Any], str(graph.graph.get("source", "{}")))
    except ValueError as error:
        raise FormatError(
            f"expected a JSON object, found something else ({error})", source=file_name, field="source"
        ) from error
