"""Progress of a project: states, submissions a day, time and candidates read, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import pandas as pd
import streamlit as st

from entail.teams.policy import STATES
from entail.teams.progress import measure_progress
from entail.teams.projects import Project
from entail.ui.frame.sign_in import shown_name
from entail.ui.shared.chart_marks import SERIES
from entail.ui.shared.downloads import draw_download
from entail.ui.shared.resources import Workspace
from entail.ui.work.manage import draw_export


def draw_progress(shared: Workspace, author: str, project: Project) -> None:
    """Draw the figures of a project, for who oversees it."""
    progress = measure_progress(shared.database, shared.log, project.id, actor=author)
    total, done = sum(progress.states.values()), progress.states.get("accepted", 0)
    minutes = [time.total_seconds() / 60 for time in progress.active.values()]
    cells = (
        ("Accepted", f"{done:,} of {total:,}", "Pieces, a copy each"),
        (
            "Minutes a tree",
            f"{sum(minutes) / len(minutes):.0f}" if minutes else "unknown",
            "Without pauses of more than 5 minutes",
        ),
        (
            "Candidates read",
            f"{progress.read_per_accepted:.1f}" if progress.read_per_accepted is not None else "unknown",
            "Candidates shown for each accepted premise",
        ),
        (
            "Hours left",
            f"{progress.hours_left:.1f}" if progress.hours_left is not None else "unknown",
            "Time that the pieces not yet submitted take at the pace of the others",
        ),
    )
    for column, (title, value, help) in zip(st.columns(len(cells)), cells, strict=True):
        column.metric(title, value, help=help, border=True)
    if progress.submitted:
        _draw_days(progress.submitted)
    rows = [{"state": state, "pieces": progress.states.get(state, 0)} for state in STATES]
    draw_download("States (CSV)", f"{project.name}-states.csv", lambda: rows)
    draw_export(shared, author, project)


def _draw_days(submitted: Mapping[tuple[date, str], int]) -> None:
    import altair as alt

    rows = [
        {"day": pd.Timestamp(day), "annotator": shown_name(name), "trees": count}
        for (day, name), count in submitted.items()
    ]
    chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar(size=28)
        .encode(
            x=alt.X("yearmonthdate(day):O", title="Day"),
            y=alt.Y("sum(trees):Q", title="Trees submitted", axis=alt.Axis(tickMinStep=1)),
            color=alt.Color("annotator:N", scale=alt.Scale(range=list(SERIES)), title="Annotator"),
            tooltip=["annotator", "trees"],
        )
        .properties(height=220)
    )
    st.altair_chart(chart, width="stretch")
