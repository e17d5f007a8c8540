"""Active direction and chain models: fields that follow them."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from entail.registry.models import active, active_name
from entail.training.method import Role
from entail.ui.shared.text import label


def sync_with_active(role: Role, key: str, names: Collection[str]) -> str | None:
    """Return the active model, and reset the widget if it still shows the previously active one.

    Call it before the widget is drawn. A previously active model that was picked by hand is reset, too.

    Args:
        role: Role of the model.
        key: Key of the widget.
        names: Names that can be picked.
    """
    usual = active_name(role, names)
    previous = st.session_state.get(f"{key}_in_use")
    if previous not in (None, usual) and st.session_state.get(key) == previous:
        st.session_state[key] = usual
    st.session_state[f"{key}_in_use"] = usual
    return usual


def pick_model(role: Role, key: str, names: Collection[str]) -> tuple[str, list[str]]:
    """Return the model of a widget, the active one by default, and all names, the active one first."""
    usual = sync_with_active(role, key, names)
    if st.session_state.get(key) not in names:  # it was removed
        st.session_state.pop(key, None)
    ordered = sorted(names, key=lambda name: name != usual)
    return st.session_state.get(key) or ordered[0], ordered


def draw_notice(role: Role) -> None:
    """Warn where another model than the promoted one is active."""
    if words := active(role=role).notice:
        st.warning(label(words), icon=":material/swap_horiz:")
