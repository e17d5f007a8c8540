"""Agreement: how far the annotators of a project agree, and where they differ."""

import streamlit as st

from entail.teams.permissions import allowed
from entail.teams.report import measure_agreement
from entail.ui.agreement.figures import (
    draw_downloads,
    draw_figures,
    draw_hypotheses,
    draw_pairs,
    draw_time,
)
from entail.ui.frame.shell import page
from entail.ui.work.projects import draw_no_project, pick_project

with page("Agreement", "How far the annotators of a hypothesis agree, and where they differ.") as (
    shared,
    author,
):
    project = pick_project(shared)
    if project is None:
        draw_no_project(shared, author)
        st.stop()
    if not allowed(shared.database, shared.viewer, "oversee", project.id).allowed:
        st.info("Agreement is for the reviewers and owners of a project.", icon=":material/lock:")
        st.stop()
    with st.spinner("Comparing trees …", show_time=True):
        report = measure_agreement(shared.database, shared.log, project.id, actor=shared.viewer)
    if not report.hypotheses:
        st.info(
            "Nothing to compare yet: agreement needs hypotheses with two copies or more, all submitted."
            + (f" Hypotheses that lack a copy: {report.waiting:,}." if report.waiting else ""),
            icon=":material/hourglass_empty:",
        )
        st.stop()
    draw_figures(report)
    st.subheader("Where they differ")
    draw_hypotheses(report, project)
    st.subheader("Pairs of annotators")
    draw_pairs(report)
    st.subheader("Over time")
    draw_time(report)
    draw_downloads(report, project)
