"""Figures of agreement, with what they mean, and tables of pairs and hypotheses."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from entail.teams.agreement import Agreement, Aspect
from entail.teams.projects import Project
from entail.teams.report import ProjectAgreement
from entail.ui.components.elements import draw_table
from entail.ui.frame.sign_in import shown_name
from entail.ui.shared.chart_marks import BLUE
from entail.ui.shared.downloads import draw_download

_ASPECTS: Mapping[Aspect, tuple[str, str]] = {
    "clades": (
        "Structure",
        "Nodes with the same premises below them: Krippendorff's alpha, distance 1 - F1.",
    ),
    "steps": ("Steps", "Steps from the same premises: alpha, distance 1 - F1."),
    "leaves": ("Premises", "Premises of the whole tree: alpha, distance 1 - Jaccard."),
}


def draw_figures(report: ProjectAgreement) -> None:
    """Draw the figures on trees and on candidates."""
    columns = st.columns(4)
    for column, (aspect, (title, help)) in zip(columns, _ASPECTS.items(), strict=False):
        value = report.trees[aspect]
        column.metric(title, _number(value.alpha), help=help, border=True)
        column.caption(_interval(value))
    judged = report.judgements
    columns[3].metric(
        "Candidates",
        _number(judged.alpha),
        help="Candidates that two or more accepted or rejected for the same sentence: Krippendorff's alpha.",
        border=True,
    )
    kappa = f", Fleiss' kappa {judged.fleiss:.2f}" if judged.fleiss is not None else ""
    columns[3].caption(f"{judged.n:,} candidates{kappa}")
    waiting = f" Without all copies: {report.waiting:,}." if report.waiting else ""
    st.caption(
        "1 is perfect agreement, 0 that of chance. Hypotheses with all copies, each as it was first "
        f"submitted: {report.trees['clades'].hypotheses:,}.{waiting}"
    )


def _number(alpha: float | None) -> str:
    return "none" if alpha is None else f"{alpha:.2f}"


def _interval(value: Agreement) -> str:
    if value.low is None or value.high is None:
        return "needs two different trees"
    return f"95 % interval {value.low:.2f} to {value.high:.2f}; similarity {value.observed:.0%}"


def draw_pairs(report: ProjectAgreement) -> None:
    """Draw a row for each two annotators."""
    kappas = {frozenset((pair.first, pair.second)): pair for pair in report.judgements.pairs}
    rows = []
    for pair in report.pairs:
        kappa = kappas.get(frozenset((pair.first, pair.second)))
        rows.append(
            {
                "annotators": f"{shown_name(pair.first)}, {shown_name(pair.second)}",
                "same structure": 100 * pair.similarity,
                "hypotheses": pair.hypotheses,
                "Cohen's kappa": kappa.kappa if kappa else None,
                "candidates": kappa.n if kappa else 0,
            }
        )
    percent = st.column_config.ProgressColumn(format="%.0f %%", min_value=0, max_value=100)
    number = st.column_config.NumberColumn(
        format="%.2f", help="Agreement of the two on candidates: 1 is perfect, 0 that of chance."
    )
    draw_table(
        pd.DataFrame(rows),
        placeholder="not defined",
        key="pairs",
        column_config={"same structure": percent, "Cohen's kappa": number},
    )


def draw_hypotheses(report: ProjectAgreement, project: Project) -> None:
    """Draw the hypotheses, the least similar first, with a link to the comparison of the selected one."""
    table = pd.DataFrame(
        {
            "hypothesis": [row.text for row in report.hypotheses],
            "same structure": [100 * row.similarity for row in report.hypotheses],
            "same steps": [100 * row.steps for row in report.hypotheses],
            "same premises": [100 * row.leaves for row in report.hypotheses],
            "annotators": [", ".join(map(shown_name, row.annotators)) for row in report.hypotheses],
        }
    )
    percent = st.column_config.ProgressColumn(format="%.0f %%", min_value=0, max_value=100)
    columns = dict.fromkeys(("same structure", "same steps", "same premises"), percent)
    selection = draw_table(
        table,
        height=min(420, 40 + 35 * len(table)),
        key="differing",
        column_config=columns,
        on_select="rerun",
        selection_mode="single-row",
    )
    for at in selection.selection.rows:
        row = report.hypotheses[at]
        st.page_link(
            "pages/Review.py",
            label="Compare the copies",
            icon=":material/compare:",
            query_params={"project": project.id, "hypothesis": str(row.number)},
        )


def draw_time(report: ProjectAgreement) -> None:
    """Draw the similarity of copies by the day on which the last of them was submitted."""
    import altair as alt

    table = pd.DataFrame(
        {
            "day": [pd.Timestamp(row.submitted) for row in report.hypotheses],
            "similarity": [row.similarity for row in report.hypotheses],
        }
    )
    if table["day"].nunique() < 2:
        st.caption("A curve over time needs copies of two days.")
        return
    days = table.groupby("day", as_index=False).agg(
        similarity=("similarity", "mean"), hypotheses=("similarity", "size")
    )
    chart = (
        alt.Chart(days)
        .mark_line(point=True, color=BLUE)
        .encode(
            x=alt.X("day:T", title="Day of submission"),
            y=alt.Y("similarity:Q", title="Same structure (F1)", scale=alt.Scale(domain=[0, 1])),
            tooltip=["day:T", alt.Tooltip("similarity:Q", format=".2f"), "hypotheses:Q"],
        )
        .properties(height=220)
    )
    st.altair_chart(chart, width="stretch")


def draw_downloads(report: ProjectAgreement, project: Project) -> None:
    """Draw the buttons that save the figures."""
    data = report.to_json()
    with st.container(horizontal=True, gap="small"):
        draw_download("Hypotheses (CSV)", f"{project.name}-agreement.csv", lambda: data["hypotheses"])
        draw_download(
            "All figures (JSON)", f"{project.name}-agreement.json", lambda: json.dumps(data).encode()
        )
