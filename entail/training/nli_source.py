"""Entailment pairs for training and dev, from files or data sets of the Hub."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from entail.errors import SettingsError
from entail.training.fields import check_values

if TYPE_CHECKING:
    from entail.data.nli.pairs import NliPair, NliReading
    from entail.data.nli.triplets import NliTriplets

SAMPLE = {"pairs": ("pairs.jsonl",), "dev": "pairs_dev.jsonl"}
"""Values of a `PairSource` for the bundled sample."""


@dataclass(frozen=True)
class PairData:
    """Training pairs in the order of the files, and dev pairs of a split that select the weights.

    `skipped` training rows have another label or are unreadable.
    """

    pairs: tuple[NliPair, ...]
    dev: tuple[NliPair, ...]
    skipped: int
    split: str

    @cached_property
    def triplets(self) -> NliTriplets:
        """Entailment pairs, each with a contradicted hypothesis of its premise where there is one."""
        from entail.data.nli.triplets import nli_triplets

        return nli_triplets(self.pairs)


@dataclass(frozen=True, kw_only=True)
class PairSource:
    """Labelled pairs: SNLI, MultiNLI, SICK, or columns premise, hypothesis and label; by file or by name.

    Names are those of data sets on the Hub, see `entail.evaluation.nli.sources`. Without a revision, a
    resumed job reads the newest one.
    """

    pairs: Annotated[
        tuple[Path, ...],
        "Labelled pairs: SNLI, MultiNLI, SICK, CSV, TSV or JSONL, may be gzipped; or a Hub data set: snli, "
        "multi_nli, organisation/name@revision:configuration",
    ] = ()
    split: Annotated[
        str | None,
        "Training split; default: train of a Hub data set, all of a file",
    ] = None
    dev: Annotated[
        Path | None,
        "Dev pairs that select the weights and fit the threshold: a file, or a Hub data set",
    ] = None
    dev_split: Annotated[
        str | None,
        "Dev split, such as validation_matched or TRIAL; default: dev of a Hub data set",
    ] = None

    def __post_init__(self) -> None:
        check_values(self, SettingsError)
        if not self.pairs:
            raise SettingsError(
                "expected --pairs FILE, or the name of a data set on the Hub; give entailment pairs to learn "
                "from"
            )

    def is_elsewhere(self, value: Path) -> bool:
        """Return whether a value is the name of a data set on the Hub, not a file."""
        from entail.evaluation.nli.sources import is_on_hub

        return is_on_hub(str(value))

    @staticmethod
    def named(name: str) -> Path:
        """Return the name of a data set on the Hub as a value of a field; `SettingsError` if it is none."""
        from entail.data.reading import shorten
        from entail.evaluation.nli.sources import ALIASES, is_on_hub

        with contextlib.suppress(OSError):  # longer than any name of a file may be
            if is_on_hub(name):
                return Path(name)
            if Path(name).exists():
                raise SettingsError(
                    f"a file or folder here is called {name!r} and would be read instead; take it as a file, "
                    f"or name the data set with its organisation: {ALIASES.get(name, f'organisation/{name}')}"
                )
        raise SettingsError(
            f"expected the name of a data set on the Hub ({', '.join(ALIASES)}, or "
            f"organisation/name@revision:configuration), found {shorten(name)!r}"
        )

    def read(self, *, keep: Path | None = None) -> PairData:
        """Return the pairs of all labels.

        Raises:
            EntailError: If a file or a data set cannot be read, or has no such split.
        """
        readings = [load_pairs(file, self.split, "train") for file in self.pairs]
        return PairData(
            pairs=tuple(pair for reading in readings for pair in reading.pairs),
            dev=tuple(load_pairs(self.dev, self.dev_split, "dev").pairs) if self.dev else (),
            skipped=sum(reading.skipped for reading in readings),
            split=self._describe(self.dev, self.dev_split) if self.dev else "",
        )

    def _describe(self, file: Path, split: str | None) -> str:
        name = str(file) if self.is_elsewhere(file) else file.name
        return f"{name}, {split}" if split else name

    def __str__(self) -> str:
        return ", ".join(self._describe(file, self.split) for file in self.pairs)


def load_pairs(file: Path, split: str | None, usual: str) -> NliReading:
    """Return the pairs of a file or a data set of the Hub, there by default those of the usual split."""
    from entail.data.nli.pairs import read_nli
    from entail.evaluation.nli.sources import is_on_hub, load_nli

    if is_on_hub(str(file)):
        return load_nli(str(file), split=split or usual)
    return read_nli(file, split=split, name=file.name)
