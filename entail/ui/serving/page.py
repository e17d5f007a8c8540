"""Serving page: what is served, how fast, and by which models."""

from __future__ import annotations

import streamlit as st

from entail.ui.components.elements import pick_view
from entail.ui.serving.memory import draw_memory
from entail.ui.serving.replay import draw_replay
from entail.ui.serving.target import draw_target, pick_server
from entail.ui.serving.traffic import draw_traffic
from entail.ui.serving.try_it import draw_try_it
from entail.ui.shared.resources import Workspace

_VIEWS = ("Traffic", "Models", "Try it", "Compare")


def draw_serving(shared: Workspace, author: str | None) -> None:
    """Draw the choice of the server and a view of it."""
    with st.container(horizontal=True, gap="medium"):
        view = pick_view("View", _VIEWS, default="Traffic", key="serving_view", bind="query-params")
        server = pick_server()
    target = draw_target(server)
    if target is None:
        return
    if view == "Traffic":
        draw_traffic(target)
    elif view == "Models":
        draw_memory(shared, author, target)
    elif view == "Try it":
        draw_try_it(target)
    else:
        draw_replay(shared, target)
