"""Measured figures of the Results page, as shipped with the package, and their cards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from entail.data.stored import parse_as
from entail.errors import DataError
from entail.ui.components.elements import show_errors
from entail.ui.shared.chart_marks import BLUE, GREY
from entail.ui.shared.text import label

if TYPE_CHECKING:
    import altair as alt

FILE = Path(__file__).with_name("figures.json")
_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """Commit and date of a measurement."""

    commit: str
    date: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """Result of one experiment.

    Attributes:
        name: Identifier, part of widget keys.
        title: Heading.
        label: What the figure counts.
        figure: Headline figure.
        finding: Its rival's figure, as a sentence.
        conditions: What else is to be known.
        measure: Name of the values, with their unit.
        rows: Name and value of each method, rivals first.
        rivals: Number of rivals.
        hardware: Hardware that it was measured with.
        measured: When it was measured.
    """

    name: str
    title: str
    label: str
    figure: str
    finding: str
    conditions: str
    measure: str
    rows: list[tuple[str, float]]
    rivals: int
    hardware: str
    measured: Measured


@dataclass(frozen=True, slots=True)
class Figures:
    """Content of the page."""

    experiments: list[Experiment]


def read_figures(file: Path = FILE) -> Figures:
    """Return the figures that ship.

    Raises:
        DataError: If the file is missing or damaged.
    """
    try:
        return parse_as(Figures, file.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(
            f"expected the figures of the page in {file.name}, found none ({error}); install entail again"
        ) from error


def draw_cards() -> None:
    """Draw a card for each experiment."""
    with show_errors():
        experiments = read_figures().experiments
        for start in range(0, len(experiments), _COLUMNS):
            for cell, experiment in zip(
                st.columns(_COLUMNS), experiments[start : start + _COLUMNS], strict=False
            ):
                with cell:
                    _draw_experiment(experiment)


def _draw_experiment(experiment: Experiment) -> None:
    with st.container(border=True, key=f"figure-{experiment.name}", gap="xsmall", height="stretch"):
        st.markdown(f"##### {label(experiment.title)}")
        st.metric(label(experiment.label), experiment.figure)
        st.markdown(label(experiment.finding))
        values = "; ".join(f"{name} {value:.4g}" for name, value in experiment.rows)
        st.altair_chart(draw_bars(experiment), width="stretch", alt=f"{experiment.measure}: {values}")
        measured = experiment.measured
        about = f"{measured.date}, commit {measured.commit}, {experiment.hardware}."
        st.caption(label(f"{experiment.conditions} {about}"))


def draw_bars(experiment: Experiment) -> alt.LayerChart:
    """Return a bar with its value for each method, rivals in grey."""
    import altair as alt

    kinds = ("rival", "entail")
    table = pd.DataFrame(
        [(name, value, kinds[at >= experiment.rivals]) for at, (name, value) in enumerate(experiment.rows)],
        columns=["method", "value", "kind"],
    )
    colour = alt.Scale(domain=kinds, range=[GREY, BLUE])
    base = alt.Chart(table).encode(
        y=alt.Y("method:N", sort=None, title=None, axis=alt.Axis(labelLimit=180, labelOverlap=False))
    )
    most = max(1.0, float(table["value"].max()))
    bars = base.mark_bar().encode(
        x=alt.X("value:Q", axis=None, scale=alt.Scale(domain=[0, 1.2 * most])),
        color=alt.Color("kind:N", scale=colour, legend=None),
    )
    values = base.mark_text(align="left", dx=4, color=GREY).encode(
        x="value:Q", text=alt.Text("value:Q", format=".1f" if most > 1 else ".3f")
    )
    chart: alt.LayerChart = (bars + values).properties(title=experiment.measure, height=70 + 26 * len(table))
    return chart
