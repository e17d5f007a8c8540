"""Model of `models/`, trained by its recipe."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.data.writing import write_text
from entail.training.adapters.saving import save_encoder
from entail.training.cards.figures import KEY
from entail.training.cards.template import write_card
from lab.experiment import SHIP, Check
from lab.run import Laboratory


@dataclass(frozen=True)
class Checked:
    """A figure of a model, or its difference from a stage, and whether it lies in the interval."""

    check: Check
    figure: float

    @property
    def holds(self) -> bool:
        """Whether the figure lies in the interval."""
        return self.check.low <= self.figure <= self.check.high

    def __str__(self) -> str:
        over = f" less that of {self.check.over}" if self.check.over else ""
        ends = {"at least": self.check.low, "at most": self.check.high}
        expected = " and ".join(f"{word} {end:g}" for word, end in ends.items() if math.isfinite(end))
        verdict = "as expected" if self.holds else "NOT as expected"
        return f"{self.check.metric}{over}: {self.figure:.4f}, {verdict} ({expected})"


def ship(laboratory: Laboratory, out: Path) -> list[Checked]:
    """Train all stages, write the mean of the last one to `out`, and measure the means of all stages.

    A stage that only teaches has no mean: its members are measured. `entail.json` names the recipe, its hash
    and the digests of its data.
    """
    experiment = laboratory.experiment
    last = laboratory.mean(list(laboratory.arms)[-1])
    model = Path(laboratory.make(last))
    digests = {name: laboratory.data.digest(name) for name in experiment.data.values()}
    name = experiment.name
    more = {
        "experiment": {"name": name, "hash": experiment.hash, "data": digests},
        "notes": [
            f"Made by `python scripts/lab ship {name.removeprefix(SHIP)}`, from "
            f"scripts/experiments/{name}.toml. Figures of every stage: docs/results/{name}.md."
        ],
    }
    install(model, out, more=more, work=laboratory.work)
    laboratory.log(f"wrote {out}, weights {weights_digest(out)}")
    arms = laboratory.arms.values()
    means = {last.arm.name, *(check.over for check in experiment.checks)}
    means.update(name for arm in arms for name in (arm.initial, *arm.mean_of))
    runs = {}
    for arm in arms:
        only_teaches = arm.name not in means and any(arm.name == other.teachers for other in arms)
        models = laboratory.models(arm.name) if only_teaches else [laboratory.mean(arm.name)]
        runs[arm.name] = [laboratory.measure(model) for model in models][-1]
    own = runs[last.arm.name]
    return [
        Checked(
            check,
            own.figure(check.metric) - (runs[check.over].figure(check.metric) if check.over else 0.0),
        )
        for check in experiment.checks
    ]


def install(model: Path, out: Path, *, more: Mapping[str, Any], work: Path | None = None) -> int:
    """Copy a model into a folder, under the name of the folder, and return its bytes.

    Args:
        model: The model.
        out: Target; a model of the same method there is replaced.
        more: Added to `entail.json`.
        work: Folder whose path is left out of `entail.json`.
    """
    about = json.loads((model / "entail.json").read_text(encoding="utf-8"))
    about = {**(_without_paths(about, work) if work else about), **more}

    def write(folder: Path) -> None:
        shutil.copytree(model, folder)

    save_encoder(out, method=about["method"], write=write, about=about)
    return sum(path.stat().st_size for path in out.rglob("*") if path.is_file())


def state_figures(model: Path, figures: Sequence[Mapping[str, Any]]) -> None:
    """Write measured figures into `entail.json` of a model, and its card with them."""
    file = model / "entail.json"
    about = {**json.loads(file.read_text(encoding="utf-8")), KEY: figures}
    write_text(file, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
    write_card(model)


def weights_digest(folder: Path) -> str:
    """Return a digest of the tensors of a model."""
    hasher = hashlib.sha256()
    for file in sorted(folder.rglob("*.safetensors")):
        hasher.update(file.relative_to(folder).as_posix().encode() + file.read_bytes())
    return hasher.hexdigest()[:16]


def _without_paths(value: Any, work: Path) -> Any:
    """Return JSON values in which paths of the work folder are their last names alone."""
    if isinstance(value, dict):
        return {name: _without_paths(part, work) for name, part in value.items()}
    if isinstance(value, list):
        return [_without_paths(part, work) for part in value]
    if isinstance(value, str) and value.startswith(str(work)):
        return ",".join(Path(path).name for path in value.split(","))
    return value
