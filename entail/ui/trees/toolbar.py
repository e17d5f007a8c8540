"""Toolbar of the selected node with its dialogs, notice of a failed act, and status of a shared tree."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Literal

import streamlit as st

from entail.data.text import count_of, quote
from entail.errors import EntailError
from entail.trees.log.acts import Act, Conclude, Edit, Move, Remove, TypedAct, Write
from entail.trees.log.tree import ROOT, Node
from entail.trees.review.commands import KEYS, Command
from entail.trees.store.authors import Presence
from entail.ui.frame.author import ask_name, read_author, with_mark
from entail.ui.shared.resources import workspace
from entail.ui.shared.text import label, local
from entail.ui.trees.page import TreePage
from entail.ui.trees.screen import close_dialogs

EVERY = 3.0
"""Seconds between two refreshes of the status."""

RENEW = timedelta(seconds=20)
"""Age from which an author's own presence is recorded again."""

_NOTICES = {"stale": st.info, "error": st.error, "conflict": st.warning}

_TOOLS = (
    ("dialog", "write", "edit_note", "w"),
    ("dialog", "conclude", "call_merge", "c"),
    ("draft", "", "link", "d"),
)
_MORE = (
    ("dialog", "edit", "edit", "e"),
    ("dialog", "move", "drive_file_move", "m"),
    ("dialog", "remove", "delete", "x"),
    ("toggle", "rejected", "visibility", "v"),
    ("dialog", "keys", "keyboard", "?"),
)
_READING = ("search", "draft", "rejected", "keys")
"""Tools that change nothing in the tree."""


def draw_undo(page: TreePage) -> None:
    """Draw the buttons to undo and redo, with the author's last act in their help."""
    author, history = page.author or "", page.history
    undo, redo = history.undoable(author), history.redoable(author)
    for verb, key, event in (("undo", "u", undo), ("redo", "r", redo)):
        last_act = f": {label(history.describe(event), longest=80)}" if event else ""
        _draw_tool(page, verb, "", verb, key, disabled=event is None, more=last_act)


def draw_tools(page: TreePage) -> None:
    """Draw a button for each tool of the selected node, disabled where it has no effect."""
    for verb, target, icon, key in _TOOLS:
        _draw_tool(page, verb, target, icon, key, disabled=verb == "draft" and page.suggester is None)
    selected = page.screen.selected
    with st.popover("More", key="more-tools"):
        for verb, target, icon, key in _MORE:
            more = f": {len(page.tree.rejected(selected))} here" if target == "rejected" else ""
            is_idle = selected == ROOT and target in ("move", "remove")
            _draw_tool(page, verb, target, icon, key, disabled=is_idle, more=more, width="stretch")


def draw_search(page: TreePage) -> None:
    """Draw the button that searches with the author's words, and the one that ends it."""
    _draw_tool(page, "dialog", "search", "search", "s")
    if page.screen.query:
        st.button("Clear search", on_click=page.screen.search, args=(None,), type="tertiary", key="own")


def _draw_tool(
    page: TreePage,
    verb: str,
    target: str,
    icon: str,
    key: str,
    *,
    disabled: bool = False,
    more: str = "",
    width: Literal["stretch", "content"] = "content",
) -> None:
    name = target or verb
    is_on = name == "rejected" and page.screen.show_rejected
    titles = {"rejected": "Hide rejected" if is_on else "Show rejected", "draft": "Draft chain"}
    st.button(
        titles.get(name, name.capitalize()),
        icon=f":material/{icon}:",
        key=f"tool-{name}",
        disabled=disabled or (page.is_locked and name not in _READING),
        on_click=page.run,
        args=(Command(verb, target),),
        help=f"Key {key}{more}",
        width=width,
    )


def draw_notice(page: TreePage) -> None:
    """Draw why the last act failed, until another one is saved or it is dismissed.

    A sentence that can be restored stays until it is restored or dismissed.
    """
    screen = page.screen
    if screen.notice is None and screen.recovery is None:
        return
    kind, reason = screen.notice or ("conflict", "Not saved yet.")  # another act was saved since
    advice = ""
    if isinstance(screen.recovery, TypedAct):
        advice = f"  \nYour sentence: {label(quote(screen.recovery.text))}"
    elif kind == "conflict":
        advice = "  \nThis is the newest version. Repeat your edit if it still applies."
    with st.container(horizontal=True, vertical_alignment="center"):
        _NOTICES[kind](label(reason) + advice)
        if screen.recovery is not None:
            st.button("Restore with your text", on_click=page.recover, key="recover")
        st.button("Dismiss", on_click=screen.dismiss_notice, type="tertiary", key="dismiss")


def draw_watch(page: TreePage) -> None:
    """Draw the last save and the present authors; rerun the page when the tree or the ranking has changed."""
    _draw_watch(page, [page.presences])


@st.fragment(run_every=EVERY)
def _draw_watch(page: TreePage, read: list[tuple[Presence, ...]]) -> None:
    screen, author, shared = page.screen, page.author, page.shared
    try:
        if read:  # the page itself has just read the tree
            presences, seq = read.pop(), screen.history.seq
        else:
            with shared.log.snapshot():
                presences = tuple(shared.authors.list_presences(shared.log.viewer))
                seq = shared.log.summary(screen.tree_id).seq
        presences = tuple(presence for presence in presences if presence.tree_id == screen.tree_id)
        # A key or a click does not pay for this: it is written where it is new or old.
        if author is not None and not any(
            (p.author, p.node) == (author, screen.selected) and datetime.now(UTC) - p.at < RENEW
            for p in presences
        ):
            shared.authors.record_presence(screen.tree_id, author, screen.selected)
        is_outdated = seq != screen.history.seq or page.ranking.is_outdated
    except EntailError as error:
        st.markdown(f":red[:material/cloud_off: {label(str(error), longest=120)}]")
        return
    if is_outdated and screen.dialog is None:
        st.rerun()
    last = page.history.events[-1]
    parts = []
    for presence in [presence for presence in presences if presence.author != author][:3]:
        node = page.tree.nodes.get(presence.node)
        text = quote(node.text, longest=40) if node is not None else "a removed node"
        parts.append(
            f":material/person: {with_mark(presence.author, verified=presence.verified)} at {label(text)}"
        )
    parts.append(f":gray[:material/cloud_done: version {last.seq}, saved {local(last.at):%H:%M:%S}]")
    st.markdown(" · ".join(parts), width="content")


def open_dialog(page: TreePage) -> None:
    """Open the dialog that the screen names, if it is one of these."""
    if page.screen.dialog in _DIALOGS:
        _DIALOGS[page.screen.dialog](page)


def _act(page: TreePage, act: Act) -> None:
    """Save an act and close the dialog; draw the reason where it cannot be saved, and keep what was typed."""
    screen, recovery = page.screen, page.screen.recovery
    if page.act(act):
        screen.dialog, screen.sent = None, screen.sent + 1
    elif screen.recovery != recovery:  # nothing to try again here: the page offers what can be done
        screen.dialog = None
    elif screen.notice is not None and screen.unnamed is None:
        st.error(label(screen.notice[1]))
        screen.notice = None
        return
    st.rerun()  # without an author, with the dialog for the name, which saves the act


def _shorten(node: Node) -> str:
    return quote(node.text, longest=90)


@st.dialog("Write a premise", on_dismiss=close_dialogs)
def _write(page: TreePage) -> None:
    node = page.node
    st.caption(f"Below {label(_shorten(node))}")
    with st.form("write", border=False):
        key = f"write-{page.screen.tree_id}-{page.screen.sent}"
        text = st.text_area("Sentence", placeholder="One sentence", key=key)
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
        text = st.text_area("it follows that", placeholder="One sentence", key=key)
        if st.form_submit_button("Conclude", type="primary"):
            _act(page, Conclude(node=over.id, premises=tuple(premise_ids), text=text.strip()))


@st.dialog("Edit the sentence", on_dismiss=close_dialogs)
def _edit(page: TreePage) -> None:
    node = page.node
    with st.form("edit", border=False):
        text = st.text_area("Sentence", value=node.text)
        if node.key is not None:
            st.caption("An edited premise is your own statement; the corpus is unchanged.")
        if st.form_submit_button("Save", type="primary"):
            _act(page, Edit(node=node.id, text=text.strip()))


@st.dialog("Move the node under another", width="medium", on_dismiss=close_dialogs)
def _move(page: TreePage) -> None:
    tree, node, goal = page.tree, page.node, page.screen.goal
    excluded = {node.id, node.parent, *(other.id for other in tree.descendants(node.id))}
    targets = [other for other in tree.nodes.values() if other.id not in excluded or other.id == goal]
    if node.id == ROOT or not targets:
        reason = "the hypothesis is the top of the tree" if node.id == ROOT else "no other node can hold it"
        st.info(f"It cannot be moved: {reason}.")
        return
    with st.form("move", border=False):
        st.caption(label(_shorten(node)))
        first = next((at for at, other in enumerate(targets) if other.id == goal), 0)
        target = st.selectbox("Under", targets, index=first, format_func=_shorten)
        if st.form_submit_button("Move", type="primary"):
            _act(page, Move(node=node.id, parent=target.id))


@st.dialog("Remove the node", on_dismiss=close_dialogs)
def _remove(page: TreePage) -> None:
    node = page.node
    if node.id == ROOT:
        st.info("The hypothesis cannot be removed. Edit it, or archive the tree in the list of trees.")
        return
    st.caption(label(_shorten(node)))
    with st.form("remove", border=False):
        keep = False
        if below := len(page.tree.descendants(node.id)):
            choices = ("Delete them too", "Keep and move up")
            keep = st.radio(f"{count_of(below, 'node')} below it", choices) == choices[1]
        if st.form_submit_button("Remove", type="primary"):
            _act(page, Remove(node=node.id, keep_premises=keep))
    st.caption("Press U to undo.")


@st.dialog("Search with your own words", on_dismiss=close_dialogs)
def _search(page: TreePage) -> None:
    with st.form("search", border=False):
        words = st.text_input("Words", value=page.screen.query or "")
        st.caption("Recorded with your judgements. Leave empty to search with the node's text.")
        if st.form_submit_button("Search", type="primary"):
            page.screen.search(words)
            page.screen.dialog = None
            st.rerun()


@st.dialog("Keys", on_dismiss=close_dialogs)
def _keys(page: TreePage) -> None:
    del page
    st.markdown("\n".join(["| key | does |", "|---|---|", *(f"| `{key}` | {does} |" for key, does in KEYS)]))


@st.dialog("Your name", on_dismiss=close_dialogs)
def _name(page: TreePage) -> None:
    st.caption("Every edit is saved with its author's name.")
    ask_name("dialog")
    if read_author(workspace().authors):
        page.resume()
        st.rerun()


_DIALOGS: dict[str | None, Callable[[TreePage], None]] = {
    "write": _write,
    "conclude": _conclude,
    "edit": _edit,
    "move": _move,
    "remove": _remove,
    "search": _search,
    "keys": _keys,
    "name": _name,
}
