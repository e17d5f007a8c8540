"""The frame of every page: its title, the navigation, who is at work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from entail.errors import EntailError
from entail.settings import is_demo
from entail.ui import sign_in
from entail.ui.author import draw_author
from entail.ui.demo import draw_banner
from entail.ui.resources import Workspace, workspace
from entail.ui.words import label
from entail.version import __version__

_ICON = Path(__file__).parent / "assets" / "icon.png"
_PAGES = (
    ("streamlit_app.py", "Home", ":material/home:"),
    ("pages/Trees.py", "Trees", ":material/account_tree:"),
    ("pages/Compare.py", "Compare", ":material/compare_arrows:"),
    ("pages/Direction.py", "Direction", ":material/moving:"),
    ("pages/Chains.py", "Chains", ":material/link:"),
    ("pages/Claims.py", "Claims", ":material/live_help:"),
    ("pages/Corpora.py", "Corpora", ":material/library_books:"),
    ("pages/Models.py", "Models", ":material/model_training:"),
    ("pages/Operator.py", "Operator", ":material/monitor_heart:"),
)
_STYLE = """
<style>
  [data-testid="stMainBlockContainer"] { padding: 3.4rem clamp(1rem, 2.4vw, 3rem) 2rem; }
  [data-testid="stSidebarHeader"] { height: 2.2rem; }
  mark { background: color-mix(in srgb, #e69f00 35%, transparent); color: inherit; border-radius: 2px; }
  .entail-sentence { font-size: 1.02rem; line-height: 1.45; overflow-wrap: anywhere; white-space: pre-wrap; }
  .entail-proposed { opacity: .72; border-left: 3px dashed currentColor; padding-left: .5rem; }
  .entail-quiet { opacity: .72; font-size: .86rem; }
  /* Why a file was refused, which Streamlit tells screen readers and a mouse that rests on it. */
  .stFileChip[aria-invalid="true"] { flex-wrap: wrap; height: auto; max-width: 100%; }
  .stFileChip[aria-invalid="true"] > [role="alert"] { position: static; width: 100%; height: auto;
      margin: .3rem 0 0; clip: auto; clip-path: none; overflow: visible; white-space: normal;
      font-size: .86rem; }
</style>
"""


@contextmanager
def page(title: str, *, wide: bool = True) -> Iterator[tuple[Workspace, str | None]]:
    """Draw the frame; give the shared stores and the author, None while unnamed.

    Ends the run with an explanation when the database cannot be used, or fails while the page is drawn.
    """
    shared, author = _begin(title, wide=wide)
    try:
        yield shared, author
    except EntailError as error:
        st.error(label(str(error)), icon=":material/error:")
        st.markdown("What was saved is safe. `entail doctor` on the command line says more.")
        st.button("Try again", icon=":material/refresh:", key="page_again")


def _begin(title: str, *, wide: bool) -> tuple[Workspace, str | None]:
    st.set_page_config(
        page_title=f"{title} · entail",
        page_icon=str(_ICON),
        layout="wide" if wide else "centered",
        menu_items={"about": f"entail {__version__}: explanation trees over your own corpus"},
    )
    st.html(_STYLE)
    with st.sidebar:
        st.markdown("### :material/account_tree: entail")
        for path, name, icon in _PAGES:
            st.page_link(path, label=name, icon=icon)
    try:
        shared = workspace()
    except EntailError as error:
        st.title(title)
        st.error(f"The database cannot be used: {label(str(error))}", icon=":material/database_off:")
        st.markdown("Nothing was changed. `entail doctor` on the command line says more.")
        st.stop()
    draw_banner()
    if shared.database.read_only and not is_demo():
        st.warning(
            "The database is read-only: everything can be looked at, nothing changed.", icon=":material/lock:"
        )
    with st.sidebar:
        st.divider()
        author = draw_author(shared.authors)
    if author is None and sign_in.required_to_read():
        st.title(title)
        st.info("Sign in to see anything here: the button is in the sidebar.", icon=":material/login:")
        st.stop()
    return shared, author
