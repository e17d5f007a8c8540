"""Adapters: one module a method, named as the method, with the functions of `Adapter`.

A minimal adapter of a method whose models are compared by one figure a query::

    def train(work: Work) -> None:
        train_mine(work.data.trees(work.sets["train"]), work.config(MY_METHOD), out=work.out)

    def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
        values = one_value_a_query(model, data.trees(sets["trees"]))
        return {"MAP": (values, np.ones(len(values)))}

Arms that only a table of a paper needs live in the adapter: it reads them from `work.extra`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from entail.training.fields import values_of
from entail.training.method import Method
from lab.data import DataFolder
from lab.errors import LabError

Values = NDArray[np.float64]
Measures = Mapping[str, tuple[Values, Values]]
"""Measure -> one value a query, and its weight; the figure is their weighted mean."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """One training: an arm or a stage, and a seed.

    Attributes:
        settings: Fields of the method's configuration that differ from the preset.
        preset: Name of a preset of the method; empty for its defaults.
        seed: Random seed.
        data: Data sets.
        sets: Role, such as `train` -> name of a data set.
        extra: Settings that only the adapter knows.
        initial: Model to start from.
        teachers: Models to be held to.
        out: Folder for the model; checkpoints are written next to it, so a stopped training resumes.
        cache: Folder for what several trainings share.
    """

    settings: Mapping[str, Any]
    preset: str
    seed: int
    data: DataFolder
    sets: Mapping[str, str]
    out: Path
    cache: Path
    extra: Mapping[str, Any] = field(default_factory=dict)
    initial: Path | None = None
    teachers: Sequence[Path] = ()

    def config(self, method: Method) -> Any:
        """Return the configuration: the settings and the seed over the preset, and the model to start from.

        Raises:
            LabError: If the method has no such preset.
            EntailError: If it has no such setting, or refuses a value.
        """
        if self.preset and self.preset not in method.presets:
            names = ", ".join(method.presets)
            raise LabError(f"{method.name} has no preset {self.preset!r}; its presets are: {names}")
        preset = method.presets[self.preset] if self.preset else method.config()
        started = {"initial": str(self.initial)} if self.initial else {}
        return method.make_config({**values_of(preset), **self.settings, **started, "seed": self.seed})


class Adapter(Protocol):
    """Functions of an adapter's module."""

    def train(self, work: Work) -> None:
        """Train a model into `work.out`, from the checkpoint next to it if there is one."""

    def measure(self, model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
        """Measure a model, a folder or a name of the catalogue, on the data sets of `[measure]`."""


def load_adapter(method: str) -> Adapter:
    """Return the adapter of a method.

    Raises:
        LabError: If there is none.
    """
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    if method not in names:
        raise LabError(f"no adapter is called {method!r}; the adapters are: {', '.join(names)}")
    return cast(Adapter, importlib.import_module(f"lab.adapters.{method}"))
