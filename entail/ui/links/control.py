"""Controls that make, show and revoke read-only links."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import streamlit as st

from entail.trees.store.shares import Share, Shares
from entail.ui.components.elements import show_errors
from entail.ui.frame.author import ask_name
from entail.ui.links.route import PATH, base_path, is_served
from entail.ui.shared.demo import is_locked_in_demo
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import ago, label


def draw_tree_link(shared: Workspace, tree_id: str, share: Share | None, author: str | None) -> None:
    """Draw the link of a tree with a button to revoke it, or the button that makes one."""
    if _is_open(shared, "Shows the newest version, unless the tree is archived"):
        shares = Shares(shared.database)
        if share is not None:
            _draw_link(shares, share, author)
        else:
            _draw_make(author, lambda name: shares.share_tree(tree_id, author=name))


def draw_comparison_links(shared: Workspace, author: str | None, snapshot: Callable[[], object]) -> None:
    """Draw the button that makes a link to a comparison as it is now, and the links made before."""
    if not _is_open(shared, "Keeps these lists as they are"):
        return
    shares = Shares(shared.database)
    _draw_make(author, lambda name: shares.share_comparison(snapshot(), author=name))
    every = shares.comparisons()
    with st.container(height=400 if len(every) > 4 else "content", border=False):
        for share in every:
            content = share.comparison if isinstance(share.comparison, dict) else {}
            st.markdown(label(str(content.get("query", "")), longest=80))
            _draw_link(shares, share, author)


def address_of(share: Share) -> str:
    """Return the address of a link in this visitor's browser."""
    parts = urlsplit(st.context.url or "")
    server = f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
    return f"{server}{base_path()}{PATH}/{share.token}"


def _is_open(shared: Workspace, effect: str) -> bool:
    """Draw what a link shows; return whether links can be made and revoked here, or draw why not."""
    st.markdown("**Read-only link**")
    if is_locked_in_demo("no links can be made"):
        return False
    if not is_served():
        st.caption("Start the app by `entail app` to share links.")
    elif shared.database.read_only:
        st.caption("Read-only database: no links can be made.")
    else:
        st.caption(f"{effect}, to anybody who has the link, without sign-in.")
        return True
    return False


def _draw_make(author: str | None, make: Callable[[str], Share]) -> None:
    if author is None:
        ask_name("share")
    icon = ":material/link:"
    if st.button("Create link", icon=icon, key="share", width="stretch", disabled=author is None):
        with show_errors():
            make(author or "")
            st.rerun()


def _draw_link(shares: Shares, share: Share, author: str | None) -> None:
    st.code(address_of(share), language=None, wrap_lines=True)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{label(share.author)}, {ago(share.at)}")
        key = f"revoke-{share.token[:8]}"
        if st.button("Revoke", key=key, icon=":material/link_off:", disabled=author is None):
            with show_errors():
                shares.revoke(share.token, author=author or "")
                st.rerun()
