"""What is in use for directions and for chains: fields follow it, and it is said where it stands in."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import streamlit as st

from entail.roles import first_in_use, notice
from entail.ui.words import label

if TYPE_CHECKING:
    from entail.roles import OwnRole


def follow(role: OwnRole, key: str, names: Collection[str]) -> str | None:
    """Return what is in use, and move a field there that stands at what was; called before it is drawn.

    What was chosen by hand and was in use is not told apart from what stood there by itself: who wants
    the old one back picks it once more.

    Args:
        role: The role.
        key: Key of the field.
        names: What can be picked.
    """
    usual = first_in_use(role, names)
    known = st.session_state.get(f"{key}_in_use")
    if known not in (None, usual) and st.session_state.get(key) == known:
        st.session_state[key] = usual
    st.session_state[f"{key}_in_use"] = usual
    return usual


def draw_notice(role: OwnRole) -> None:
    """Say why something else is in use than was promoted; nothing where it is not so."""
    if words := notice(role):
        st.warning(label(words), icon=":material/swap_horiz:")
