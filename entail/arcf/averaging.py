"""Scorers of several trainings as one: the mean of their adapters and heads.

Seeds and losses err in different places, and the mean of their weights ranks nearly as well as the mean of
their scores, at the cost of one (Wortsman et al. 2022, *Model soups*;
`entail.training.adapters.averaging`).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from entail.arcf.scoring.explanatory_power import EXPLANATIONS
from entail.arcf.scoring.form import METHOD, ScorerForm
from entail.arcf.scoring.scorer import scorer_folder
from entail.arcf.scoring.terms import IDF, WORDS
from entail.encoders.cross.encoder import ADAPTER, HEAD
from entail.encoders.weights import file_sha256, read_json
from entail.errors import TrainingError
from entail.training.adapters.averaging import describe_mean, even_shares, mean_tensors, merge, write_adapter
from entail.training.adapters.saving import save_encoder

_TOLD = ("method", "base", "base_revision", "scorer", "base_licence")
_BESIDE = (EXPLANATIONS, IDF, WORDS)


def average_scorers(
    names: Sequence[str | Path],
    out: Path,
    *,
    weights: Sequence[float] | None = None,
    rank: int | None = None,
) -> float:
    r"""Write the scorer whose adapter and head are the weighted mean of several.

    .. math:: \Delta W = \sum_i w_i \, s_i B_i A_i, \quad h = \sum_i w_i h_i

    Args:
        names: Scorers with an adapter, trained alike on the same questions and facts but for seed and loss.
        out: Folder for the new one; a scorer that is there already is replaced.
        weights: One a scorer, 1 in sum; default: all alike.
        rank: Rank of the adapter; default: that of all together, which is exact.

    Returns:
        Share of the adapters' squared length that is lost by the lower rank, 0 where it is exact.

    Raises:
        EncoderError: If a name leads to no scorer.
        TrainingError: If every weight of one was tuned, they differ in base, form or what they learnt from, a
            number cannot be, or the folder cannot be written.
    """
    folders = [scorer_folder(name) for name in names]
    shares = even_shares(len(folders), weights)
    if rank is not None and rank < 1:
        raise TrainingError(f"expected a rank of at least 1, found {rank}")
    told = [_told(folder) for folder in folders]
    _require_alike(folders, told)
    merged, lost = merge([folder / ADAPTER for folder in folders], shares=shares, rank=rank)
    head = mean_tensors(folders, HEAD, shares=shares)

    def write(folder: Path) -> None:
        from safetensors.torch import save_file

        write_adapter(merged, folder / ADAPTER, like=folders[0] / ADAPTER)
        save_file(head, folder / HEAD)
        for name in _BESIDE:
            if (folders[0] / name).is_file():
                shutil.copyfile(folders[0] / name, folder / name)

    about = {name: told[0][name] for name in _TOLD if name in told[0]}
    about |= describe_mean(folders, told, shares=shares)
    save_encoder(out, method=METHOD, write=write, about=lambda: about)
    return lost


def _told(folder: Path) -> dict[str, Any]:
    """Return what `entail.json` says."""
    found = dict(read_json(folder / "entail.json") or {})
    if not (folder / ADAPTER).is_dir() or found.get("method") != METHOD:
        raise TrainingError(
            f"{folder.name}: expected a scorer of facts with an adapter, found something else"
        )
    return found


def _require_alike(folders: Sequence[Path], told: Sequence[Mapping[str, Any]]) -> None:
    """Refuse scorers that cannot be one.

    Raises:
        TrainingError: If they differ in base, form, or the files that say what they learnt from.
    """
    for folder, one in zip(folders, told, strict=True):
        for called, first, other in (
            ("base", told[0].get("base_revision"), one.get("base_revision")),
            ("form", _form(folders[0], told[0]), _form(folder, one)),
        ):
            if first != other:
                raise TrainingError(
                    f"expected scorers of one {called}, found {first!r} in {folders[0].name} "
                    f"and {other!r} in {folder.name}"
                )
        for name in _BESIDE:
            if _sum(folder / name) != _sum(folders[0] / name):
                raise TrainingError(
                    f"expected scorers that learnt from the same questions and facts, but {name} of "
                    f"{folder.name} is not that of {folders[0].name}"
                )


def _form(folder: Path, told: Mapping[str, Any]) -> ScorerForm:
    return ScorerForm.read(told.get("scorer") or {}, name=folder.name)


def _sum(file: Path) -> str:
    return file_sha256(file) if file.is_file() else ""
