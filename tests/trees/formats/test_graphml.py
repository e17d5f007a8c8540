"""GraphML, out and back in."""

from __future__ import annotations

import re
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.entailment_bank.proof import MAX_NODES
from entail.data.entailment_bank.trees import row_to_tree
from entail.data.records import Corpus, Premise
from entail.errors import FormatError
from entail.trees.formats import from_graphml, to_graphml
from entail.trees.formats.entailment_bank import grow, refold, unfold
from entail.trees.formats.text import printable
from entail.trees.log.acts import Create, GivenNode
from entail.trees.log.rules import check_create
from entail.trees.log.tree import Tree


def test_an_official_row_comes_back_whole() -> None:
    row = row_to_tree(
        {
            "id": "r1",
            "hypothesis": "snow is cold",
            "question": "why?",
            "proof": "sent1 -> int1: a; sent2 & sent2 -> int2: b; sent3 & int1 & sent1 -> hypothesis; ",
            "meta": {"triples": {f"sent{i}": f"text {i}" for i in (1, 2, 3, 4)}, "core_concepts": ["<x>"]},
        }
    )
    act = unfold(row)
    assert from_graphml(to_graphml(grow(act)).encode()) == act
    assert refold(grow(from_graphml(to_graphml(grow(act)).encode()))) == row


def test_a_premise_with_a_form_feed_keeps_its_key() -> None:
    premise = Premise("\x0cfire is\x0b hot")
    corpus = Corpus.of("pdf", [premise])
    nodes = (GivenNode(premise.text, -1, None, premise.key),)
    tree = grow(Create(hypothesis="it burns", nodes=nodes))
    for over in (corpus, None):
        (node,) = from_graphml(to_graphml(tree).encode(), corpus=over).nodes
        assert (node.key, Premise(node.text).key) == (premise.key, premise.key)


def test_a_sentence_that_another_program_changed_is_an_own_statement() -> None:
    facts = [Premise("fire is hot"), Premise("ice is cold")]
    tree = grow(Create(hypothesis="h", nodes=tuple(GivenNode(p.text, -1, None, p.key) for p in facts)))
    act = from_graphml(to_graphml(tree).replace("fire is hot", "fire burns").encode())
    check_create(act)
    assert [(node.text, node.key) for node in act.nodes] == [
        ("fire burns", None),
        ("ice is cold", facts[1].key),
    ]


@st.composite
def begun(draw: st.DrawFn) -> Create:
    texts = st.text(min_size=1).filter(lambda text: text.strip() and "\0" not in text)
    nodes = tuple(
        GivenNode(draw(texts), draw(st.sampled_from([-1, None, *range(i)])))
        for i in range(draw(st.integers(0, 8)))
    )
    return Create(hypothesis=draw(texts), nodes=nodes)


@given(begun())
def test_any_tree_comes_back_with_its_order(act: Create) -> None:
    def shape(tree: Tree) -> list[tuple[str, int, tuple[int, ...]]]:
        nodes = [*tree.walk()]
        positions = {node.id: i for i, node in enumerate(nodes)}
        return [
            (
                re.sub("\r\n?", "\n", printable(node.text)),
                positions[node.parent] if node.parent else -1,
                tuple(positions[child] for child in node.children),
            )
            for node in nodes
        ]

    tree = grow(act)
    assert shape(grow(from_graphml(to_graphml(tree).encode()))) == shape(tree)


def graphml(
    nodes: dict[str, dict[str, Any]], *edges: tuple[str, str], kind: type[Any] = nx.DiGraph, **of: Any
) -> bytes:
    graph = kind(**of)
    for id, about in nodes.items():
        graph.add_node(id, **about)
    graph.add_edges_from(edges)
    return "\n".join(nx.generate_graphml(graph)).encode()


def test_a_file_of_another_program_is_read_by_its_labels() -> None:
    file = graphml({"a": {"label": "h"}, "b": {"label": "p"}, "c": {"label": "q"}}, ("b", "a"), ("c", "a"))
    assert from_graphml(file) == Create(hypothesis="h", nodes=(GivenNode("p", -1), GivenNode("q", -1)))


TEXTS = {id: {"text": id} for id in "abc"}


@pytest.mark.parametrize(
    "file",
    [
        b"id,text\n1,ice\n",
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><graphml/>',
        graphml(TEXTS, ("a", "b"), kind=nx.Graph),
        graphml({"a": {"text": "h"}, "b": {"text": "p"}}),
        graphml({"a": {"text": "h", "kind": "hypothesis"}, "b": {"text": "p"}}, ("a", "b")),
        graphml(TEXTS, ("c", "b"), ("c", "a"), ("b", "a")),
        graphml(TEXTS, ("b", "c"), ("c", "b")),
        graphml({"a": {"colour": "red"}}),
        graphml({"a": {"text": 7}}),
        graphml({"a": {"text": "h"}}, source="[]"),
        graphml({"a": {"text": "h"}}, source='{"format": "entailment_bank", "sentences": 7}'),
        graphml({str(n): {"label": "x"} for n in range(MAX_NODES + 2)}),
    ],
    ids=[
        *("no XML", "document type", "undirected", "two tops", "hypothesis below another", "two conclusions"),
        *("circle", "no text", "number as text", "source no object", "source of no row", "too many"),
    ],
)
def test_what_is_no_tree_is_refused(file: bytes) -> None:
    with pytest.raises(FormatError, match=r"^trees\.graphml"):
        from_graphml(file, name="trees.graphml")
