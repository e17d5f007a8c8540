"""What a training on entailment pairs reads: files of them, and a dev file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from entail.errors import SettingsError

if TYPE_CHECKING:
    from entail.data.nli import NliPair
    from entail.data.nli_triplets import NliTriplets


@dataclass(frozen=True)
class NliData:
    """What trainers on entailment pairs read.

    Attributes:
        triplets: What is learnt from.
        dev: Pairs to choose the best weights on, none without a dev file.
        skipped: Rows of the training files that are none of the three labels, or cannot be read.
        split: The dev file in words.
    """

    triplets: NliTriplets
    dev: tuple[NliPair, ...]
    skipped: int
    split: str


@dataclass(frozen=True, kw_only=True)
class NliSource:
    """Files of entailment pairs: SNLI, MultiNLI, SICK, or columns premise, hypothesis and label.

    Raises:
        SettingsError: If no file is given.
    """

    pairs: Annotated[
        Path | None, "entailment pairs to learn from: SNLI, MultiNLI, SICK, CSV, TSV, JSONL; may be gzipped"
    ] = None
    second: Annotated[Path | None, "a second file of pairs to learn from"] = None
    third: Annotated[Path | None, "a third one"] = None
    dev: Annotated[
        Path | None, "pairs to choose the best weights on (AUPRC), and to fit threshold and confidence on"
    ] = None
    limit: Annotated[int | None, "take only the first triplets"] = None

    def __post_init__(self) -> None:
        """Check that something is learnt from."""
        if not self.files:
            raise SettingsError("expected --pairs FILE; give entailment pairs to learn from")
        if self.limit is not None and self.limit < 2:
            raise SettingsError(f"limit: expected at least 2, found {self.limit}")

    @property
    def files(self) -> tuple[Path, ...]:
        """The files to learn from."""
        return tuple(file for file in (self.pairs, self.second, self.third) if file is not None)

    def read(self, *, keep: Path | None = None) -> NliData:
        """Return the data; files are taken as they are.

        Raises:
            EntailError: If a file cannot be read.
        """
        from dataclasses import replace

        from entail.data.nli import read_nli
        from entail.data.nli_triplets import nli_triplets

        readings = [read_nli(file) for file in self.files]
        triplets = nli_triplets(pair for reading in readings for pair in reading.pairs)
        if self.limit is not None:
            triplets = replace(triplets, triplets=triplets.triplets[: self.limit])
        return NliData(
            triplets=triplets,
            dev=tuple(read_nli(self.dev).pairs) if self.dev else (),
            skipped=sum(reading.skipped for reading in readings),
            split=self.dev.name if self.dev else "",
        )

    def __str__(self) -> str:
        first = f"the first {self.limit:,} triplets of " if self.limit else ""
        return first + ", ".join(file.name for file in self.files)
