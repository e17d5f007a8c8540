"""Training from the browser: what is set up, what runs and waits, how each run goes."""

from __future__ import annotations

import streamlit as st

from entail.ui.demo import closed
from entail.ui.models_job import draw_job
from entail.ui.models_jobs import NEW, draw_jobs, go
from entail.ui.models_setup import draw_setup
from entail.ui.resources import Workspace, jobs


def draw_training(shared: Workspace, author: str | None) -> None:
    """Draw the job that the address names, the form (`job=new`), or all jobs."""
    asked = st.query_params.get("job")
    if asked and asked != NEW:
        draw_job(asked, author)
        return
    there = bool(jobs().jobs() or jobs().unreadable())
    if closed("nothing can be trained"):
        draw_jobs()
        return
    if asked == NEW or not there:
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown("#### A new training", width="content")
            if there:
                st.button("All jobs", icon=":material/list:", type="tertiary", on_click=go, args=(None,))
        if not there:
            st.caption(
                "Nothing was trained from here yet. What you set up below becomes a job: it trains outside "
                "the app, goes on when this page is closed, and its encoder is at hand when it is done."
            )
        draw_setup(shared, author)
        return
    st.button(
        "New training",
        icon=":material/add:",
        type="primary",
        on_click=go,
        args=(NEW,),
        key="new_training",
    )
    draw_jobs()
