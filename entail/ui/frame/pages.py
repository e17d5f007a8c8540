"""Registry of the app's pages: a record each, from which the navigation is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PageRecord:
    """One page.

    Attributes:
        title: Title in the navigation and in the browser's tab.
        path: File, relative to `streamlit_app.py`.
        icon: Material icon.
        group: Heading in the navigation.
    """

    title: str
    path: str
    icon: str
    group: str


PAGES: Final = (
    PageRecord("Home", "streamlit_app.py", ":material/home:", "Build"),
    PageRecord("Trees", "pages/Trees.py", ":material/account_tree:", "Build"),
    PageRecord("Corpora", "pages/Corpora.py", ":material/library_books:", "Build"),
    PageRecord("Compare", "pages/Compare.py", ":material/compare_arrows:", "Explore"),
    PageRecord("Direction", "pages/Direction.py", ":material/moving:", "Explore"),
    PageRecord("Chains", "pages/Chains.py", ":material/link:", "Explore"),
    PageRecord("Claims", "pages/Claims.py", ":material/live_help:", "Explore"),
    PageRecord("Models", "pages/Models.py", ":material/model_training:", "Manage"),
    PageRecord("Operator", "pages/Operator.py", ":material/monitor_heart:", "Manage"),
)
"""All pages in the order of the navigation, those of a group together."""
