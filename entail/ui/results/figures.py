"""Headline figures and the documents behind them, as shipped with the package."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import entail
from entail.data.stored import parse_as
from entail.errors import DataError

FILE = Path(__file__).with_name("figures.json")
"""Written by `scripts/write_readme.py` from `docs/results`."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Bar of a chart: its name, a value for each measure, the retriever whose colour it has."""

    name: str
    values: list[float]
    retriever: str = ""


@dataclass(frozen=True, slots=True)
class Headline:
    """One figure of the page.

    Attributes:
        key: Identifier, part of widget keys.
        title: Heading.
        sentence: Result in one sentence.
        data: Data on which it was measured.
        page: Name of its document in `docs/results`, without ending.
        measures: Names of the measures, one or two.
        bars: Values, the baseline first.
    """

    key: str
    title: str
    sentence: str
    data: str
    page: str
    measures: list[str]
    bars: list[Bar]


@dataclass(frozen=True, slots=True)
class Limit:
    """Sentence about the limits of the figures, with its document if there is one."""

    text: str
    page: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """Content of the page."""

    headlines: list[Headline]
    limits: list[Limit] = field(default_factory=list)


def read_figures() -> Figures:
    """Return the figures that ship.

    Raises:
        DataError: If the file is missing or damaged.
    """
    try:
        return parse_as(Figures, FILE.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(
            f"expected the figures of the page in {FILE.name}, found none ({error}); install entail again"
        ) from error


def results_folder() -> Path:
    """Return the folder of the documents: inside the installed package, or `docs/results` of a checkout."""
    package = Path(entail.__file__).parent
    inside = package / "result_pages"
    return inside if inside.is_dir() else package.parent / "docs" / "results"


def read_document(name: str) -> str:
    """Return a document of `docs/results` as Markdown, without comments and without links to other files.

    Raises:
        DataError: If there is no such document.
    """
    file = results_folder() / f"{name}.md"
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"expected the document {file.name}, found none; install entail again") from error
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    return re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", text)
