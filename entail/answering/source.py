"""Training data of readers: questions with a passage and answers marked in it, in SQuAD's format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from entail.errors import SettingsError
from entail.training.fields import check_values

if TYPE_CHECKING:
    from entail.answering.squad import MarkedQuestion
    from entail.progress import ProgressCallback


@dataclass(frozen=True)
class ReaderData:
    """Training questions in the order of the file, and dev questions that select the weights.

    `left_out` counts questions of both without an answer in their passage.
    """

    questions: tuple[MarkedQuestion, ...]
    dev: tuple[MarkedQuestion, ...]
    left_out: int


@dataclass(frozen=True, kw_only=True)
class ReaderSource:
    """Questions with answers marked in passages, in SQuAD's format.

    Raises:
        SettingsError: If there is no file of questions.
    """

    questions: Annotated[
        Path | None, "Questions with answers in passages: SQuAD JSON 1.1 or 2.0, may be gzipped"
    ] = None
    dev: Annotated[Path | None, "Dev questions that select the weights; same format"] = None

    def __post_init__(self) -> None:
        if self.questions is None:
            raise SettingsError("expected --questions FILE; give questions with answers in passages")
        check_values(self, SettingsError)

    def read(self, *, keep: Path | None = None, progress: ProgressCallback | None = None) -> ReaderData:
        """Return the data.

        Raises:
            FormatError: If a file is no SQuAD JSON.
        """
        from entail.answering.squad import read_marked

        assert self.questions is not None
        rows = [list(read_marked(file)) if file is not None else [] for file in (self.questions, self.dev)]
        questions, dev = (tuple(row for row in part if row.answers) for part in rows)
        return ReaderData(
            questions=questions,
            dev=dev,
            left_out=sum(map(len, rows)) - len(questions) - len(dev),
        )

    def __str__(self) -> str:
        assert self.questions is not None
        return self.questions.name


def bundled_questions() -> dict[str, object]:
    """Return the values of a `ReaderSource` for the bundled sample."""
    from entail.data.bundled import sample_dir

    return {"questions": sample_dir() / "passages.json", "dev": sample_dir() / "passages_dev.json"}
