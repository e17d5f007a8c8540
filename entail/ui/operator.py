"""What runs here and what it takes, for whoever keeps it running."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from entail.settings import is_demo, load_settings
from entail.ui import sign_in
from entail.ui.operator_database import draw_database
from entail.ui.operator_jobs import draw_jobs_and_logs
from entail.ui.operator_licences import draw_licences
from entail.ui.operator_machine import draw_machine
from entail.ui.operator_room import draw_room
from entail.ui.resources import Workspace

_VIEWS: Mapping[str, Callable[[Workspace], None]] = {
    "Machine": draw_machine,
    "Room": draw_room,
    "Jobs and logs": draw_jobs_and_logs,
    "Database": draw_database,
    "Licences": draw_licences,
}


def draw_operator(shared: Workspace, author: str | None) -> None:
    """Draw machine, room, jobs, logs, database and licences, to whom they concern."""
    if refusal := refused():
        st.info(refusal, icon=":material/lock:")
        return
    view = st.segmented_control(
        "View",
        tuple(_VIEWS),
        default="Machine",
        required=True,
        label_visibility="collapsed",
        key="operator_view",
        bind="query-params",
    )
    _VIEWS[view or "Machine"](shared)


def refused() -> str | None:
    """Return why this visitor sees nothing of it, None where they do."""
    if is_demo():
        return "This is a demo: what runs here is nothing to its visitors."
    operators = load_settings().operators
    if not sign_in.wanted():
        # Anybody can type any name; who limits operators has to let them sign in.
        return (
            "ENTAIL_OPERATORS names who may see this, and nobody can sign in here: set up signing in "
            "(docs/operating.md), or take ENTAIL_OPERATORS out."
            if operators
            else None
        )
    identity = sign_in.who()
    if identity is None:
        return "Sign in to see this: the button is in the sidebar."
    if operators and identity.email not in operators:
        return "You are not among those who run this installation (ENTAIL_OPERATORS)."
    return None
