"""Trees as DOT for Graphviz, and as GraphML for networkx, Gephi, yEd and the like, and back.

In GraphML an edge goes from a premise to its conclusion, as an arrow of a proof does. Nodes have `text`,
`kind` (`hypothesis`, `intermediate`, `premise`, `rejected`), `judgement` (`accepted`, `rejected`; absent
without one), `author`, `origin`, `sentence_id` (its id in an imported row), `key` and `order` (position among
the premises of its parent).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from entail.data.entailment_bank.proof import MAX_NODES
from entail.data.reading import Source, read_text, source_name
from entail.data.records import Corpus
from entail.data.stored import parse_as
from entail.data.text import premise_key
from entail.errors import FormatError
from entail.trees.formats.entailment_bank import depth_first, grow, refold
from entail.trees.formats.text import printable
from entail.trees.layout.appearance import FONT_SIZE, LIGHT, SHAPES
from entail.trees.layout.drawing import rejected_id
from entail.trees.layout.positions import layout
from entail.trees.log.acts import Create, GivenNode
from entail.trees.log.tree import Tree

if TYPE_CHECKING:
    import networkx as nx


def to_dot(tree: Tree) -> str:
    """Return a tree as DOT; `dot -Tpdf` draws it with the hypothesis on top.

    Edges go from a premise to what it explains; premises keep their order; labels are wrapped.
    """
    graph = {"fontname": "sans-serif", "rankdir": "BT", "ordering": "in", "charset": "utf8", "labelloc": "t"}
    graph |= {"label": tree.root.text, "fontcolor": LIGHT.text, "bgcolor": LIGHT.background}
    lines = [
        "digraph explanation {",
        f"  graph {_attributes(graph)};",
        f"  node {_attributes({'fontname': 'sans-serif', 'fontsize': FONT_SIZE, 'penwidth': 2})};",
        f"  edge {_attributes({'color': LIGHT.edge})};",
    ]
    drawing = layout(tree)
    for id, box in drawing.boxes.items():
        shape, look = SHAPES[box.kind], LIGHT.looks[box.kind]
        style = "filled,rounded" if shape == "rounded" else "filled"
        about = {"shape": "box", "peripheries": 2 if shape == "double" else 1, "style": style}
        about |= {"fillcolor": look.fill, "color": look.border, "fontcolor": look.text}
        lines.append(f"  {quote_dot(id)} {_attributes({**about, 'label': chr(10).join(box.lines)})};")
    lines += [f"  {quote_dot(child)} -> {quote_dot(parent)};" for parent, child in drawing.edges]
    return "\n".join((*lines, "}", ""))


def _attributes(values: Mapping[str, object]) -> str:
    return f"[{', '.join(f'{name}={quote_dot(str(value))}' for name, value in values.items())}]"


def quote_dot(text: str) -> str:
    r"""Return the text as a quoted DOT string.

    Graphviz interprets backslash sequences and HTML entities in labels, so `\` and `&` are escaped, too.

    >>> print(quote_dot('a "b" \\N &lt;'))
    "a \"b\" \\N &amp;lt;"
    """
    escaped = printable(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"\r\n|\r|\n", r"\\n", escaped) + '"'


def to_graphml(tree: Tree) -> str:
    """Return a tree as GraphML; rejected premises are nodes with an edge to their node."""
    import networkx as nx

    graph = nx.DiGraph(source=json.dumps(dict(tree.source)))
    accepted = {judgement.seq for judgement in tree.judgements.values() if judgement.accepted}
    for node in tree.walk():
        about = {
            "text": printable(node.text),
            "kind": node.kind,
            "judgement": "accepted" if node.seq in accepted and node.origin == "accept" else None,
            "author": printable(node.author),
            "origin": node.origin,
            "sentence_id": node.label,
            "key": node.key,
            "order": tree.nodes[node.parent].children.index(node.id) if node.parent else 0,
        }
        graph.add_node(node.id, **{name: value for name, value in about.items() if value is not None})
        if node.parent is not None:
            graph.add_edge(node.id, node.parent, relation="explains")
    for (node_id, key), judgement in tree.judgements.items():
        if not judgement.accepted:
            box, text = rejected_id(node_id, key), printable(judgement.premise.text)
            about = {"kind": "rejected", "judgement": "rejected", "author": printable(judgement.author)}
            graph.add_node(box, text=text, **about, key=key)
            graph.add_edge(box, node_id, relation="rejected")
    lines = nx.generate_graphml(graph, named_key_ids=True)
    return "\n".join(('<?xml version="1.0" encoding="utf-8"?>', *lines, ""))


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

    text, file_name = read_text(source, name=name), source_name(source, name)
    fail = partial(FormatError, source=file_name)
    if "<!DOCTYPE" in text:  # entities can be declared nowhere else
        raise fail("expected GraphML without a document type, found one; take it out")
    try:
        graph = nx.parse_graphml(text.partition("?>")[2] if text.startswith("<?xml") else text)
    except Exception as error:  # networkx lets through whatever its XML parser and its casts raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise fail(f"expected GraphML, found something else ({reason})") from error
    if not graph.is_directed() or graph.is_multigraph():
        raise fail("expected directed edges from premises to conclusions, at most one between two nodes")
    graph.remove_nodes_from([id for id, kind in graph.nodes(data="kind") if kind == "rejected"])
    if len(graph) > MAX_NODES:
        raise fail(f"expected up to {MAX_NODES:,} nodes, found {len(graph):,}")
    if shared := [id for id in graph if graph.out_degree(id) > 1]:
        conclusions = ", ".join(sorted(graph.successors(shared[0])))
        raise fail(
            f"expected each node to explain one other, found that {shared[0]!r} explains {conclusions}; "
            "give it a node for each"
        )
    texts = {id: about.get("text", about.get("label")) for id, about in graph.nodes.items()}
    for id, content in texts.items():
        if not isinstance(content, str) or not content.strip():
            raise fail(f"expected a text on node {id!r}, found {content!r}", field="text")
    tops = [id for id in graph if graph.out_degree(id) == 0]
    roots = [id for id, kind in graph.nodes(data="kind") if kind == "hypothesis"] or tops
    if len(roots) != 1 or roots[0] not in tops:
        raise fail(
            "expected one hypothesis: a node of kind 'hypothesis', or the only one without an edge to "
            f"another, found {len(roots)}: {', '.join(sorted(roots)[:5]) or 'none'}"
        )
    root = roots[0]
    nodes: list[GivenNode] = []
    for id, parent in depth_first(root, [id for id in tops if id != root], partial(_below, graph)):
        about, text = graph.nodes[id], texts[id]
        key, label = about.get("key"), about.get("sentence_id")
        if corpus is not None:
            key = premise_key(text) if corpus.position(text) is not None else None
        elif key != premise_key(text):  # edited by another program: an own statement
            key = None
        nodes.append(GivenNode(text, parent, str(label) if label else None, key))
    if len(nodes) + 1 != len(graph):
        raise fail("expected a tree, found nodes that explain each other in a circle")
    try:
        imported = parse_as(dict[str, Any], str(graph.graph.get("source", "{}")))
        act = Create(hypothesis=texts[root], nodes=tuple(nodes), source=imported)
        refold(grow(act))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise fail(
            "expected what `entail` wrote about the imported row, or nothing", field="source"
        ) from error
    return act


def _below(graph: nx.DiGraph[str], id: str) -> list[str]:
    def order_of(child: str) -> float:
        order = graph.nodes[child].get("order", 0)
        return order if isinstance(order, int | float) else 0

    return sorted(graph.predecessors(id), key=order_of)
