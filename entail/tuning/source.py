"""Training data of both stages: questions with passages, and entailment pairs to mix in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from entail.errors import SettingsError
from entail.training.fields import check_values

if TYPE_CHECKING:
    from entail.data.nli.pairs import NliPair
    from entail.data.passages.files import Question
    from entail.progress import ProgressCallback
    from entail.tuning.examples import Examples

SAMPLE = {"questions": "passages.json", "dev": "passages_dev.json"}
"""Values of a `PassageSource` for the bundled sample."""


@dataclass(frozen=True)
class PassageData:
    """Training data of passage retrieval.

    `dev_questions` are those of the dev file `split`, for evaluation; `dev` those with a gold passage in the
    pool. `nli` are entailment pairs of the first stage.
    """

    examples: Examples
    dev: Examples | None
    dev_questions: tuple[Question, ...]
    split: str
    nli: tuple[NliPair, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PassageSource:
    """Questions with reference passages, in the formats of retrieval data sets.

    Raises:
        SettingsError: If there are no questions.
    """

    questions: Annotated[
        Path | None,
        "Questions with reference passages: SQuAD or DPR JSON, NQ-open, or a BEIR folder",
    ] = None
    passages: Annotated[
        tuple[Path, ...],
        "Pool of passages, such as psgs_w100.tsv or collection.tsv; default: those of questions and dev",
    ] = ()
    qrels: Annotated[Path | None, "Relevance judgements of MS MARCO or TREC, for questions without any"] = (
        None
    )
    dev: Annotated[
        Path | None, "Dev questions that select the weights and compare with the active encoder"
    ] = None
    split: Annotated[str, "Training split of a BEIR folder: qrels/SPLIT.tsv"] = "train"
    dev_split: Annotated[str, "Dev split of a BEIR folder"] = "dev"

    def __post_init__(self) -> None:
        if self.questions is None:
            raise SettingsError(
                "expected --questions FILE; give questions with reference passages to learn from"
            )
        check_values(self, SettingsError)

    def read(self, *, keep: Path | None = None, progress: ProgressCallback | None = None) -> PassageData:
        """Return the data; the passages are stored in the data folder.

        Raises:
            EntailError: If a file or a data set cannot be read, or no passage is in the pool.
        """
        from entail.evaluation.passages.retrieval import judged_questions
        from entail.evaluation.passages.store import store_name, store_passages
        from entail.settings import load_settings
        from entail.tuning.examples import examples_of

        assert self.questions is not None
        files = self.passages or (self.questions, self.dev)
        pool = tuple(dict.fromkeys(file for file in files if file is not None))
        folder = load_settings().data_dir / "passages" / store_name(pool)
        store = store_passages(pool, folder, progress=progress)
        questions = judged_questions(self.questions, qrels=self.qrels, split=self.split)
        dev = judged_questions(self.dev, split=self.dev_split) if self.dev else ()
        return PassageData(
            examples=examples_of(store, questions),
            dev=examples_of(store, dev) if dev else None,
            dev_questions=dev,
            split=self.dev.name if self.dev else "",
        )

    def __str__(self) -> str:
        assert self.questions is not None
        return self.questions.name


@dataclass(frozen=True, kw_only=True)
class TuningSource(PassageSource):
    """Questions with reference passages, and entailment pairs to mix in."""

    nli: Annotated[tuple[Path, ...], "Entailment pairs to mix in: files, or Hub data sets such as snli"] = ()

    def is_elsewhere(self, value: Path) -> bool:
        """Return whether this is the name of a data set on the Hub instead of a file."""
        from entail.evaluation.nli.sources import is_on_hub

        return value in self.nli and is_on_hub(str(value))

    def read(self, *, keep: Path | None = None, progress: ProgressCallback | None = None) -> PassageData:
        """Return the data, with the entailment pairs; see `PassageSource.read`."""
        from entail.training.nli_source import load_pairs

        pairs = (pair for file in self.nli for pair in load_pairs(file, None, "train").pairs)
        entailments = tuple(pair for pair in pairs if pair.label == "entailment")
        return replace(super().read(keep=keep, progress=progress), nli=entailments)

    def __str__(self) -> str:
        nli = ", ".join(file.name for file in self.nli)
        return super().__str__() + (f", and entailments of {nli}" if nli else "")
