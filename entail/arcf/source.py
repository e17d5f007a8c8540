"""Source of training data: tables and questions of a WorldTree release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from entail.errors import SettingsError
from entail.training.fields import check_values

if TYPE_CHECKING:
    from entail.data.worldtree.questions import Question, QuestionReading
    from entail.data.worldtree.tables import FactTables


@dataclass(frozen=True)
class WorldtreeData:
    """Training data of ARCF; `unscored` includes explanations that the shared task does not score."""

    facts: FactTables
    questions: tuple[Question, ...]
    dev: tuple[Question, ...]
    reading: QuestionReading
    split: str
    unscored: bool = False


@dataclass(frozen=True, kw_only=True)
class WorldtreeSource:
    """An official release of WorldTree, 2019 or 2020, or anything in its format.

    Raises:
        SettingsError: If tables or questions are not given.
    """

    tables: Annotated[Path | None, "Folder of fact tables (.tsv) as released, or a ZIP of it"] = None
    questions: Annotated[Path | None, "Questions with explanations, as released"] = None
    dev: Annotated[Path | None, "Dev questions that select the weights"] = None
    unscored: Annotated[bool, "Include explanations that the shared task does not score"] = False
    limit: Annotated[int | None, Ge(1), "Maximum number of questions"] = None

    def __post_init__(self) -> None:
        if self.tables is None or self.questions is None:
            raise SettingsError("expected --tables DIR and --questions FILE; give a release of WorldTree")
        check_values(self, SettingsError)

    def read(self, *, keep: Path | None = None) -> WorldtreeData:
        """Read the files; raise `EntailError` for one that cannot be read."""
        from entail.data.worldtree.questions import read_questions
        from entail.data.worldtree.tables import read_fact_tables

        assert self.tables is not None
        assert self.questions is not None
        reading = read_questions(self.questions)
        return WorldtreeData(
            facts=read_fact_tables(self.tables),
            questions=(reading.explained if self.unscored else reading.scored)[: self.limit],
            dev=read_questions(self.dev).scored if self.dev else (),
            reading=reading,
            split=self.dev.name if self.dev else "",
            unscored=self.unscored,
        )

    def __str__(self) -> str:
        assert self.questions is not None
        first = f"the first {self.limit:,} of " if self.limit else ""
        return first + self.questions.name
