"""Trainings and measurements of an experiment, each made once under the hash of what determines it.

The work folder holds `models/NAME-SEED-KEY/`, `records/KEY.json` (seconds, commit, machine) and, of each
measurement, `values/KEY.npz` (a value a query). A training that was stopped resumes from its checkpoint; a
recorded one is not repeated.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from entail.data.writing import replacing, write_text
from entail.encoders.catalogue import resolve
from entail.encoders.device import device_name
from entail.errors import EntailError
from entail.results import hardware, provenance
from entail.training.adapters.averaging import average_adapters
from entail.training.adapters.tower import cast_precision
from entail.training.fields import values_of
from entail.training.method import method
from lab.adapters import Measures, Work, load_adapter
from lab.data import DataFolder
from lab.errors import LabError
from lab.experiment import Arm, Experiment, Settings, digest

MEAN = "mean"
"""In place of a seed: the mean of an arm's models."""

_NAMES_OF_MODELS = frozenset({"base", "initial", "retriever", "replay_teacher"})
"""Settings whose values name a model, which may change under the same name."""


@dataclass(frozen=True)
class Model:
    """A model of an experiment: an arm with a seed, the mean of its seeds, or one of the catalogue.

    Attributes:
        arm: Arm or stage.
        seed: Random seed; `MEAN`, or empty for a model of the catalogue.
        key: Digest of what determines it.
        members: Keys of the trainings behind it.
    """

    arm: Arm
    seed: str
    key: str
    members: tuple[str, ...]

    @property
    def folder(self) -> str:
        """Name of its folder, without characters such as the + of a retriever's name."""
        words = re.sub(r"\W+", "-", self.arm.name.lower()).strip("-")
        return f"{words}-{self.seed}-{self.key[:8]}"


@dataclass(frozen=True)
class Run:
    """A measured model.

    Attributes:
        arm: Name of the arm.
        seed: See `Model`.
        key: See `Model`.
        measures: Metric -> one value a query, and its weight.
        records: Key of each training behind it -> its seconds, commit, hardware, time and command.
        measured: These of the measurement; empty where an earlier version measured.
    """

    arm: str
    seed: str
    key: str
    measures: Measures
    records: Mapping[str, Mapping[str, Any]]
    measured: Mapping[str, Any] = field(default_factory=dict)

    def figure(self, metric: str) -> float:
        """Return the weighted mean of a metric's values.

        Raises:
            LabError: If the adapter does not measure it.
        """
        if metric not in self.measures:
            raise LabError(f"no metric is called {metric!r}; the metrics are: {', '.join(self.measures)}")
        values, weights = self.measures[metric]
        return float(np.average(values, weights=weights))


class Laboratory:
    """Trains and measures an experiment in a work folder.

    Args:
        experiment: Experiment or recipe.
        data: Data sets.
        work: Work folder; all experiments may share it.
        log: Receives a line for each part that begins or ends.
    """

    def __init__(
        self,
        experiment: Experiment,
        data: DataFolder,
        work: Path,
        *,
        log: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
    ) -> None:
        self.experiment, self.data, self.work, self.log = experiment, data, work, log
        self.arms = {arm.name: arm for arm in experiment.groups}
        self.adapter = load_adapter(experiment.method)
        self.sets = {**experiment.data, **experiment.measure.data}
        for part in ("models", "records", "values"):
            (work / part).mkdir(parents=True, exist_ok=True)

    def member(self, name: str, seed: int) -> Model:
        """Return the model of an arm and a seed."""
        arm, lab = self.arms[name], self.experiment
        presets = method(lab.method).presets if arm.preset else {}
        key = digest(
            {
                "method": lab.method,
                "preset": values_of(presets[arm.preset]) if arm.preset in presets else arm.preset,
                "threads": lab.threads,
                "settings": dict(arm.settings),
                "extra": dict(arm.extra),
                "seed": seed,
                "data": {role: self.data.digest(data) for role, data in lab.data.items()},
                "initial": self.mean(arm.initial).key if arm.initial else "",
                "teachers": self.mean(arm.teachers).members if arm.teachers else [],
                "models": [
                    _revision(str(value))
                    for name, value in sorted({**arm.settings, **arm.extra}.items())
                    if name in _NAMES_OF_MODELS
                ],
            }
        )
        return Model(arm, str(seed), key, (key,))

    def mean(self, name: str) -> Model:
        """Return the mean of an arm's models; of one seed this model, of none that of the catalogue."""
        arm = self.arms[name]
        if arm.model:
            return Model(arm, "", digest({"model": _revision(arm.model)}), ())
        parts = self._parts(arm)
        if len(parts) == 1:
            return parts[0]
        members = tuple(key for part in parts for key in part.members)
        return Model(arm, MEAN, digest({"mean": [part.key for part in parts], "rank": arm.rank}), members)

    def _parts(self, arm: Arm) -> list[Model]:
        """Return the models that an arm is the mean of."""
        if arm.mean_of:
            return [self.mean(name) for name in arm.mean_of]
        return [self.member(arm.name, seed) for seed in arm.seeds]

    def models(self, name: str) -> list[Model]:
        """Return the models of an arm, one a seed."""
        arm = self.arms[name]
        return [self.mean(name)] if arm.model or arm.mean_of else self._parts(arm)

    def make(self, model: Model) -> str:
        """Return the folder of a model, trained if it is not there, or its name in the catalogue."""
        if model.arm.model:
            return model.arm.model
        folder = self.work / "models" / model.folder
        if model.seed != MEAN:
            self._train(model, folder)
        elif not folder.is_dir():
            members = [Path(self.make(part)) for part in self._parts(model.arm)]
            average_adapters(members, folder, rank=model.arm.rank)
        return str(folder)

    def _train(self, model: Model, folder: Path) -> None:
        record = self._record(model.key)
        if record.is_file() and folder.is_dir():
            return
        arm = model.arm
        initial = Path(self.make(self.mean(arm.initial))) if arm.initial else None
        teachers = [Path(self.make(m)) for m in self.models(arm.teachers)] if arm.teachers else []
        self.log(f"{arm.name}, seed {model.seed}: training")
        work = Work(
            settings=on_this_machine(arm.settings),
            preset=arm.preset,
            seed=int(model.seed),
            data=self.data,
            sets=self.experiment.data,
            extra=arm.extra,
            initial=initial,
            teachers=teachers,
            out=folder,
            cache=self.work,
        )
        unfinished = folder.with_name(f"{folder.name}.training")
        before = _seconds_before(unfinished)
        _, about = _timed(partial(self.adapter.train, work))
        about["seconds"] = round(about["seconds"] + before, 1)
        write_text(record, json.dumps(about, indent=2) + "\n")
        shutil.rmtree(unfinished, ignore_errors=True)
        self.log(f"{arm.name}, seed {model.seed}: {about['seconds']:,.0f} s")

    def measure(self, model: Model) -> Run:
        """Make and measure a model; what the work folder holds is not repeated."""
        values = self._values(model.key)
        if not values.is_file():
            path = self.make(model)
            self.log(f"{model.arm.name} {model.seed}: measuring")
            measure = partial(self.adapter.measure, path, self.data, self.sets, cache=self.work)
            measures, about = _timed(measure)
            columns: dict[str, Any] = {f"v/{name}": column for name, (column, _) in measures.items()}
            columns |= {f"w/{name}": column for name, (_, column) in measures.items()}
            columns["about"] = np.array(json.dumps(about))
            with replacing(values) as unfinished, unfinished.open("wb") as stream:
                np.savez_compressed(stream, **columns)
        return self._read(model)

    def run(self, names: Sequence[str] = ()) -> dict[str, str]:
        """Train and measure every arm, or some and their control; return arm -> error of those that failed.

        Raises:
            LabError: If no arm has one of the names.
        """
        if unknown := [name for name in names if name not in self.arms]:
            raise LabError(f"no arm is called {unknown[0]!r}; the arms are: {', '.join(self.arms)}")
        errors: dict[str, str] = {}
        control = self.experiment.measure.paired_with
        for name in dict.fromkeys([control, *names] if names and control else names or self.arms):
            try:
                for model in self.models(name):
                    self.measure(model)
            except EntailError as error:
                errors[name] = str(error)
                self.log(f"{name}: {error}")
        return errors

    def keys(self) -> dict[str, list[str]]:
        """Return the keys of every arm's models."""
        return {name: [model.key for model in self.models(name)] for name in self.arms}

    def runs(self) -> list[Run]:
        """Return the measured models of the work folder: of each arm its seeds, and their mean."""
        models = {m.key: m for name in self.arms for m in (*self.models(name), self.mean(name))}
        return [self._read(model) for model in models.values() if self._values(model.key).is_file()]

    def _read(self, model: Model) -> Run:
        with np.load(self._values(model.key)) as stored:
            names = [name[2:] for name in stored.files if name.startswith("v/")]
            measures = {name: (stored[f"v/{name}"], stored[f"w/{name}"]) for name in names}
            about = json.loads(str(stored["about"])) if "about" in stored.files else {}
        records = {
            key: json.loads(self._record(key).read_text(encoding="utf-8"))
            for key in model.members
            if self._record(key).is_file()
        }
        return Run(model.arm.name, model.seed, model.key, measures, records, about)

    def _record(self, key: str) -> Path:
        return self.work / "records" / f"{key}.json"

    def _values(self, key: str) -> Path:
        digests = {role: self.data.digest(name) for role, name in self.sets.items()}
        about = {"model": key, "data": digests, "method": self.experiment.method}
        return self.work / "values" / f"{digest(about)}.npz"


def _timed(work: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """Return what some work returns, and its seconds, commit, machine, time and command."""
    started = {"started": datetime.now(UTC).isoformat(timespec="seconds"), **provenance()}
    wall, processor = time.perf_counter(), time.process_time()
    value = work()
    return value, {
        **started,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - wall, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
        "cores": hardware()["cores"],
    }


def _seconds_before(unfinished: Path) -> float:
    """Return how long a training took before it was interrupted, up to its checkpoint."""
    from safetensors import safe_open

    seconds = 0.0
    for file in unfinished.rglob("checkpoint.safetensors"):
        with safe_open(str(file), framework="pt") as opened:
            seconds += json.loads((opened.metadata() or {})["state"])["seconds"]
    return seconds


def _revision(name: str) -> str:
    """Return a name of the catalogue with the revisions of its encoders, such as `minilm@53aa+bm25`."""
    parts = []
    for part in name.split("+"):
        try:
            parts.append(str(resolve(part).revision))
        except EntailError:  # bm25, or a re-ranker
            parts.append(part)
    return "+".join(parts)


def on_this_machine(settings: Settings) -> Settings:
    """Return settings with fp32 for a bf16 that the device would emulate, many times slower."""
    if settings.get("precision") == "bf16" and cast_precision("auto", device_name()) == "fp32":
        return {**settings, "precision": "fp32"}
    return settings


def set_threads(count: int) -> None:
    """Compute with this many threads, whatever the machine has: sums of floats depend on it."""
    import torch

    torch.set_num_threads(count)
    os.environ["OMP_NUM_THREADS"] = str(count)
