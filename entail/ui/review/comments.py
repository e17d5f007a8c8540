"""Threads of comments on a tree, open ones first, with a field for a new one and for each answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from entail.teams.comments import Anchor, Comments, Thread
from entail.trees.log.tree import ROOT, Tree
from entail.ui.components.elements import show_errors, toast_errors
from entail.ui.frame.author import with_mark
from entail.ui.frame.shell import count_waiting
from entail.ui.frame.sign_in import shown_name
from entail.ui.shared.text import ago, label


def draw_comments(
    comments: Comments,
    tree_id: str,
    tree: Tree,
    threads: Sequence[Thread],
    author: str,
    *,
    node: str | None = None,
) -> None:
    """Draw a button that opens the threads of a tree, with a field for a new one.

    It is on the whole tree, on `node`, on the step to it, or on a premise that was rejected for it.
    """
    open_threads = [thread for thread in threads if thread.resolved_at is None]
    count = f" ({len(open_threads)})" if open_threads else ""
    with st.popover(f"Comments{count}", icon=":material/forum:"):
        for thread in open_threads:
            _draw_thread(comments, thread, tree, author)
        if resolved := [thread for thread in threads if thread.resolved_at is not None]:
            with st.expander(f"Resolved ({len(resolved)})"):
                for thread in resolved:
                    _draw_thread(comments, thread, tree, author)
        _draw_field(comments, tree_id, author, key=f"comment-{tree_id}", anchors=_anchors(tree, node))


def draw_mentions(comments: Comments, author: str) -> None:
    """Draw the open threads that mention an author, each with a link to its place."""
    threads = comments.mentioning(author)
    if not threads:
        return
    with st.container(border=True, key="mentions", gap="xsmall"):
        st.markdown(f":material/alternate_email: **Mentions** ({len(threads):,})")
        for thread in threads:
            call = next(comment for comment in reversed(thread.comments) if author in comment.mentions)
            words = f"{label(shown_name(call.author))}, {ago(call.at)}: {label(call.text, longest=200)}"
            _draw_jump(thread, words)


def _draw_jump(thread: Thread, words: str) -> None:
    address = {"tree": thread.tree_id, "node": thread.anchor.node or ROOT}
    icon = ":material/subdirectory_arrow_right:"
    st.page_link("pages/Trees.py", label=words, icon=icon, query_params=address)


def _anchors(tree: Tree, node: str | None) -> dict[Anchor, str]:
    """Return what a new thread can be about, the default first, with its title."""
    whole = {Anchor(): "The whole tree"}
    if node is None or node not in tree.nodes:
        return whole
    anchors = {Anchor("node", node): label(tree.nodes[node].text, longest=80)}
    if tree.nodes[node].children:
        anchors[Anchor("step", node)] = "The step to it"
    for premise in tree.rejected(node):
        anchors[Anchor("candidate", node, premise.key)] = f"Rejected: {label(premise.text, longest=70)}"
    return {**whole, **anchors} if node == ROOT else {**anchors, **whole}


def _title(tree: Tree, anchor: Anchor) -> str | None:
    """Return the subject of a thread as text; None for the whole tree, or if it is gone."""
    node = tree.nodes.get(anchor.node or "")
    judgement = tree.judgements.get((anchor.node or "", anchor.key or ""))
    match anchor.about:
        case "candidate" if judgement is not None:
            return f"Rejected: {label(judgement.premise.text, longest=70)}"
        case "step" if node is not None:
            return f"Step to {label(node.text, longest=70)}"
        case "node" if node is not None:
            return label(node.text, longest=80)
    return None


def _draw_thread(comments: Comments, thread: Thread, tree: Tree, author: str) -> None:
    key = f"{thread.tree_id}-{thread.number}"
    with st.container(border=True, gap="xsmall", key=f"thread-{key}"):
        if (title := _title(tree, thread.anchor)) is not None:
            _draw_jump(thread, title)
        for comment in thread.comments:
            head = f"**{with_mark(comment.author, verified=comment.verified)}** :gray[{ago(comment.at)}]"
            st.markdown(f"{head}  \n{label(comment.text)}")
        is_open = thread.resolved_at is None

        def resolve() -> None:
            with toast_errors():
                comments.resolve(thread.tree_id, thread.number, actor=author, resolved=is_open)
                count_waiting.clear()

        st.button("Resolve" if is_open else "Reopen", key=f"resolve-{key}", type="tertiary", on_click=resolve)
        if is_open:
            _draw_field(comments, thread.tree_id, author, key=f"answer-{key}", thread=thread.number)


def _draw_field(
    comments: Comments,
    tree_id: str,
    author: str,
    *,
    key: str,
    anchors: Mapping[Anchor, str] | None = None,
    thread: int | None = None,
) -> None:
    with st.form(key, border=False, clear_on_submit=True):
        anchor: Anchor = Anchor()
        if anchors is not None and len(anchors) > 1:
            options = list(anchors)
            anchor = st.selectbox("About", options, format_func=anchors.__getitem__, key=f"{key}-about")
        title = "Answer" if thread is not None else "New comment"
        text = st.text_area(title, key=f"{key}-text", height=68, placeholder="@name calls a colleague")
        if st.form_submit_button("Comment" if thread is None else "Answer"):
            with show_errors():
                comments.add(tree_id, text, actor=author, anchor=anchor, thread=thread)
                count_waiting.clear()
                st.rerun()
