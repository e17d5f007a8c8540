"""Cards of the Results page: finding and table of each experiment."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from entail.ui.components.elements import draw_table, show_errors
from entail.ui.results.figures import Experiment, read_figures
from entail.ui.shared.text import label


def draw_cards() -> None:
    """Draw a card for each experiment."""
    with show_errors():
        figures = read_figures()
        for experiment in figures.experiments:
            _draw_experiment(experiment)
        st.caption(f"Commit {label(figures.made.commit)}, {label(figures.made.date)}")


def _draw_experiment(experiment: Experiment) -> None:
    table = pd.DataFrame(experiment.rows, columns=experiment.columns)
    numeric = table.select_dtypes("number")
    with st.container(border=True, key=f"figure-{experiment.name}", gap="xsmall"):
        st.markdown(f"##### {label(experiment.title)}")
        st.markdown(label(" ".join(experiment.finding)))
        draw_table(
            table,
            key=f"results-{experiment.name}",
            column_config={
                name: st.column_config.ProgressColumn(
                    format="%.3f" if numeric[name].max() <= 1 else "%.1f",
                    min_value=0.0,
                    max_value=max(1.0, float(numeric[name].max())),
                )
                for name in numeric
            },
        )
        st.caption(label(experiment.hardware))
