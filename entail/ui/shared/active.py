"""Synchronisation of fields with the active direction and chain models."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import streamlit as st

from entail.registry import active_name, fallback_notice
from entail.ui.shared.text import label

if TYPE_CHECKING:
    from entail.training.method import Role


def sync_with_active(role: Role, key: str, names: Collection[str]) -> str | None:
    """Return the active model, and reset the widget if it still shows the previously active one.

    Call it before the widget is drawn. A previously active model that was picked by hand is reset, too.

    Args:
        role: Role of the model.
        key: Key of the widget.
        names: Names that can be picked.
    """
    usual = active_name(role, names)
    known = st.session_state.get(f"{key}_in_use")
    if known not in (None, usual) and st.session_state.get(key) == known:
        st.session_state[key] = usual
    st.session_state[f"{key}_in_use"] = usual
    return usual


def draw_notice(role: Role) -> None:
    """Warn where another model than the promoted one is active."""
    if words := fallback_notice(role):
        st.warning(label(words), icon=":material/swap_horiz:")
