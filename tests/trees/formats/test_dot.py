"""DOT for Graphviz."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from entail.trees.formats import to_dot
from entail.trees.formats.text import printable
from entail.trees.layout.appearance import LIGHT
from entail.trees.log.tree import Tree

_STRING = r'"((?:[^"\\\n]|\\[^\n])*)"'
_NODE = re.compile(rf"  {_STRING} \[(.*)\];")
_EDGE = re.compile(rf"  {_STRING} -> {_STRING}( \[style=dotted, arrowhead=none\])?;")
_ATTRIBUTE = re.compile(rf"(\w+)=(?:{_STRING}|(\w+))(?:, |$)")


def read(string: str) -> str:
    """Return what Graphviz draws for the inside of a quoted string."""
    lines = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], string)
    return lines.replace("&amp;", "&")


def attributes(text: str) -> dict[str, str]:
    """Read `a=b, c="d"`, all of it or fail."""
    matches = [*_ATTRIBUTE.finditer(text)]
    assert "".join(match[0] for match in matches) == text
    return {match[1]: read(match[2]) if match[3] is None else match[3] for match in matches}


def parse(dot: str) -> tuple[dict[str, dict[str, str]], dict[tuple[str, str], bool]]:
    """Read the DOT we write, every line of it: (id -> attributes, (from, to) -> dotted)."""
    first, *lines, last = dot.removesuffix("\n").split("\n")
    assert (first, last) == ("digraph explanation {", "}")
    nodes: dict[str, dict[str, str]] = {}
    edges: dict[tuple[str, str], bool] = {}
    for line in lines[3:]:
        if edge := _EDGE.fullmatch(line):
            edges[edge[1], edge[2]] = edge[3] is not None
        else:
            node = _NODE.fullmatch(line)
            assert node, line
            nodes[node[1]] = attributes(node[2])
    for line, kind in zip(lines, ("graph", "node", "edge"), strict=False):
        match = re.fullmatch(rf"  {kind} \[(.*)\];", line)
        assert match, line
        nodes[kind] = attributes(match[1])
    return nodes, edges


def test_kinds_differ_in_shape_and_colour_and_edges_point_up(story: Any) -> None:
    assert len(parse(to_dot(story.tree))[1]) == 3
    nodes, edges = parse(to_dot(story.tree, with_rejected=True))
    assert nodes["graph"]["rankdir"] == "BT"
    assert nodes["graph"]["label"] == "snow is cold"
    looks = {
        id: tuple(about.get(name) for name in ("peripheries", "style", "fillcolor"))
        for id, about in nodes.items()
    }
    rejected = next(id for id in nodes if "!" in id)
    assert looks["n1"] == ("2", "filled", LIGHT.looks["hypothesis"].fill)
    assert looks["n2"] == ("1", "filled,rounded", LIGHT.looks["intermediate"].fill)
    assert looks["n4"] == ("1", "filled", LIGHT.looks["premise"].fill)
    assert looks[rejected] == ("1", "filled,dashed", LIGHT.looks["rejected"].fill)
    assert edges == {("n2", "n1"): False, ("n3", "n2"): False, ("n4", "n3"): False, (rejected, "n1"): True}


def words(text: str) -> str:
    return printable("".join(text.split()))


def test_nasty_texts_are_text(nasty: Tree) -> None:
    nodes, _ = parse(to_dot(nasty, with_rejected=True))
    for node in nasty.nodes.values():
        assert words(nodes[node.id]["label"]) == words(node.text)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_these_very_words(nasty: Tree) -> None:
    done = subprocess.run(["dot", "-Tsvg"], input=to_dot(nasty), capture_output=True, text=True, check=True)
    svg = ET.fromstring(done.stdout)
    space = "{http://www.w3.org/2000/svg}"
    groups = [[text.text or "" for text in group.iter(f"{space}text")] for group in svg.iter(f"{space}g")]
    labels = {words("".join(texts)) for texts in groups}
    assert {words(node.text) for node in nasty.nodes.values()} <= labels
