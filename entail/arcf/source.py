"""Source of a training on chains: a release's tables and questions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from entail.errors import SettingsError

if TYPE_CHECKING:
    from entail.data.worldtree.questions import Question, QuestionReading
    from entail.data.worldtree.tables import FactTables


@dataclass(frozen=True)
class WorldtreeData:
    """Data of trainers on explanations.

    Attributes:
        facts: All facts.
        questions: Questions with explanations to learn from.
        dev: The same of the dev file, to choose the best weights on.
        reading: What became of the rows of the questions.
        split: The dev file in words.
        unscored: Whether explanations that the shared task does not score are learnt from, too.
    """

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
    limit: Annotated[int | None, "Maximum number of questions"] = None

    def __post_init__(self) -> None:
        """Check that something is learnt from."""
        if self.tables is None or self.questions is None:
            raise SettingsError("expected --tables DIR and --questions FILE; give a release of WorldTree")
        if self.limit is not None and self.limit < 1:
            raise SettingsError(f"limit: expected at least 1, found {self.limit}")

    def read(self, *, keep: Path | None = None) -> WorldtreeData:
        """Return the data; files are taken as they are.

        Raises:
            EntailError: If a file cannot be read.
        """
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
