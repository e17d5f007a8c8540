"""Mean of the adapters and heads of several scorers (Wortsman et al. 2022, *Model soups*)."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from entail.arcf.scoring.priors import EXPLANATIONS
from entail.arcf.scoring.scorer import METHOD, ScorerForm, scorer_folder
from entail.arcf.scoring.terms import IDF, WORDS
from entail.encoders.cross.encoder import ADAPTER, HEAD
from entail.encoders.weights import file_sha256, read_json
from entail.errors import TrainingError
from entail.training.adapters.averaging import describe_mean, even_shares, mean_tensors, merge, write_adapter
from entail.training.adapters.saving import save_encoder

_SHARED_FIELDS = ("method", "base", "base_revision", "scorer", "base_licence")
_SHARED_FILES = (EXPLANATIONS, IDF, WORDS)


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
        names: Scorers with an adapter, trained on the same data, of any seed and loss.
        out: Folder for the mean; an existing scorer is replaced.
        weights: Weight of each scorer, 1 in sum; default: equal.
        rank: Rank of the adapter; default: the sum of all ranks, which is exact.

    Returns:
        Share of the squared norm lost by the lower rank, 0 if exact.

    Raises:
        EncoderError: If a name leads to no scorer.
        TrainingError: If one has no adapter, they differ in base, form or data, a number is out of range, or
            the folder cannot be written.
    """
    folders = [scorer_folder(name) for name in names]
    shares = even_shares(len(folders), weights)
    if rank is not None and rank < 1:
        raise TrainingError(f"expected a rank of at least 1, found {rank}")
    records = [_read_record(folder) for folder in folders]
    for folder, record in zip(folders, records, strict=True):
        _require_same(folder, record, folders[0], records[0])
    merged, lost = merge([folder / ADAPTER for folder in folders], shares=shares, rank=rank)
    head = mean_tensors(folders, HEAD, shares=shares)

    def write(folder: Path) -> None:
        from safetensors.torch import save_file

        write_adapter(merged, folder / ADAPTER, like=folders[0] / ADAPTER)
        save_file(head, folder / HEAD)
        for name in _SHARED_FILES:
            if (folders[0] / name).is_file():
                shutil.copyfile(folders[0] / name, folder / name)

    about = {name: records[0][name] for name in _SHARED_FIELDS if name in records[0]}
    about |= describe_mean(folders, records, shares=shares)
    save_encoder(out, method=METHOD, write=write, about=about)
    return lost


def _read_record(folder: Path) -> dict[str, Any]:
    record = dict(read_json(folder / "entail.json") or {})
    if not (folder / ADAPTER).is_dir() or record.get("method") != METHOD:
        raise TrainingError(
            f"{folder.name}: expected a scorer of facts with an adapter, found something else"
        )
    return record


def _require_same(folder: Path, record: dict[str, Any], first: Path, first_record: dict[str, Any]) -> None:
    """Refuse a scorer that differs from the first in base, form or data."""
    bases = [one.get("base_revision") for one in (first_record, record)]
    forms = [ScorerForm.read(one.get("scorer") or {}, name=folder.name) for one in (first_record, record)]
    for part, (expected, found) in (("base", bases), ("form", forms)):
        if expected != found:
            raise TrainingError(
                f"expected scorers of one {part}, found {expected!r} in {first.name} and {found!r} in "
                f"{folder.name}"
            )
    for name in _SHARED_FILES:
        sums = {file_sha256(file) if file.is_file() else "" for file in (folder / name, first / name)}
        if len(sums) > 1:
            raise TrainingError(
                f"expected scorers that learnt from the same questions and facts, but {name} of "
                f"{folder.name} is not that of {first.name}"
            )
