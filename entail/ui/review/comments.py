"""Threads of comments on a tree, open ones first, with a field for a new one and for each answer."""

from __future__ import annotations

import streamlit as st

from entail.teams.comments import Anchor, Comments, Thread
from entail.trees.log.tree import Tree
from entail.ui.components.elements import show_errors, toast_errors
from entail.ui.frame.sign_in import shown_name
from entail.ui.shared.text import ago, label


def draw_comments(
    comments: Comments, tree_id: str, tree: Tree, author: str, *, node: str | None = None
) -> None:
    """Draw a button that opens the threads of a tree; a new one is on `node`, or on the whole tree."""
    threads = comments.threads(tree_id, actor=author)
    open_threads = [thread for thread in threads if thread.resolved_at is None]
    count = f" ({len(open_threads)})" if open_threads else ""
    with st.popover(f"Comments{count}", icon=":material/forum:"):
        for thread in open_threads:
            _draw_thread(comments, thread, tree, author)
        if resolved := [thread for thread in threads if thread.resolved_at is not None]:
            with st.expander(f"Resolved ({len(resolved)})"):
                for thread in resolved:
                    _draw_thread(comments, thread, tree, author)
        anchor = Anchor("node", node) if node is not None else Anchor()
        title = f"On {label(tree.nodes[node].text, longest=80)}" if node is not None else "On the whole tree"
        _draw_field(comments, tree_id, author, title, key=f"comment-{tree_id}", anchor=anchor)


def _draw_thread(comments: Comments, thread: Thread, tree: Tree, author: str) -> None:
    key = f"{thread.tree_id}-{thread.number}"
    with st.container(border=True, gap="xsmall", key=f"thread-{key}"):
        if (node := tree.nodes.get(thread.anchor.node or "")) is not None:
            st.caption(f":material/subdirectory_arrow_right: {label(node.text, longest=80)}")
        for comment in thread.comments:
            head = f"**{label(shown_name(comment.author))}** :gray[{ago(comment.at)}]"
            st.markdown(f"{head}  \n{label(comment.text)}")
        is_open = thread.resolved_at is None

        def resolve() -> None:
            with toast_errors():
                comments.resolve(thread.tree_id, thread.number, actor=author, resolved=is_open)

        st.button("Resolve" if is_open else "Reopen", key=f"resolve-{key}", type="tertiary", on_click=resolve)
        if is_open:
            _draw_field(comments, thread.tree_id, author, "Answer", key=f"answer-{key}", thread=thread.number)


def _draw_field(
    comments: Comments,
    tree_id: str,
    author: str,
    title: str,
    *,
    key: str,
    anchor: Anchor | None = None,
    thread: int | None = None,
) -> None:
    with st.form(key, border=False, clear_on_submit=True):
        text = st.text_area(title, key=f"{key}-text", height=68, placeholder="@name calls a colleague")
        if st.form_submit_button("Comment" if thread is None else "Answer"):
            with show_errors():
                comments.add(tree_id, text, actor=author, anchor=anchor or Anchor(), thread=thread)
                st.rerun()
