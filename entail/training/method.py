"""Records of training methods, and the registry of those that are installed.

A `Method` record adds a method to the queue, the command line and the app. `_OWN` lists the methods of this
project; another package adds one by an entry point of the group `entail.methods`::

    [project.entry-points."entail.methods"]
    mine = "my_package.my_module:METHOD"
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from entail.errors import JobError, SettingsError
from entail.progress import ProgressCallback
from entail.training.fields import Field, config_of, fields_of, list_changes, read_values, values_of
from entail.training.loop.task import Watch

if TYPE_CHECKING:
    from entail.evaluation.retrieval.paired import QueryFigures


GROUP = "entail.methods"
"""Group of entry points by which other packages add a `Method`."""

_OWN = (
    *("entail.aeenc.method:AEENC", "entail.gausscse.method:GAUSSCSE"),
    *("entail.tuning.method:TUNING", "entail.tuning.method:DPR", "entail.arcf.method:ARCF"),
    *("entail.judge.method:JUDGE", "entail.aeenc.reranking.method:RERANKER"),
    "entail.answering.method:READER",
)
_PREVIEW_ROWS = 500

DECISIONS = "decisions"
"""Name of the preset for a team's decisions."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Output, device and callbacks of one training.

    Attributes:
        out: Folder for the model, written at the end; may only hold a model of the same method.
        work: Folder for checkpoints; default: `out` with the suffix `.training`.
        resume: Whether to continue from the checkpoint in `work`.
        device: `auto`, `cpu`, `cuda`, `cuda:1` ...; default: `ENTAIL_DEVICE`.
        data: Names of the data sets, for the card (`entail.training.cards.sources`).
        watch: Callback for every step, evaluation and warning.
        stop: Called after every step; True stops the training there, with a checkpoint.
    """

    out: Path | None = None
    work: Path | None = None
    resume: bool = True
    device: str | None = None
    checkpoint_seconds: float = 30.0
    data: Sequence[str] = ()
    progress: ProgressCallback | None = None
    watch: Watch | None = None
    stop: Callable[[], bool] | None = None

    @property
    def checkpoints(self) -> Path | None:
        """Folder for checkpoints, None where none are written."""
        return self.work or (self.out.with_name(f"{self.out.name}.training") if self.out else None)


@dataclass(frozen=True)
class Preview:
    """Preview of training data: sizes by name, reason -> examples left out, and a table of the first ones."""

    counts: Mapping[str, int]
    left_out: Mapping[str, int] = field(default_factory=dict)
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(
        cls,
        counts: Mapping[str, int],
        left_out: Mapping[str, int],
        header: tuple[str, ...],
        rows: Iterable[tuple[str, ...]],
    ) -> Self:
        """Return a preview of the first 500 rows, without reasons for which nothing was left out."""
        reasons = {reason: count for reason, count in left_out.items() if count}
        return cls(counts, reasons, header, tuple(itertools.islice(rows, _PREVIEW_ROWS)))


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """Description of a training data set.

    Attributes:
        name: Name in `trained_on.data` of `entail.json` and in the Hub's header.
        licence: Licence id of the Hub; None where it is unknown.
        note: Further licence terms.
        trained_on: Of a base: data set -> its name and size on the card of the base.
    """

    name: str
    about: str
    licence: str | None = None
    note: str = ""
    citation: str = ""
    trained_on: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CrossEncoderText:
    """Text of a cross-encoder's card that depends on its kind, a noun such as scorer or judge.

    `description` is Markdown, a paragraph each; the first continues a sentence. `usage` are shell commands.
    """

    kind: str
    description: Sequence[str]
    usage: str
    limitations: str
    pipeline_tag: str
    tags: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class CardText:
    """Description of a training method for model cards.

    Attributes:
        idea: Purpose of a trained model: a verb phrase, such as "ranks premises".
        tags: Further tags of the Hub.
        cross_encoder: Text of a cross-encoder from its `entail.json` and its name; None for an encoder.
    """

    title: str
    idea: str
    citation: str = ""
    tags: tuple[str, ...] = ()
    cross_encoder: Callable[[Mapping[str, Any], str], CrossEncoderText] | None = None


@dataclass(frozen=True, kw_only=True)
class Method:
    """A training method.

    Attributes:
        name: Name in commands, jobs and `entail.json`; letters, digits, hyphens.
        config: Frozen dataclass of its settings, see `entail.training.fields`.
        train: Trains on the source's data by a configuration, writes `run.out`, and resumes from `run.work`.
            Returns its result as JSON values: `counts`, `fitted` and `warnings` are shown.
        source: Dataclass of the training data, see `Source`.
        evaluate: Evaluates a model, by name or folder, on the dev part of the data; returns None without
            one. None: its models are not compared with the active one.
        folds: Splits data without a dev part into pairs of data: to train on, and with the rest as its dev
            part; returns none where there is too little. None: such data are never split.
        common: Names of the settings that a form shows first, at most eight; default: the first ones.
        presets: Name, such as `paper` or `decisions`, -> configuration to start from.
        for_decisions: Returns settings for training on a team's decisions, some given by keyword.
        role: Role of its models.
        sample: Values of the source for the bundled sample, files by name; a training takes minutes on it.
    """

    name: str
    config: type[Any]
    train: Callable[[Any, Any, Run], Mapping[str, Any]]
    source: type[Any]
    evaluate: Callable[[str | Path, Any, ProgressCallback | None], QueryFigures | None] | None = None
    folds: Callable[[Any], Sequence[tuple[Any, Any]]] | None = None
    title: str = ""
    card: CardText | None = None
    preview: Callable[[Any, Any], Preview] | None = None
    common: tuple[str, ...] = ()
    presets: Mapping[str, Any] = field(default_factory=dict)
    for_decisions: Callable[..., Any] | None = None
    role: Role = "retriever"
    sample: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fields(self) -> tuple[Field, ...]:
        """Fields of the settings."""
        return fields_of(self.config)

    @property
    def source_fields(self) -> tuple[Field, ...]:
        """Fields of the data source."""
        return fields_of(self.source)

    def make_config(self, values: Mapping[str, object], *, preset: str | None = None) -> Any:
        """Return the defaults, replaced by those of a preset, replaced by values; see `config_of`.

        Raises:
            SettingsError: If there is no such preset, or a value is wrong.
        """
        if preset is None:
            return config_of(self.config, values)
        if preset not in self.presets:
            names = ", ".join(self.presets) or "none"
            raise SettingsError(f"{self.name} has no preset {preset!r}; its presets are: {names}")
        if preset == DECISIONS and self.for_decisions is not None:
            return self.for_decisions(**read_values(self.config, values))
        return config_of(self.config, values_of(self.presets[preset]) | dict(values))

    def usual_preset(self, source: Source) -> str | None:
        """Return the preset for a source: `decisions` for those of a team, if there is one."""
        return DECISIONS if getattr(source, "from_log", None) and DECISIONS in self.presets else None

    def sample_values(self) -> dict[str, Any]:
        """Return the values of the source for the bundled sample, with the paths of its files."""
        from entail.data.bundled import sample_dir

        values, kinds = dict(self.sample), {own.name: own.kind for own in self.source_fields}
        for name, value in self.sample.items():
            if kinds[name] == "file":
                values[name] = sample_dir() / value
            elif kinds[name] == "files":
                values[name] = tuple(sample_dir() / file for file in value)
        return values

    def list_changes(self, values: Mapping[str, object]) -> dict[str, Any]:
        """Return the values that differ from the defaults, with those of fields that no longer exist."""
        return list_changes(self.config, values)

    def make_source(self, values: Mapping[str, object]) -> Source:
        """Return a source from values by name; see `config_of`."""
        source: Source = config_of(self.source, values)
        return source


@cache
def _load_methods() -> tuple[Mapping[str, Method], Mapping[str, str]]:
    methods_by_name: dict[str, Method] = {}
    broken: dict[str, str] = {}
    for reference in _OWN:
        module, _, attribute = reference.partition(":")
        own: Method = getattr(importlib.import_module(module), attribute)
        methods_by_name[own.name] = own
    for entry in metadata.entry_points(group=GROUP):
        try:
            loaded = entry.load()
            if not isinstance(loaded, Method):
                raise TypeError(f"expected a Method, found {type(loaded).__name__}")
            if loaded.name in methods_by_name:
                raise ValueError(f"there is a method called {loaded.name!r} already")
            _ = loaded.fields, loaded.source_fields
        except Exception as error:
            broken[entry.name] = f"{type(error).__name__}: {error}"
        else:
            methods_by_name[loaded.name] = loaded
    return methods_by_name, broken


@cache
def methods() -> Mapping[str, Method]:
    """Return the installed methods by name: this project's, then those of other packages.

    Methods that cannot be loaded, or whose name is taken, are left out; see `broken_methods`.
    """
    return _load_methods()[0]


def broken_methods() -> Mapping[str, str]:
    """Return the entry points that cannot be loaded -> the reason."""
    return _load_methods()[1]


def method(name: str) -> Method:
    """Return a method by name.

    Raises:
        JobError: If there is no such method; lists the names.
    """
    if name in methods():
        return methods()[name]
    broken = broken_methods().get(name)
    reason = f" ({name} cannot be loaded: {broken})" if broken else ""
    raise JobError(f"no method is called {name!r}; the methods are: {', '.join(methods())}{reason}")


Role = Literal["retriever", "direction", "chains", "reranker", "judge", "steps", "reader"]
"""Roles of models; `entail.registry.roles` has a record of each."""


class Source(Protocol):
    """Dataclass of training data; its fields are those of `entail.training.fields`.

    A source that also takes names of data sets to download has two further methods. `is_elsewhere` tells
    such a name from a file (see `entail.jobs.jobs`). `named` turns a name into a value of a field, or says
    what is expected.
    """

    def read(self, *, keep: Path | None = None) -> Any:
        """Return the training data.

        `read` may also take `progress`, a callback, and `decisions`, a reader of a team's decisions. Data
        that may change while a job waits is stored in the job's folder (`keep`) at the first read and read
        from there afterwards, so that a resumed training continues with the same data.
        """
