"""What both stages of entailment tuning read: questions, the pool of passages, entailment pairs to mix in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from entail.errors import SettingsError

if TYPE_CHECKING:
    from entail.data.nli import NliPair
    from entail.data.passages import Question
    from entail.progress import ProgressCallback
    from entail.tuning.examples import Examples


@dataclass(frozen=True)
class PassageData:
    """What trainers of passage retrieval read.

    Attributes:
        examples: Questions to learn from, over the pool.
        dev: Questions to choose the best weights on, over the same pool; None where none were given.
        dev_questions: The same as the file has them, to measure on.
        nli: Entailments to mix in.
        split: The dev questions in words.
    """

    examples: Examples
    dev: Examples | None
    dev_questions: tuple[Question, ...]
    nli: tuple[NliPair, ...]
    split: str


@dataclass(frozen=True, kw_only=True)
class PassageSource:
    """Questions with the passages that answer them, as retrieval data sets are released.

    Raises:
        SettingsError: If nothing to learn from is given.
    """

    questions: Annotated[
        Path | None,
        "questions to learn from with their gold passages: SQuAD or DPR JSON, NQ-open, a BEIR folder",
    ] = None
    passages: Annotated[
        Path | None,
        "the pool of passages; default: those of the questions' and dev files. psgs_w100.tsv, collection.tsv",
    ] = None
    more: Annotated[Path | None, "a second file of passages"] = None
    qrels: Annotated[Path | None, "judgements of MS MARCO or TREC, where the questions have none"] = None
    dev: Annotated[
        Path | None, "questions to choose the best weights on, and to compare with the active encoder on"
    ] = None
    nli: Annotated[
        Path | None,
        "entailment pairs to mix in while tuning: a file, or the name of a data set on the Hub such as snli",
    ] = None
    nli_second: Annotated[Path | None, "a second file or data set of them"] = None
    nli_third: Annotated[Path | None, "a third one"] = None
    nli_limit: Annotated[int | None, "so many of these entailments, evenly from all; default: all"] = None
    split: Annotated[str, "judgements of a BEIR folder to learn from: qrels/SPLIT.tsv"] = "train"
    dev_split: Annotated[str, "those of a BEIR folder that is given as dev"] = "dev"
    limit: Annotated[int | None, "so many of the questions, evenly from all; default: all"] = None

    def __post_init__(self) -> None:
        """Check that something is learnt from."""
        if self.questions is None:
            raise SettingsError("expected --questions FILE; give questions with gold passages to learn from")
        if self.more is not None and self.passages is None:
            raise SettingsError("expected --passages FILE before --more; give the pool")
        if self.nli is None and self.nli_files:
            raise SettingsError("expected --nli FILE before --nli-second and --nli-third; give the first")
        for name in ("limit", "nli_limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingsError(f"{name}: expected at least 1, found {value}")

    @property
    def pool(self) -> tuple[Path, ...]:
        """The files whose passages are searched."""
        given = (self.passages, self.more) if self.passages is not None else (self.questions, self.dev)
        return tuple(dict.fromkeys(file for file in given if file is not None))

    @property
    def nli_files(self) -> tuple[Path, ...]:
        """The files and data sets of entailments."""
        return tuple(one for one in (self.nli, self.nli_second, self.nli_third) if one is not None)

    def is_elsewhere(self, given: Path) -> bool:
        """Say whether this is no file but the name of a data set on the Hub."""
        from entail.evaluation.nli_sources import is_on_hub

        return given in self.nli_files and is_on_hub(str(given))

    def read(self, *, keep: Path | None = None, progress: ProgressCallback | None = None) -> PassageData:
        """Return the data; passages are kept in the data folder, files are taken as they are.

        Raises:
            EntailError: If a file or a data set cannot be read, or no passage is in the pool.
        """
        from entail.evaluation.passages import judged_questions
        from entail.evaluation.passages_store import store_name, store_passages
        from entail.settings import load_settings
        from entail.tuning.examples import examples_of

        assert self.questions is not None
        place = load_settings().data_dir / "passages" / store_name(self.pool)
        store = store_passages(self.pool, place, progress=progress)
        asked = judged_questions(self.questions, qrels=self.qrels, split=self.split).questions
        dev = judged_questions(self.dev, split=self.dev_split).questions if self.dev else ()
        return PassageData(
            examples=examples_of(store, evenly(asked, self.limit)),
            dev=examples_of(store, dev) if dev else None,
            dev_questions=dev,
            nli=self._entailments(),
            split=self.dev.name if self.dev else "",
        )

    def _entailments(self) -> tuple[NliPair, ...]:
        if self.nli is None:
            return ()
        from entail.evaluation.nli_sources import load_nli

        found: list[NliPair] = []
        for one in self.nli_files:
            on_hub = self.is_elsewhere(one)
            pairs = load_nli(str(one) if on_hub else one, split="train" if on_hub else None).pairs
            found += (pair for pair in pairs if pair.label == "entailment")
        return evenly(found, self.nli_limit)

    def __str__(self) -> str:
        assert self.questions is not None
        some = f"{self.limit:,} questions of " if self.limit else ""
        nli = ", ".join(one.name for one in self.nli_files)
        return f"{some}{self.questions.name}" + (f", and entailments of {nli}" if nli else "")


def evenly(rows: Sequence[Any], count: int | None) -> tuple[Any, ...]:
    """Return so many rows, evenly from all, in order: the first ones of a file are of few articles.

    >>> evenly("abcdef", 3)
    ('a', 'c', 'e')
    """
    if count is None or count >= len(rows):
        return tuple(rows)
    return tuple(rows[at * len(rows) // count] for at in range(count))


def with_mined(data: PassageData, *, depth: int, progress: ProgressCallback | None = None) -> PassageData:
    """Add hard negatives to questions that have none, those of dev too: their pool is otherwise an easy one.

    Raises:
        EvaluationError: If some have none, and the pool is too large for BM25 in memory.
    """
    from entail.tuning.examples import with_missing_negatives

    learnt, dev = data.examples.examples, data.dev.examples if data.dev else ()
    every = replace(data.examples, examples=(*learnt, *dev))  # over one pool: its words are indexed once
    found = with_missing_negatives(every, depth=depth, progress=progress).examples
    return replace(
        data,
        examples=replace(data.examples, examples=found[: len(learnt)]),
        dev=data.dev and replace(data.dev, examples=found[len(learnt) :]),
    )
