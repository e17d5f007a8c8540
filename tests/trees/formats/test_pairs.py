"""Parent-child pairs as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from entail.trees.formats import to_pairs_csv
from entail.trees.formats.entailment_bank import grow
from entail.trees.formats.text import escape_cell
from entail.trees.log.acts import Create, GivenNode
from entail.trees.log.tree import Tree


def test_one_line_for_each_premise_of_each_node(story: Any) -> None:
    other = grow(Create(hypothesis="h", nodes=(GivenNode("l", None), GivenNode("m", 0))))
    assert to_pairs_csv({"1": story.history.tree, "2": other}) == (
        "tree,parent,child,parent_kind,child_kind\n"
        "1,snow is cold,snow is ice,hypothesis,intermediate\n"
        "1,snow is ice,ice is frozen,intermediate,intermediate\n"
        "1,ice is frozen,water freezes,intermediate,premise\n"
        "2,l,m,intermediate,premise\n"
    )


def test_nasty_texts_stay_in_their_cells(nasty: Tree) -> None:
    rows = [*csv.DictReader(io.StringIO(to_pairs_csv({"=t": nasty}), newline=""))]
    edges = [(node.text, nasty.nodes[child].text) for node in nasty.nodes.values() for child in node.children]
    expected = sorted((escape_cell(parent), escape_cell(child)) for parent, child in edges)
    assert sorted((row["parent"], row["child"]) for row in rows) == expected
    assert {row["tree"] for row in rows} == {"'=t"}
    assert {len(row) for row in rows} == {5}
    assert "'=HYPERLINK(1)" in {row["child"] for row in rows} | {row["parent"] for row in rows}
