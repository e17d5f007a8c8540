"""Mean of the adapters and heads of several cross-encoders (Wortsman et al. 2022, *Model soups*)."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from entail.encoders.card import TRAINING_QUERIES, read_card, read_training_queries, write_training_queries
from entail.encoders.cross.encoder import ADAPTER, HEAD
from entail.encoders.weights import read_object
from entail.errors import TrainingError
from entail.training.adapters.averaging import describe_mean, even_shares, mean_tensors, merge, write_adapter
from entail.training.adapters.saving import save_encoder
from entail.training.fields import current_names

_FORMS = ("scorer", "reranker", "judge")
_SHARED_FIELDS = ("method", "base", "base_revision", "base_licence", *_FORMS)
_OWN_FILES = {HEAD, TRAINING_QUERIES, "entail.json", "README.md"}


def average_cross_encoders(
    folders: Sequence[Path],
    out: Path,
    *,
    weights: Sequence[float] | None = None,
    rank: int | None = None,
) -> float:
    r"""Write the cross-encoder whose adapter and head are the weighted mean of several.

    .. math:: \Delta W = \sum_i w_i \, s_i B_i A_i, \quad h = \sum_i w_i h_i

    Args:
        folders: Scorers of facts, re-rankers or judges with an adapter, of any seed and loss.
        out: Folder for the mean; one of the same method there is replaced.
        weights: Weight of each, 1 in sum; default: equal.
        rank: Rank of the adapter; default: the sum of all ranks, which is exact.

    Returns:
        Share of the squared norm lost by the lower rank, 0 if exact.

    Raises:
        TrainingError: If one has no adapter, they differ in method, base, form or the files beside their
            weights, a number is out of range, or the folder cannot be written.
    """
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
        for name in _shared_files(folders[0]):
            shutil.copyfile(folders[0] / name, folder / name)
        if queries := frozenset[str]().union(*map(read_training_queries, folders)):
            write_training_queries(folder, queries)

    about = {name: records[0][name] for name in _SHARED_FIELDS if name in records[0]}
    about |= describe_mean(folders, records, shares=shares)
    save_encoder(out, method=str(records[0]["method"]), write=write, about=about)
    return lost


def _read_record(folder: Path) -> dict[str, Any]:
    read_card(folder, folder.name)  # refuses an adapter that was changed
    record = read_object(folder / "entail.json")
    if not (folder / ADAPTER).is_dir() or "method" not in record:
        raise TrainingError(f"{folder.name}: expected a cross-encoder with an adapter, found something else")
    return record


def _shared_files(folder: Path) -> set[str]:
    """Return the names of the files that seeds have in common, such as what is known of the facts."""
    return {path.name for path in folder.iterdir() if path.is_file()} - _OWN_FILES


def _comparable(value: object) -> object:
    """Return a value of `entail.json`; a form under current names, without what an earlier version lacked."""
    if not isinstance(value, dict):
        return value
    return {name: field for name, field in current_names(value, field_names=()).items() if field}


def _are_close(*files: Path) -> bool:
    """Return whether tensors are the same but for the rounding of another machine."""
    import torch
    from safetensors.torch import load_file

    if not all(file.suffix == ".safetensors" and file.is_file() for file in files):
        return False
    first, second = map(load_file, files)
    return first.keys() == second.keys() and all(
        tensor.shape == second[name].shape and torch.allclose(tensor, second[name], rtol=0, atol=1e-3)
        for name, tensor in first.items()
    )


def _require_same(folder: Path, record: dict[str, Any], first: Path, first_record: dict[str, Any]) -> None:
    """Refuse a cross-encoder that differs from the first in method, base, form or data."""
    for name in ("method", "base_revision", *_FORMS):
        expected, value = _comparable(first_record.get(name)), _comparable(record.get(name))
        if expected != value:
            raise TrainingError(
                f"expected cross-encoders of one {name}, found {expected!r} in {first.name} and {value!r} in "
                f"{folder.name}"
            )
    for name in sorted(_shared_files(folder) | _shared_files(first)):
        if not _are_close(folder / name, first / name):
            raise TrainingError(
                f"expected cross-encoders that learnt from the same data, but {name} of {folder.name} is not "
                f"that of {first.name}"
            )
