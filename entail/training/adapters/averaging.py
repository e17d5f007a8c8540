r"""Mean of adapters and heads of several encoders or cross-encoders (Wortsman et al. 2022, *Model soups*).

.. math:: \Delta W = \frac{1}{n} \sum_i s_i B_i A_i, \quad h = \frac{1}{n} \sum_i h_i

It ranks nearly as well as the ensemble, at the cost of one model. The sum has the sum of the ranks; a lower
rank is its best approximation (SVD). `peft` offers the same sum (`add_weighted_adapter`), but only over a
loaded base, which is not needed here, and without the share that a lower rank loses.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.encoders.bert.lora import read_lora_config
from entail.encoders.card import (
    PREMISE_TOWER,
    TRAINING_QUERIES,
    read_card,
    read_training_queries,
    write_training_queries,
)
from entail.encoders.cross.encoder import ADAPTER
from entail.encoders.cross.encoder import HEAD as CROSS_HEAD
from entail.encoders.gaussian.form import HEAD, GaussianForm
from entail.encoders.weights import read_object
from entail.errors import TrainingError
from entail.training.adapters.saving import save_encoder

if TYPE_CHECKING:
    from torch import Tensor

_A, _B = ".lora_A.weight", ".lora_B.weight"
_SHARED = ("method", "base", "base_revision", "towers", "gaussian", "scorer", "reranker", "judge")


def average_adapters(folders: Sequence[Path], out: Path, *, rank: int | None = None) -> float:
    """Write the mean of encoders or cross-encoders with LoRA adapters on one base, adapters in fp16.

    Without a rank, the sum of all ranks, the mean is exact. A mean of encoders of Gaussians has no threshold
    and no confidence: fit them on dev, see `entail.gausscse.calibration.calibrate`.

    Returns:
        Share of the squared norm lost by the lower rank, 0 if exact; of two towers the larger one.

    Raises:
        TrainingError: If a folder has no plain LoRA adapter; if they differ in method, base, towers, form,
            modules or the data that they keep; if the rank is below 1; or the folder holds something else,
            or cannot be written.
    """
    from safetensors.torch import save_file

    if not folders or (rank is not None and rank < 1):
        raise TrainingError(
            f"expected adapters to average and a rank of at least 1, found {len(folders)} and {rank}"
        )
    records = [_read_record(folder) for folder in folders]
    for folder, record in zip(folders, records, strict=True):
        _require_same(folder, record, folders[0], records[0])
    first, record = folders[0], records[0]
    parts = [part for part in ("", PREMISE_TOWER, ADAPTER) if (first / part / "adapter_config.json").exists()]
    adapters = {part: merge([folder / part for folder in folders], rank=rank) for part in parts}
    head = f"{HEAD}/model.safetensors" if record.get("gaussian") else CROSS_HEAD
    has_head = bool(record.get("gaussian")) or (first / ADAPTER).is_dir()
    mean = _mean_tensors(folders, head) if has_head else {}

    def write(folder: Path) -> None:
        for part, (merged, _) in adapters.items():
            _write_adapter(merged, folder / part, like=first / part)
        for name in (*_data_files(first), *([head] if mean else ())):
            (folder / name).parent.mkdir(exist_ok=True)
            if name == head:
                save_file(mean, folder / name)
            else:
                shutil.copyfile(first / name, folder / name)
        if queries := frozenset[str]().union(*map(read_training_queries, folders)):
            write_training_queries(folder, queries)

    names = (*_SHARED, "licence", "base_licence")
    about = {name: record[name] for name in names if name in record}
    about |= _describe(folders, records)
    save_encoder(out, method=str(record["method"]), write=write, about=about)
    return max(lost for _, lost in adapters.values())


def merge(folders: Sequence[Path], *, rank: int | None) -> tuple[dict[str, tuple[Tensor, Tensor]], float]:
    r"""Return factors of the mean of :math:`s_i B_i A_i` for each linear layer, and the loss of a lower rank.

    Returns:
        Name of the module in the adapters -> (A, B) of shapes (rank, inputs) and (outputs, rank), fp32; and
        the share of the squared norm that is lost.

    Raises:
        TrainingError: If a folder is no plain LoRA adapter, or they are on other modules.
    """
    import torch

    factors = [_read_factors(folder) for folder in folders]
    if any(adapter.keys() != factors[0].keys() for adapter in factors):
        names = ", ".join(folder.name for folder in folders)
        raise TrainingError(f"expected adapters on the same modules, found others among {names}")
    merged: dict[str, tuple[Tensor, Tensor]] = {}
    lost = whole = 0.0
    for module in factors[0]:
        a = torch.cat([adapter[module][0] for adapter in factors])  # (ranks, inputs)
        b = torch.cat([adapter[module][1] for adapter in factors], dim=1) / len(folders)  # (outputs, ranks)
        # The singular values of b @ a, at the cost of the ranks and not of the layer.
        (qb, rb), (qa, ra) = torch.linalg.qr(b), torch.linalg.qr(a.T)
        u, values, v = torch.linalg.svd(rb @ ra.T)
        roots = values[:rank].sqrt()
        merged[module] = roots[:, None] * (v[: len(roots)] @ qa.T), (qb @ u[:, : len(roots)]) * roots
        whole += float(values.square().sum())
        lost += float(values[len(roots) :].square().sum())
    return merged, lost / whole if whole else 0.0


def _read_factors(folder: Path) -> dict[str, tuple[Tensor, Tensor]]:
    """Return module -> (A, s B) of an adapter, in fp32."""
    from safetensors.torch import load_file

    config = read_lora_config(folder)
    if config is None:
        raise TrainingError(f"{folder.name}: expected a plain LoRA adapter, found something else")
    tensors = load_file(folder / "adapter_model.safetensors")
    modules = [name.removesuffix(_A) for name in tensors if name.endswith(_A)]
    return {
        module: (a.float(), tensors[module + _B].float() * config.scale(len(a)))
        for module in modules
        for a in [tensors[module + _A]]
    }


def _write_adapter(merged: Mapping[str, tuple[Tensor, Tensor]], out: Path, *, like: Path) -> None:
    """Write the factors of `merge` as a LoRA adapter, fp16, configured as another one but for the rank."""
    from safetensors.torch import save_file

    out.mkdir(parents=True, exist_ok=True)
    tensors = {
        module + suffix: factor.half().contiguous()
        for module, factors in merged.items()
        for suffix, factor in zip((_A, _B), factors, strict=True)
    }
    save_file(tensors, out / "adapter_model.safetensors")
    rank = max(len(a) for a, _ in merged.values())
    config = read_object(like / "adapter_config.json")
    config |= {"r": rank, "lora_alpha": rank, "use_rslora": False, "rank_pattern": {}, "alpha_pattern": {}}
    (out / "adapter_config.json").write_text(
        json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )


def _mean_tensors(folders: Sequence[Path], file: str) -> dict[str, Tensor]:
    """Return the mean of a file of tensors in each folder, in the precision of the first."""
    import torch
    from safetensors.torch import load_file

    if absent := [folder.name for folder in folders if not (folder / file).is_file()]:
        raise TrainingError(f"{absent[0]}: expected {file}, found none")
    heads = [load_file(folder / file) for folder in folders]
    shapes = [{name: tensor.shape for name, tensor in head.items()} for head in heads]
    if any(shape != shapes[0] for shape in shapes):
        raise TrainingError(f"expected heads of one shape, found {shapes}")
    return {
        name: torch.stack([head[name].float() for head in heads]).mean(0).to(tensor.dtype)
        for name, tensor in heads[0].items()
    }


def _describe(folders: Sequence[Path], records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of a mean in `entail.json`: the common training data, and the members."""
    parts = [record.get("trained_on") or {} for record in records]
    common = {name: value for name, value in parts[0].items() if all(p.get(name) == value for p in parts)}
    data = dict.fromkeys(name for part in parts for name in part.get("data") or ())
    members = [
        {"name": folder.name, "weight": 1 / len(folders), "config": record.get("config")}
        for folder, record in zip(folders, records, strict=True)
    ]
    return {
        "trained_on": {**common, **({"data": list(data)} if data else {})},
        "averaged": {"encoders": members, "scale": 1.0},
    }


def _read_record(folder: Path) -> dict[str, Any]:
    """Return what `entail.json` says, of an encoder of Gaussians without what was fitted on dev."""
    read_card(folder, folder.name)  # refuses an adapter that was changed
    record = read_object(folder / "entail.json")
    if not any((folder / part / "adapter_config.json").is_file() for part in ("", ADAPTER)):
        raise TrainingError(f"{folder.name}: expected a model with an adapter, found something else")
    if record.get("gaussian"):
        form = GaussianForm.read(record["gaussian"], name=folder.name)
        record["gaussian"] = GaussianForm(
            similarity=form.similarity, pooling=form.pooling, tanh=form.tanh
        ).to_json()
    return record


def _data_files(folder: Path) -> set[str]:
    """Return the names of the files that seeds have in common, such as what a scorer knows of the facts."""
    if (folder / CROSS_HEAD).is_file():
        own = {CROSS_HEAD, TRAINING_QUERIES, "entail.json", "README.md"}
        return {path.name for path in folder.iterdir() if path.is_file()} - own
    return {f"{HEAD}/config.json"} if (folder / HEAD).is_dir() else set()


def _require_same(
    folder: Path, record: Mapping[str, Any], first: Path, first_record: Mapping[str, Any]
) -> None:
    """Refuse a model that differs from the first in method, base, form or data."""
    for name in _SHARED:
        expected, value = first_record.get(name), record.get(name)
        if expected != value:
            raise TrainingError(
                f"expected models of one {name}, found {expected!r} in {first.name} and {value!r} in "
                f"{folder.name}"
            )
    for name in sorted(_data_files(folder) | _data_files(first)):
        files = folder / name, first / name
        if not all(file.is_file() for file in files) or not _are_close(*files):
            raise TrainingError(
                f"expected models that learnt from the same data, but {name} of {folder.name} is not that of "
                f"{first.name}"
            )


def _are_close(file: Path, other: Path) -> bool:
    """Return whether files are the same, tensors but for the rounding of another machine."""
    import torch
    from safetensors.torch import load_file

    if file.suffix != ".safetensors":
        return file.read_bytes() == other.read_bytes()
    first, second = load_file(file), load_file(other)
    return first.keys() == second.keys() and all(
        tensor.shape == second[name].shape and torch.allclose(tensor, second[name], rtol=0, atol=1e-3)
        for name, tensor in first.items()
    )
