"""What a training on entailment pairs reads: files of them or data sets of the Hub, and some for dev."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from entail.errors import SettingsError

if TYPE_CHECKING:
    from entail.data.nli import NliPair, NliReading
    from entail.data.nli_triplets import NliTriplets


@dataclass(frozen=True)
class NliData:
    """What trainers on entailment pairs read.

    Attributes:
        triplets: What is learnt from.
        dev: Pairs to choose the best weights on, none where none were given.
        skipped: Rows to learn from that are none of the three labels, or cannot be read.
        split: The dev pairs in words.
    """

    triplets: NliTriplets
    dev: tuple[NliPair, ...]
    skipped: int
    split: str


@dataclass(frozen=True)
class PairData:
    """What trainers on pairs of every label read.

    Attributes:
        pairs: What is learnt from, in the order of the files.
        dev: Pairs to choose the best weights on, none where none were given.
        skipped: Rows to learn from that are none of the three labels, or cannot be read.
        split: The dev pairs in words.
    """

    pairs: tuple[NliPair, ...]
    dev: tuple[NliPair, ...]
    skipped: int
    split: str


@dataclass(frozen=True, kw_only=True)
class PairSource:
    """Labelled pairs: SNLI, MultiNLI, SICK, or columns premise, hypothesis and label; by file or by name.

    A name is one of a data set on the Hub, as `entail.evaluation.nli_sources` reads it: `snli`,
    `organisation/name@revision:configuration`. Without a revision a job that is resumed reads what is there
    by then.

    Raises:
        SettingsError: If nothing to learn from is given.
    """

    pairs: Annotated[
        Path | None,
        "labelled pairs to learn from: SNLI, MultiNLI, SICK, CSV, TSV, JSONL, may be gzipped; or the name "
        "of a data set on the Hub: snli, multi_nli, organisation/name@revision:configuration",
    ] = None
    second: Annotated[Path | None, "a second file or data set to learn from"] = None
    third: Annotated[Path | None, "a third one"] = None
    split: Annotated[
        str | None,
        "part of these to learn from, where there are several; default: train of a data set of the Hub, all "
        "of a file",
    ] = None
    dev: Annotated[
        Path | None,
        "pairs to choose the best weights on, and to fit a threshold on where there is one: a file, or a "
        "data set on the Hub",
    ] = None
    dev_split: Annotated[
        str | None,
        "part of these, such as validation_matched or TRIAL; default: dev of a data set of the Hub",
    ] = None

    def __post_init__(self) -> None:
        """Check that something is learnt from."""
        if not self.files:
            raise SettingsError(
                "expected --pairs FILE, or the name of a data set on the Hub; give entailment pairs to learn "
                "from"
            )

    @property
    def files(self) -> tuple[Path, ...]:
        """The files to learn from."""
        return tuple(file for file in (self.pairs, self.second, self.third) if file is not None)

    def is_elsewhere(self, given: Path) -> bool:
        """Say whether this is no file but the name of a data set on the Hub."""
        from entail.evaluation.nli_sources import is_on_hub

        return is_on_hub(str(given))

    @staticmethod
    def named(name: str) -> Path:
        """Return the name of a data set on the Hub as a value of a field; the Hub is not asked.

        Raises:
            SettingsError: If it is no such name, or a file that is here is called so.
        """
        from entail.data.reading import shorten
        from entail.evaluation.nli_sources import ALIASES, is_on_hub

        try:
            if is_on_hub(name):
                return Path(name)
            taken = Path(name).exists()
        except OSError:  # longer than any name of a file may be
            taken = False
        if taken:
            raise SettingsError(
                f"a file or folder here is called {name!r} and would be read instead; take it as a file, or "
                f"name the data set with its organisation: {ALIASES.get(name, f'organisation/{name}')}"
            )
        raise SettingsError(
            f"expected the name of a data set on the Hub ({', '.join(ALIASES)}, or "
            f"organisation/name@revision:configuration), found {shorten(name)!r}"
        )

    def read_pairs(self) -> PairData:
        """Return the pairs of every label, all of them.

        Raises:
            EntailError: If a file or a data set cannot be read, or has no such split.
        """
        readings = [self._reading(file, self.split, "train") for file in self.files]
        return PairData(
            pairs=tuple(pair for reading in readings for pair in reading.pairs),
            dev=tuple(self._reading(self.dev, self.dev_split, "dev").pairs) if self.dev else (),
            skipped=sum(reading.skipped for reading in readings),
            split=self._called(self.dev, self.dev_split) if self.dev else "",
        )

    def _reading(self, given: Path, split: str | None, usual: str) -> NliReading:
        from entail.evaluation.nli_sources import load_nli

        on_hub = self.is_elsewhere(given)
        return load_nli(str(given) if on_hub else given, split=split or (usual if on_hub else None))

    def _called(self, given: Path, split: str | None) -> str:
        name = str(given) if self.is_elsewhere(given) else given.name
        return f"{name}, {split}" if split else name

    def __str__(self) -> str:
        return ", ".join(self._called(file, self.split) for file in self.files)


@dataclass(frozen=True, kw_only=True)
class NliSource(PairSource):
    """Entailment pairs, each with a contradicted hypothesis of its premise where there is one."""

    limit: Annotated[int | None, "take only the first triplets"] = None

    def __post_init__(self) -> None:
        """Check that something is learnt from."""
        PairSource.__post_init__(self)
        require_some(self.limit)

    def read(self, *, keep: Path | None = None) -> NliData:
        """Return the data; files are taken as they are.

        Raises:
            EntailError: If a file or a data set cannot be read, or has no such split.
        """
        from dataclasses import replace

        from entail.data.nli_triplets import nli_triplets

        whole = self.read_pairs()
        triplets = nli_triplets(whole.pairs)
        if self.limit is not None:
            triplets = replace(triplets, triplets=triplets.triplets[: self.limit])
        return NliData(triplets=triplets, dev=whole.dev, skipped=whole.skipped, split=whole.split)

    def __str__(self) -> str:
        return (f"the first {self.limit:,} triplets of " if self.limit else "") + PairSource.__str__(self)


def require_some(limit: int | None) -> None:
    """Check a number of examples to learn from.

    Raises:
        SettingsError: If there would be nothing to tell apart.
    """
    if limit is not None and limit < 2:
        raise SettingsError(f"limit: expected at least 2, found {limit}")
