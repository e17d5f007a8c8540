"""Dialogs of the authoring screen."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from entail.data.text import count_of, quote
from entail.trees.log.acts import Act, Conclude, Edit, Move, Remove, Write
from entail.trees.log.tree import ROOT, Node
from entail.trees.review.commands import KEYS
from entail.ui.frame.author import ask_name, read_author
from entail.ui.shared.resources import workspace
from entail.ui.shared.text import label
from entail.ui.trees.page import TreePage
from entail.ui.trees.screen import close_dialogs


def open_dialog(name: str, page: TreePage) -> None:
    """Open the dialog of this name, if there is one."""
    if name in _DIALOGS:
        _DIALOGS[name](page)


def _act(page: TreePage, act: Act) -> None:
    """Save an act and close the dialog; draw the reason where it cannot be saved."""
    screen, recovery = page.screen, page.screen.recovery
    if page.act(act):
        screen.dialog = None
        screen.sent += 1
        st.rerun()
    if screen.unnamed is not None:  # the dialog for the name opens, and saves the act
        st.rerun()
    if screen.notice is None:
        return
    if screen.recovery != recovery:  # nothing to try again here: the page offers what can be done
        screen.dialog = None
        st.rerun()
    kind, words = screen.notice
    screen.notice = None
    if kind == "locked":
        st.warning(label(words), icon=":material/lock_clock:")
        return
    st.error(label(words))
    if kind == "conflict":  # a retry is based on the newest version, which the message shows
        st.caption("Your input is kept. Try again if it still applies.")


def _shorten(node: Node) -> str:
    return quote(node.text, longest=90)


@st.dialog("Write a premise", on_dismiss=close_dialogs)
def _write(page: TreePage) -> None:
    node = page.node
    st.caption(f"Below {label(_shorten(node))}")
    with st.form("write", border=False):
        key = f"write-{page.screen.tree_id}-{page.screen.sent}"
        text = st.text_area("Statement", max_chars=2000, placeholder="One sentence", key=key)
        if st.form_submit_button("Write", type="primary"):
            _act(page, Write(node=node.id, text=text.strip()))


@st.dialog("Add an intermediate conclusion", width="medium", on_dismiss=close_dialogs)
def _conclude(page: TreePage) -> None:
    tree, node = page.tree, page.node
    # At a premise, the conclusion is among it and its siblings.
    below = node.parent is not None and (not node.children or page.screen.goal == node.parent)
    over = tree.nodes[node.parent] if node.parent is not None and below else node
    children = [tree.nodes[child] for child in over.children]
    st.caption(f"Below {label(_shorten(over))}")
    if not children:
        st.info("Accept or write premises first, then combine them.")
        return
    with st.form("conclude", border=False):
        st.markdown("**From**")
        premise_ids = [
            child.id
            for child in children
            if st.checkbox(label(child.text), value=child.id == node.id, key=f"conclude-{child.id}")
        ]
        key = f"conclude-{page.screen.tree_id}-{page.screen.sent}"
        text = st.text_area("it follows that", max_chars=2000, placeholder="One sentence", key=key)
        if st.form_submit_button("Conclude", type="primary"):
            _act(page, Conclude(node=over.id, premises=tuple(premise_ids), text=text.strip()))


@st.dialog("Edit the sentence", on_dismiss=close_dialogs)
def _edit(page: TreePage) -> None:
    node = page.node
    with st.form("edit", border=False):
        text = st.text_area("Sentence", value=node.text, max_chars=max(2000, len(node.text)))
        if node.key is not None:
            st.caption(
                "This premise is from the corpus. An edited one is your own statement; the corpus is "
                "unchanged."
            )
        if st.form_submit_button("Save", type="primary"):
            _act(page, Edit(node=node.id, text=text.strip()))


@st.dialog("Move the node under another", width="medium", on_dismiss=close_dialogs)
def _move(page: TreePage) -> None:
    tree, node = page.tree, page.node
    excluded = {node.id, node.parent, *(other.id for other in tree.descendants(node.id))}
    goal = page.screen.goal
    targets = [other for other in tree.nodes.values() if other.id not in excluded or other.id == goal]
    if node.id == ROOT or not targets:
        st.info("There is no other node to move it to.")
        return
    with st.form("move", border=False):
        st.caption(label(_shorten(node)))
        first = next((at for at, other in enumerate(targets) if other.id == goal), 0)
        target = st.selectbox("Under", targets, index=first, format_func=_shorten)
        if st.form_submit_button("Move", type="primary"):
            _act(page, Move(node=node.id, parent=target.id))


@st.dialog("Remove the node", on_dismiss=close_dialogs)
def _remove(page: TreePage) -> None:
    tree, node = page.tree, page.node
    if node.id == ROOT:
        st.info("The hypothesis cannot be removed. Edit it, or archive the tree on Home.")
        return
    below = len(tree.descendants(node.id))
    st.caption(label(_shorten(node)))
    with st.form("remove", border=False):
        keep = False
        if below:
            choices = ("Delete them too", "Keep and move up")
            keep = st.radio(f"{count_of(below, 'node')} below it", choices) == choices[1]
        if st.form_submit_button("Remove", type="primary"):
            _act(page, Remove(node=node.id, keep_premises=keep))
    st.caption("Press U to undo.")


@st.dialog("Search with your own words", on_dismiss=close_dialogs)
def _search(page: TreePage) -> None:
    with st.form("search", border=False):
        words = st.text_input("Words", value=page.screen.query or "", max_chars=1000)
        st.caption("Recorded with your judgements. Leave empty to search with the node's text.")
        if st.form_submit_button("Search", type="primary"):
            page.screen.search(words)
            page.screen.dialog = None
            st.rerun()


@st.dialog("Keys", on_dismiss=close_dialogs)
def _keys(page: TreePage) -> None:
    del page
    st.markdown("\n".join(["| key | does |", "|---|---|", *(f"| `{key}` | {does} |" for key, does in KEYS)]))
    st.caption(
        "Keys are off while you type. In the graph, click to select, double-click to expand, and drag a box "
        "onto another to move it there."
    )


@st.dialog("Your name", on_dismiss=close_dialogs)
def _name(page: TreePage) -> None:
    st.caption("Every edit is saved with its author's name.")
    ask_name("dialog")
    if read_author(workspace().authors):
        page.resume()
        st.rerun()


_DIALOGS: dict[str, Callable[[TreePage], None]] = {
    "write": _write,
    "conclude": _conclude,
    "edit": _edit,
    "move": _move,
    "remove": _remove,
    "search": _search,
    "keys": _keys,
    "name": _name,
}
