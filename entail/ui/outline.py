"""The tree as an indented list, within reach of the keyboard and of screen readers."""

from __future__ import annotations

import streamlit as st

from entail.trees.tree import ROOT, Node, Tree
from entail.ui.commands import Command
from entail.ui.screen import Desk
from entail.ui.words import label

ICONS = {
    "hypothesis": ":red[:material/flag:]",
    "intermediate": ":blue[:material/call_merge:]",
    "premise": ":green[:material/article:]",
}
_DEEPEST = 8


def draw_outline(desk: Desk, *, find: str = "") -> None:
    """Draw the nodes depth first; those that hold the words of `find` only, when there are any."""
    tree = desk.history.tree
    _branch(desk, tree, ROOT, find)
    if tree.loose:
        st.caption("Not connected: conclusions that nothing above uses yet (move them with key m)")
        for start in tree.loose:
            _branch(desk, tree, start, find)


def _branch(desk: Desk, tree: Tree, start: str, find: str) -> None:
    base = len(tree.ancestors(start))
    for node in tree.walk(start):
        if find and find.lower() not in node.text.lower():
            continue
        depth = min(len(tree.ancestors(node.id)) - base, _DEEPEST)
        _line(desk, tree, node, depth)


def _line(desk: Desk, tree: Tree, node: Node, depth: int) -> None:
    selected = node.id == desk.screen.selected
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if depth:
            st.space(22 * depth)
        st.button(
            f"{ICONS[node.kind]} {label(node.text)}" + (_state(tree, node)),
            key=f"outline-{desk.screen.tree_id}-{node.id}",
            type="secondary" if selected else "tertiary",
            on_click=desk.run,
            args=(Command("select", node.id),),
            wrap=True,
            help=f"{node.kind.capitalize()} {node.id}, by {label(node.author)}",
        )


def _state(tree: Tree, node: Node) -> str:
    if node.id in tree.finished:
        return " :gray[:material/done_all:]"
    if node.kind == "intermediate" and not node.children:
        return " :orange[(no premises yet)]"
    return ""
