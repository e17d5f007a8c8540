"""A method of training: its configuration, its training, its evaluation; and the methods that there are.

A method joins the queue, the command line and the page by a `Method` record and nothing else. Those of this
project stand in `_OWN`; a method of another package joins by an entry point of the group `entail.methods`
that leads to its record::

    [project.entry-points."entail.methods"]
    mine = "my_package.my_module:METHOD"
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from entail.errors import JobError
from entail.jobs.fields import Field, changed, config_of, fields_of
from entail.jobs.source import Source, TreeSource
from entail.pointers import Role
from entail.progress import ProgressCallback
from entail.training.task import Watch

if TYPE_CHECKING:
    from entail.evaluation.measured import QueryFigures

GROUP = "entail.methods"
"""Entry points of other packages that lead to a `Method`."""

_OWN = (
    *("entail.jobs.aeenc:AEENC", "entail.jobs.gausscse:GAUSSCSE"),
    *("entail.jobs.tuning:TUNING", "entail.jobs.tuning:DPR", "entail.jobs.arcf:ARCF"),
    "entail.jobs.judge:JUDGE",
)


class Options(TypedDict):
    """What every training of this project takes by these names; see `Run`."""

    out: Path
    work: Path
    device: str | None
    checkpoint_seconds: float
    progress: ProgressCallback
    watch: Watch
    stop: Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class Run:
    """Where and how a job trains.

    Attributes:
        out: Folder for the encoder. It is moved to its place under `models/` when all is done, so a method
            need not write it in one move; it is not there at the start.
        work: Folder for checkpoints, the same when the job is resumed.
        device: `auto`, `cpu`, `cuda` ...; None: the settings'.
        checkpoint_seconds: Between two checkpoints.
        progress: Told how far it is.
        watch: Told of every step, evaluation and warning.
        stop: To be asked after every step whether to stop there, with a checkpoint written first.
    """

    out: Path
    work: Path
    device: str | None = None
    checkpoint_seconds: float = 30.0
    progress: ProgressCallback
    watch: Watch
    stop: Callable[[], bool]

    @property
    def options(self) -> Options:
        """All of it, to be handed on: `train(data, config, **run.options)`."""
        return Options(
            out=self.out,
            work=self.work,
            device=self.device,
            checkpoint_seconds=self.checkpoint_seconds,
            progress=self.progress,
            watch=self.watch,
            stop=self.stop,
        )


@dataclass(frozen=True)
class Preview:
    """What would be trained on, before it is.

    Attributes:
        counts: What of it there is, such as queries, positives, negatives.
        left_out: Reason in words -> how many are left out for it.
        header: Names of the columns of `rows`.
        rows: Some of it, to look at.
    """

    counts: Mapping[str, int]
    left_out: Mapping[str, int] = field(default_factory=dict)
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Method:
    """How a kind of encoder is trained.

    Attributes:
        name: In commands, jobs and `entail.json`; letters, digits, hyphens.
        config: Frozen dataclass of its settings, see `entail.jobs.fields`.
        train: Trains on the source's data by a configuration and writes `run.out`; goes on from what is in
            `run.work`. Returns what it came to, of JSON's types; lists under `warnings` are shown.
        evaluate: Measures an encoder, by name or folder, on the data's held-out part; None where it has none.
        title: For people.
        source: Dataclass of what it reads, see `entail.jobs.source.Source`.
        preview: Says what a training on some data would learn from.
        common: Names of the settings that a form shows first; none: all of them, as they come.
        presets: Settings to begin with: title -> configuration; none: the defaults alone.
        for_decisions: Title of the one to begin with where a team's own decisions are learnt from.
        encodes: Whether it makes encoders; what is none can be made the active one of no corpus.
        makes: What it makes where that is no encoder, in words.
        use: Where that is of use then, a clause; commands in backquotes.
        role: What that which it makes is in use for, and compared with.
    """

    name: str
    config: type[Any]
    train: Callable[[Any, Any, Run], Mapping[str, Any]]
    evaluate: Callable[[str | Path, Any, ProgressCallback | None], QueryFigures | None]
    title: str = ""
    source: type[Any] = TreeSource
    preview: Callable[[Any, Any], Preview] | None = None
    common: tuple[str, ...] = ()
    presets: Mapping[str, Any] = field(default_factory=dict)
    for_decisions: str | None = None
    encodes: bool = True
    makes: str = "an encoder"
    use: str = "its package says what for"
    role: Role = "retriever"

    @property
    def fields(self) -> tuple[Field, ...]:
        """The settings as fields of a form."""
        return fields_of(self.config)

    @property
    def source_fields(self) -> tuple[Field, ...]:
        """The data as fields of a form."""
        return fields_of(self.source)

    def configured(self, values: Mapping[str, object]) -> Any:  # noqa: ANN401 - the method's own
        """Return a configuration of values by name; see `config_of`."""
        return config_of(self.config, values)

    def changed(self, values: Mapping[str, object]) -> dict[str, Any]:
        """Return those of a configuration's values that are not the defaults."""
        return changed(self.configured(values))

    def reading(self, values: Mapping[str, object]) -> Source:
        """Return a source of values by name; see `config_of`."""
        source: Source = config_of(self.source, values)
        return source


@cache
def methods() -> Mapping[str, Method]:
    """Return the methods that there are, by name: this project's, then those of other packages.

    A package whose method cannot be loaded, or takes a name that is taken, is left out; see `broken_methods`.
    """
    return _found()[0]


def broken_methods() -> Mapping[str, str]:
    """Return entry points that lead to no method -> why."""
    return _found()[1]


def method(name: str) -> Method:
    """Return a method by name.

    Raises:
        JobError: If there is none of this name; lists those there are.
    """
    if name in methods():
        return methods()[name]
    broken = broken_methods().get(name)
    why = f" ({name} cannot be loaded: {broken})" if broken else ""
    raise JobError(f"no method is called {name!r}; here are: {', '.join(methods())}{why}")


@cache
def _found() -> tuple[Mapping[str, Method], Mapping[str, str]]:
    found: dict[str, Method] = {}
    broken: dict[str, str] = {}
    for place in _OWN:
        module, _, attribute = place.partition(":")
        own: Method = getattr(importlib.import_module(module), attribute)
        found[own.name] = own
    for entry in metadata.entry_points(group=GROUP):
        try:
            loaded = entry.load()
            if not isinstance(loaded, Method):
                raise TypeError(f"expected a Method, found {type(loaded).__name__}")
            if loaded.name in found:
                raise ValueError(f"there is a method called {loaded.name!r} already")
            _ = loaded.fields, loaded.source_fields
        except Exception as error:
            broken[entry.name] = f"{type(error).__name__}: {error}"
            continue
        found[loaded.name] = loaded
    return found, broken
