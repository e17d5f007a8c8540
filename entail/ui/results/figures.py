"""Measured figures of the Results page, as shipped with the package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from entail.data.stored import parse_as
from entail.errors import DataError

FILE = Path(__file__).with_name("figures.json")


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
