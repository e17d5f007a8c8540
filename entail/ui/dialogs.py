"""The small windows of the authoring screen: what needs more than a key."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from entail.trees.acts import Conclude, Edit, Move, Remove, Write
from entail.trees.tree import ROOT, Node
from entail.trees.wording import quote
from entail.ui.author import DIALOG, answered, ask_name
from entail.ui.commands import KEYS
from entail.ui.resources import workspace
from entail.ui.screen import Desk
from entail.ui.words import label


def _forget() -> None:
    """Take note that a dialog was dismissed, so that the next run does not open it again."""
    for screen in st.session_state.get("screens", {}).values():
        screen.dialog = None


def open_dialog(name: str, desk: Desk) -> None:
    """Open the dialog of this name; a name that is not known opens nothing."""
    draw = _DIALOGS.get(name)
    if draw is not None:
        draw(desk)


def _close_after(done: bool, desk: Desk) -> None:
    """Close the dialog once its act is in the log; otherwise leave it open, with what stood in the way."""
    if done:
        desk.screen.dialog = None
        st.rerun()
    if desk.screen.notice and desk.screen.notice[0] == "locked":
        st.warning(label(desk.screen.notice[1]), icon=":material/lock_clock:")
        desk.screen.notice = None
    elif desk.screen.notice:
        st.error(label(desk.screen.notice[1]))
        if desk.screen.notice[0] == "conflict":
            # The page below stands still while a dialog is open: what was just said is what is known now,
            # and the same act again, with the words typed, is based on it.
            desk.screen.seen = desk.log.summary(desk.screen.tree_id).seq
            st.caption("What you typed is kept: do it again if it still holds.")
        # It was said here; the page need not say it again.
        desk.screen.notice = None


def _shorten(node: Node) -> str:
    return quote(node.text, longest=90)


@st.dialog("Write a premise of your own", on_dismiss=_forget)
def _write(desk: Desk) -> None:
    node = desk.history.tree.node(desk.screen.selected)
    st.caption(f"It will stand below {label(_shorten(node))}")
    with st.form("write", border=False):
        text = st.text_area("Statement", max_chars=2000, placeholder="One sentence")
        if st.form_submit_button("Write", type="primary"):
            _close_after(desk.act(Write(node=node.id, text=text.strip())), desk)


@st.dialog("Draw an intermediate conclusion", width="medium", on_dismiss=_forget)
def _conclude(desk: Desk) -> None:
    tree = desk.history.tree
    node = tree.node(desk.screen.selected)
    # From a premise, the conclusion is drawn among it and its siblings.
    over = node if node.children or node.parent is None else tree.nodes[node.parent]
    children = [tree.nodes[child] for child in over.children]
    st.caption(f"Below {label(_shorten(over))}")
    if not children:
        st.info("Accept or write premises first; a conclusion is drawn from them.")
        return
    with st.form("conclude", border=False):
        st.markdown("**From**")
        chosen = [
            child.id
            for child in children
            if st.checkbox(label(child.text), value=child.id == node.id, key=f"conclude-{child.id}")
        ]
        text = st.text_area("it follows that", max_chars=2000, placeholder="One sentence")
        if st.form_submit_button("Conclude", type="primary"):
            act = Conclude(node=over.id, premises=tuple(chosen), text=text.strip())
            _close_after(desk.act(act), desk)


@st.dialog("Edit the sentence", on_dismiss=_forget)
def _edit(desk: Desk) -> None:
    node = desk.history.tree.node(desk.screen.selected)
    with st.form("edit", border=False):
        text = st.text_area("Sentence", value=node.text, max_chars=max(2000, len(node.text)))
        if node.key is not None:
            st.caption(
                "It comes from the corpus. Once reworded it counts as your own statement; the corpus stays."
            )
        if st.form_submit_button("Change", type="primary"):
            _close_after(desk.act(Edit(node=node.id, text=text.strip())), desk)


@st.dialog("Move the node under another", width="medium", on_dismiss=_forget)
def _move(desk: Desk) -> None:
    tree = desk.history.tree
    node = tree.node(desk.screen.selected)
    below = {b.id for b in tree.walk(node.id)}
    places = [n for n in tree.nodes.values() if n.id not in below and n.id != node.parent]
    if node.id == ROOT or not places:
        st.info("There is no other node that this one could hang under.")
        return
    with st.form("move", border=False):
        st.caption(label(_shorten(node)))
        target = st.selectbox("under", places, format_func=lambda n: f"{n.id}: {_shorten(n)}")
        if st.form_submit_button("Move", type="primary"):
            _close_after(desk.act(Move(node=node.id, parent=target.id)), desk)


@st.dialog("Remove the node", on_dismiss=_forget)
def _remove(desk: Desk) -> None:
    tree = desk.history.tree
    node = tree.node(desk.screen.selected)
    if node.id == ROOT:
        st.info("The hypothesis cannot be removed. Edit it, or archive the tree on Home.")
        return
    below = len(list(tree.walk(node.id))) - 1
    st.caption(label(_shorten(node)))
    with st.form("remove", border=False):
        keep = False
        if below:
            keep = (
                st.radio(
                    f"{below} node{'s' if below > 1 else ''} below it",
                    ("are removed with it", "stay, and take its place"),
                )
                != "are removed with it"
            )
        if st.form_submit_button("Remove", type="primary"):
            _close_after(desk.act(Remove(node=node.id, keep_premises=keep)), desk)
    st.caption("Key u takes it back.")


@st.dialog("Search with your own words", on_dismiss=_forget)
def _search(desk: Desk) -> None:
    with st.form("search", border=False):
        words = st.text_input("Words", value=desk.screen.query or "", max_chars=1000)
        st.caption("They are recorded with what you accept or reject. Empty: the node's own sentence again.")
        if st.form_submit_button("Search", type="primary"):
            desk.screen.search(words)
            desk.screen.dialog = None
            st.rerun()


@st.dialog("Keys", on_dismiss=_forget)
def _keys(desk: Desk) -> None:
    del desk
    st.markdown("\n".join(["| key | does |", "|---|---|", *(f"| `{key}` | {does} |" for key, does in KEYS)]))
    st.caption("Keys rest while you type in a field. In the graph: click selects, double-click opens.")


@st.dialog("Who is at work?", on_dismiss=_forget)
def _name(desk: Desk) -> None:
    st.caption("Every act carries its author's name, so that colleagues know whom to ask.")
    ask_name(workspace().authors, key=DIALOG)
    if answered(workspace().authors):
        desk.screen.dialog = None
        st.rerun()


_DIALOGS: dict[str, Callable[[Desk], None]] = {
    "write": _write,
    "conclude": _conclude,
    "edit": _edit,
    "move": _move,
    "remove": _remove,
    "search": _search,
    "keys": _keys,
    "name": _name,
}
