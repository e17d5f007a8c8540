"""Cards of the Results page: finding and table of each experiment."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from entail.ui.components.elements import draw_table, show_errors
from entail.ui.results.figures import Experiment, read_figures
from entail.ui.shared.text import label

_COLUMNS = 3


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
    table = pd.DataFrame(experiment.rows, columns=experiment.columns)
    numeric = table.select_dtypes("number")
    decimals = {name: "%.3f" if numeric[name].max() <= 1 else "%.1f" for name in numeric}
    columns = {name: st.column_config.NumberColumn(format=decimals[name]) for name in numeric}
    if len(numeric.columns) == 1:  # a narrow card has no room for more bars
        (name,) = numeric
        most = max(1.0, float(numeric[name].max()))
        columns = {
            name: st.column_config.ProgressColumn(format=decimals[name], min_value=0.0, max_value=most)
        }
    finding, *conditions = experiment.finding
    with st.container(border=True, key=f"figure-{experiment.name}", gap="xsmall"):
        st.markdown(f"##### {label(experiment.title)}")
        st.markdown(label(finding))
        draw_table(table, key=f"results-{experiment.name}", column_config=columns)
        measured = experiment.measured
        about = f"{measured.date}, commit {measured.commit}, {experiment.hardware}."
        st.caption(label(" ".join([*conditions, about])))
