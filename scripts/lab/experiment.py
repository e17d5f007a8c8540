"""Experiments and recipes, each declared by one TOML file.

An experiment compares arms, each trained with every seed::

    name = "aeenc"                            # as the file
    method = "aeenc"                          # adapter: lab/adapters/aeenc.py
    title = "AE-Enc, Table 1"
    question = "What does each part of AE-Enc bring?"
    finding = ["First sentence.", "Second sentence."]
    preset = "paper"                          # of the method; default: its defaults
    seeds = [0, 1, 2]

    [data]                                    # role -> data set (`data.SETS`)
    corpus = "entailment_bank/premises"
    train = "entailment_bank/train"

    [arms.base]
    model = "minilm"                          # measured, not trained
    [arms.single]
    settings = { alpha = 0.02 }               # fields of the configuration over the preset
    [arms.dual]
    like = "single"                           # settings of a former arm, but for its own
    settings = { towers = "dual" }

    [measure]
    data = { trees = "entailment_bank/dev" }  # joined with [data]
    metrics = ["MAP", "Hit@50"]
    paired_with = "base"
    chart = "MAP"                             # default: the first metric

    [paper.single]                            # figures of the table that it answers
    MAP = 0.447

A recipe, `ship-NAME.toml`, has stages instead, whose last one is the model. A stage may begin at the mean of
a former one (`initial`), be held to its members (`teachers`), and be repeated (`rounds`), each round as
`initial` and `teachers` of the next; `rank` is that of the mean over its seeds. A stage may be the mean of
former ones instead (`mean_of`). `[[checks]]` are intervals
of a figure, or of its difference from another stage (`over`)::

    [[stages]]
    name = "held"
    seeds = [0]
    initial = "first"
    teachers = "first"
    rounds = 3
    rank = 46
    settings = { epochs = 6 }
    extra = { variations = 2 }                # what only the adapter knows

    [[checks]]
    metric = "MAP"
    low = 0.556

`[[stated]]` are figures that the card of the model states, next to those of `paired_with`::

    [[stated]]
    metric = "MAP, unseen"                    # of the adapter
    task = "premises"                         # what follows is as the card words it
    data = "EntailmentBank dev, 537 unseen queries"
    measure = "MAP"
    rival = "MiniLM"

With `result` and `rival_arm` they are those of the row named as the model, and of a rival, in another result.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Len
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from lab.errors import LabError

FOLDER = Path(__file__).resolve().parent.parent / "experiments"
SHIP = "ship-"
"""Beginning of the name of a recipe."""

_STRICT = ConfigDict(strict=True, extra="forbid")
Settings = Mapping[str, bool | int | float | str]


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Arm:
    """An arm of an experiment, or a stage of a recipe.

    Attributes:
        model: Model of the catalogue, measured without a training.
        like: Former arm whose preset, settings and extra it has, but for its own.
        preset: Preset of the method; default: that of the experiment.
        settings: Fields of the configuration over the preset.
        extra: Settings that only the adapter knows.
        seeds: Random seeds; default: those of the experiment.
        initial: Former stage whose mean the training starts from.
        teachers: Former stage to whose members it is held.
        rounds: Repetitions, each with `initial` and `teachers` of the former one; seeds rise by 1 a round.
        mean_of: Former stages whose mean it is, without a training.
        rank: Rank of the mean over the seeds, or of `mean_of`; default: the sum of all ranks.
    """

    name: str = ""
    model: str = ""
    like: str = ""
    preset: str = ""
    settings: Settings = Field(default_factory=dict)
    extra: Settings = Field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    initial: str = ""
    teachers: str = ""
    rounds: Annotated[int, Ge(1)] = 1
    mean_of: tuple[str, ...] = ()
    rank: Annotated[int, Ge(1)] | None = None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Measure:
    """What is measured: roles -> data sets, metrics of the page, the control, the metric of the chart."""

    data: Mapping[str, str] = Field(default_factory=dict)
    metrics: Annotated[tuple[str, ...], Len(1)]
    paired_with: str = ""
    chart: str = ""


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Check:
    """Interval of a metric of a model that is made, or of its difference from the model `over`."""

    metric: str
    low: float = -math.inf
    high: float = math.inf
    over: str = ""


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Stated:
    """Figure that the card of a model states, and the words for it."""

    metric: str
    task: str
    data: str
    measure: str
    rival: str
    result: str = ""
    rival_arm: str = ""


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Experiment:
    """An experiment or a recipe, see the module."""

    name: str
    method: str
    title: str
    question: str = ""
    finding: Annotated[tuple[str, ...], Len(0, 2)] = ()
    preset: str = ""
    seeds: tuple[int, ...] = (0,)
    threads: Annotated[int, Ge(1)] = 2
    data: Mapping[str, str]
    arms: Mapping[str, Arm] = Field(default_factory=dict)
    stages: tuple[Arm, ...] = ()
    measure: Measure
    checks: tuple[Check, ...] = ()
    stated: tuple[Stated, ...] = ()
    paper: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)

    @property
    def groups(self) -> tuple[Arm, ...]:
        """Arms and stages with their names and seeds, in order; repeated ones as NAME-1, NAME-2 ..."""
        groups: list[Arm] = []
        last: dict[str, str] = {}
        whole: dict[str, Arm] = {}
        for name, arm in [*self.arms.items(), *((stage.name, stage) for stage in self.stages)]:
            seeds = arm.seeds or self.seeds
            like = whole.get(arm.like, Arm(preset=self.preset))
            begun = whole[name] = replace(
                arm,
                name=name,
                preset=arm.preset or like.preset,
                settings={**like.settings, **arm.settings},
                extra={**like.extra, **arm.extra},
                seeds=seeds,
                initial=last.get(arm.initial, ""),
                teachers=last.get(arm.teachers, ""),
                mean_of=tuple(last[former] for former in arm.mean_of),
            )
            for at in range(arm.rounds):
                if arm.rounds > 1:
                    begun = replace(begun, name=f"{name}-{at + 1}", seeds=tuple(s + at for s in seeds))
                groups.append(begun)
                begun = replace(begun, initial=begun.name, teachers=begun.name)
            last[name] = groups[-1].name
        return tuple(groups)

    @property
    def hash(self) -> str:
        """Digest of what determines the models: all but words and measures, and no field that is empty."""
        arms = [asdict(replace(arm, like="", rounds=1)) for arm in self.groups]
        stated = [{name: value for name, value in arm.items() if value} for arm in arms]
        return digest([self.method, self.threads, dict(self.data), stated])


def hold_out(experiment: Experiment) -> Experiment:
    """Return an experiment whose models learn from nine tenths of the training data, measured on the rest.

    Settings are chosen so, before dev is read; and a frozen recipe has an unbiased figure.

    Raises:
        LabError: If its training data are not split by the tenth: neither `train` trees nor a `release`.
    """
    roles = {
        role: own for role, own in (("train", "trees"), ("release", "release")) if role in experiment.data
    }
    if not roles or "#" in "".join(experiment.data.values()):
        raise LabError(
            f"{experiment.name}: expected the data `train` or `release`, whole, to hold a tenth out"
        )
    rest = {own: f"{experiment.data[role]}#held" for role, own in roles.items()}
    fit = {role: f"{experiment.data[role]}#fit" for role in roles}
    measure = replace(experiment.measure, data={**experiment.measure.data, **rest})
    return replace(experiment, data={**experiment.data, **fit}, measure=measure, checks=())


def digest(value: object) -> str:
    """Return a digest of JSON values, 16 hexadecimal digits."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_experiment(name: str, *, folder: Path | None = None) -> Experiment:
    """Read an experiment or a recipe by its name.

    Raises:
        LabError: If there is none, or it is not as declared in the module; says where and what.
    """
    file = (folder or FOLDER) / f"{name}.toml"
    try:
        text = file.read_text(encoding="utf-8")
        experiment = parse_experiment(text, source=file.name)
    except FileNotFoundError:
        names = ", ".join(sorted(path.stem for path in file.parent.glob("*.toml")))
        raise LabError(f"no experiment is called {name!r}; the experiments are: {names or 'none'}") from None
    if experiment.name != name:
        raise LabError(f"{file.name}: expected name = {name!r}, as the file, found {experiment.name!r}")
    return experiment


def parse_experiment(text: str, *, source: str = "experiment") -> Experiment:
    """Return the experiment of a TOML text.

    Raises:
        LabError: If it is not as declared in the module; says where and what.
    """
    try:
        values = tomllib.loads(text)
        experiment: Experiment = TypeAdapter(Experiment).validate_json(json.dumps(values, default=str))
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{source}: expected TOML, found: {error}") from error
    except ValidationError as error:
        wrong = [
            f"{'.'.join(map(str, e['loc']))}: {e['msg']}, found {_short(e['input'])}" for e in error.errors()
        ]
        raise LabError(f"{source}: {'; '.join(wrong)}") from error
    _check_references(experiment, source)
    return experiment


def _check_references(experiment: Experiment, source: str) -> None:
    """Check that stages and arms are named, and refer to former ones."""
    former: list[str] = []
    if bool(experiment.arms) == bool(experiment.stages):
        raise LabError(f"{source}: expected [arms] of an experiment or [[stages]] of a recipe, one of them")
    for name, arm in [*experiment.arms.items(), *((stage.name, stage) for stage in experiment.stages)]:
        if not name or name in former:
            raise LabError(f"{source}: expected a name of its own for every stage, found {name!r}")
        for other in (arm.initial, arm.teachers, arm.like, *arm.mean_of):
            if other and other not in former:
                raise LabError(f"{source}: {name}: expected a former arm or stage, found {other!r}")
        if (arm.model or arm.mean_of) and (arm.settings or arm.extra or arm.initial or arm.teachers):
            raise LabError(f"{source}: {name}: expected a model or settings of a training, found both")
        former.append(name)
    control = experiment.measure.paired_with
    if control and control not in former:
        raise LabError(f"{source}: measure.paired_with: expected an arm, found {control!r}")
    if experiment.stated and not control:
        raise LabError(f"{source}: measure.paired_with: expected the rival of what is stated")
    if experiment.measure.chart not in ("", *experiment.measure.metrics):
        raise LabError(f"{source}: measure.chart: expected a metric, found {experiment.measure.chart!r}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
