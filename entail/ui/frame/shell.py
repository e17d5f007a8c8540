"""Frame of every page: title, navigation, author; and the registry of pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import Final, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from entail.errors import EntailError
from entail.settings import is_demo
from entail.trees.store.authors import SignedIn, is_signed_in
from entail.ui.components.inbox import ASSETS, read_assets
from entail.ui.frame import sign_in
from entail.ui.frame.author import draw_author
from entail.ui.frame.walk import draw_walk
from entail.ui.shared.demo import draw_banner
from entail.ui.shared.resources import Workspace, workspace
from entail.ui.shared.text import label
from entail.version import __version__


class PageRecord(NamedTuple):
    """Page of the navigation: title, file relative to `streamlit_app.py`, icon, heading of its group."""

    title: str
    path: str
    icon: str
    group: str


PAGES: Final = (
    PageRecord("Home", "streamlit_app.py", ":material/home:", "Author"),
    PageRecord("Trees", "pages/Trees.py", ":material/account_tree:", "Author"),
    PageRecord("Corpora", "pages/Corpora.py", ":material/library_books:", "Author"),
    PageRecord("Work", "pages/Work.py", ":material/assignment:", "Team"),
    PageRecord("Review", "pages/Review.py", ":material/rate_review:", "Team"),
    PageRecord("Agreement", "pages/Agreement.py", ":material/handshake:", "Team"),
    PageRecord("Compare", "pages/Compare.py", ":material/compare_arrows:", "Explore"),
    PageRecord("Direction", "pages/Direction.py", ":material/moving:", "Explore"),
    PageRecord("Chains", "pages/Chains.py", ":material/link:", "Explore"),
    PageRecord("Claims", "pages/Claims.py", ":material/live_help:", "Explore"),
    PageRecord("Results", "pages/Results.py", ":material/insights:", "Explore"),
    PageRecord("Models", "pages/Models.py", ":material/model_training:", "Operate"),
    PageRecord("Serving", "pages/Serving.py", ":material/dns:", "Operate"),
    PageRecord("Operator", "pages/Operator.py", ":material/monitor_heart:", "Operate"),
)
"""All pages in the order of the navigation, those of a group together."""

_ICON = ASSETS / "icon.png"


@contextmanager
def page(title: str, sentence: str = "") -> Iterator[tuple[Workspace, str | None]]:
    """Draw the frame; yield the shared stores and the author, None while there is no name.

    With a sentence about the page, draw both as its heading.

    Ends the run with an error if the database cannot be used, or fails while the page is drawn.
    """
    shared, author = _begin(title)
    if sentence:
        st.title(title)
        st.markdown(sentence)
    try:
        yield shared, author
    except EntailError as error:
        st.error(label(str(error)), icon=":material/error:")
        st.markdown("Saved work is safe. Run `entail doctor` on the command line for details.")
        st.button("Try again", icon=":material/refresh:", key="page_again")


def _begin(title: str) -> tuple[Workspace, str | None]:
    st.set_page_config(
        page_title=f"{title} · entail",
        page_icon=str(_ICON),
        layout="wide",
        initial_sidebar_state=220,
        menu_items={"about": f"entail {__version__}: explanation trees over your own corpus"},
    )
    # A dialog stands outside the element that has the theme's colour scheme.
    scheme = st.context.theme.type or "light dark"
    st.html(f"<style>:root {{ color-scheme: {scheme}; }}\n{read_assets('page.css')}</style>")
    navigation = st.sidebar.container()
    try:
        shared = workspace()
    except EntailError as error:
        _draw_navigation(navigation)
        st.title(title)
        st.error(f"Cannot open the database: {label(str(error))}", icon=":material/database_off:")
        st.markdown("Nothing was changed. Run `entail doctor` on the command line for details.")
        st.stop()
    draw_banner()
    if shared.database.read_only and not is_demo():
        st.warning("Read-only database: you can view everything and change nothing.", icon=":material/lock:")
    with st.sidebar:
        author = draw_author(shared.authors)
    _draw_navigation(navigation, author)
    if author is None and sign_in.is_required_to_read():
        st.title(title)
        st.info("Sign in to view this page: the button is in the sidebar.", icon=":material/login:")
        st.stop()
    draw_walk(title, shared.log)
    if not is_demo():
        viewer = author or (SignedIn("") if sign_in.is_configured() else "")
        shared = replace(shared, log=shared.log.viewed_by(viewer))
    return shared, author


def _draw_navigation(container: DeltaGenerator, author: str | None = None) -> None:
    """Draw the links to all pages, with the numbers of what waits for an author."""
    waiting = count_waiting(author, is_signed_in(author)) if author is not None else {}
    with container:
        st.markdown("### :material/account_tree: entail")
        for group, records in groupby(PAGES, key=lambda record: record.group):
            st.caption(group)
            for record in records:
                number = waiting.get(record.title, 0)
                badge = f" :blue-badge[{number}]" if number else ""
                st.page_link(record.path, label=f"{record.title}{badge}", icon=record.icon)


@st.cache_data(show_spinner=False, ttl=10)
def count_waiting(author: str, signed_in: bool) -> dict[str, int]:
    """Return page -> number of pieces, and on Work of mentions, that wait for an author.

    Whoever moves a piece or comments clears the cache.
    """
    actor, stores = SignedIn(author) if signed_in else author, workspace()
    try:
        pieces, mentions = stores.work.waiting(actor=actor), stores.comments.mentioning(actor)
    except EntailError:  # the page itself shows it
        return {}
    return {"Work": pieces.work + len(mentions), "Review": pieces.review}
