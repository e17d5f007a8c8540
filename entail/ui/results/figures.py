"""Measured figures of the Results page, as shipped with the package, and their cards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import streamlit as st

from entail.data.stored import parse_as
from entail.errors import DataError
from entail.ui.components.elements import draw_table, show_errors
from entail.ui.shared.text import label

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
        finding: Two sentences.
        columns: Names of the columns, the name of a row first.
        rows: Name and values of each row, the baseline first.
        hardware: Hardware that it was measured with.
        measured: When it was measured.
    """

    name: str
    title: str
    finding: list[str]
    columns: list[str]
    rows: list[list[str | float]]
    hardware: str
    measured: Measured

    def __post_init__(self) -> None:
        """Raise `ValueError` if a row has another number of cells than there are columns."""
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(
                f"{self.name}: expected {len(self.columns)} cells in each row, found another number"
            )


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
