r"""Average of adapters: the mean of their changes to the base, optionally shrunk.

.. math:: \Delta W = c \sum_i w_i \, s_i B_i A_i

With several seeds or losses this is a model soup (Wortsman et al. 2022a): nearly as good as the ensemble, at
the cost of one encoder. With c < 1 it interpolates to the base (WiSE-FT, Wortsman et al. 2022b). The sum has
the sum of the ranks; a lower rank is its best approximation (SVD). Heads of encoders of Gaussians are
averaged without c: the base has none.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.encoders.bert.lora import read_lora_config
from entail.encoders.card import PREMISE_TOWER, read_card, read_training_queries, write_training_queries
from entail.encoders.gaussian.form import HEAD, GaussianForm
from entail.encoders.weights import read_object
from entail.errors import TrainingError
from entail.training.adapters.saving import save_encoder

if TYPE_CHECKING:
    from torch import Tensor

_A, _B = ".lora_A.weight", ".lora_B.weight"
_IDENTITY = ("method", "base", "base_revision", "towers")


def average_adapters(
    folders: Sequence[Path],
    out: Path,
    *,
    weights: Sequence[float] | None = None,
    scale: float = 1.0,
    rank: int | None = None,
) -> float:
    """Write the weighted mean of adapters as one adapter, fp16; of two towers, the mean of each.

    The mean of encoders of Gaussians has no threshold and no confidence: fit them on dev, see
    `entail.gausscse.calibration.calibrate`.

    Args:
        folders: LoRA adapters on one base.
        out: Folder for the adapter; one of the same method there is replaced.
        weights: One per adapter, 1 in sum; default: equal.
        scale: c, 1 for the mean itself, 0 for the base.
        rank: Rank of the result; default: the sum of all ranks, which is exact.

    Returns:
        Share of the squared norm lost by the lower rank, 0 if exact; of two towers the larger one.

    Raises:
        TrainingError: If a folder is no plain LoRA adapter; if they differ in base, towers,
            similarity or modules; if a number is out of range; or the folder holds something else, or cannot
            be written.
    """
    from safetensors.torch import save_file

    shares = even_shares(len(folders), weights)
    if scale < 0 or (rank is not None and rank < 1):
        raise TrainingError(
            f"expected a scale of 0 or more and a rank of at least 1, found {scale:g}, {rank}"
        )
    _require_same(folders)
    has_premises = (folders[0] / PREMISE_TOWER).exists()
    scaled = [scale * share for share in shares]
    towers = {
        tower: merge([folder / tower for folder in folders], shares=scaled, rank=rank)
        for tower in ("", *([PREMISE_TOWER] if has_premises else []))
    }
    records = [read_object(folder / "entail.json") for folder in folders]
    first = records[0]
    file = f"{HEAD}/model.safetensors"
    head = mean_tensors(folders, file, shares=shares) if first.get("gaussian") else {}

    def write(folder: Path) -> None:
        for tower, (merged, _) in towers.items():
            write_adapter(merged, folder / tower, like=folders[0] / tower)
        if head:
            (folder / HEAD).mkdir()
            save_file(head, folder / file)
            shutil.copyfile(folders[0] / HEAD / "config.json", folder / HEAD / "config.json")
        write_training_queries(folder, frozenset[str]().union(*map(read_training_queries, folders)))

    about = {name: first[name] for name in (*_IDENTITY, "licence") if name in first}
    if head:
        about["gaussian"] = _without_fit(first, folders[0].name).to_json()
    about |= describe_mean(folders, records, shares=shares, scale=scale)
    save_encoder(out, method=str(first.get("method")), write=write, about=about)
    return max(lost for _, lost in towers.values())


def even_shares(count: int, weights: Sequence[float] | None) -> list[float]:
    """Return the weights of adapters, by default equal ones.

    Raises:
        TrainingError: If there is no adapter, or the weights differ in number or are not 1 in sum.
    """
    if not count:
        raise TrainingError("expected adapters to average, found none")
    shares = [1 / count] * count if weights is None else list(weights)
    if len(shares) != count or abs(sum(shares) - 1) > 1e-6:
        raise TrainingError(
            f"expected {count} weights, 1 in sum, found {len(shares)} with {sum(shares):g} in sum"
        )
    return shares


def write_adapter(merged: Mapping[str, tuple[Tensor, Tensor]], out: Path, *, like: Path) -> None:
    """Write the factors of `merge` as a LoRA adapter, fp16, configured as another one but for the rank."""
    import torch
    from safetensors.torch import save_file

    tensors: dict[str, Tensor] = {}
    for module, (a, b) in merged.items():
        tensors[module + _A], tensors[module + _B] = a.to(torch.float16), b.to(torch.float16)
    out.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: tensor.contiguous() for name, tensor in tensors.items()}, out / "adapter_model.safetensors"
    )
    config = read_object(like / "adapter_config.json")
    ranks = max(len(a) for a, _ in merged.values())
    config |= {"r": ranks, "lora_alpha": ranks, "use_rslora": False, "rank_pattern": {}, "alpha_pattern": {}}
    (out / "adapter_config.json").write_text(
        json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )


def describe_mean(
    folders: Sequence[Path],
    records: Sequence[Mapping[str, Any]],
    *,
    shares: Sequence[float],
    scale: float = 1.0,
) -> dict[str, Any]:
    """Return the fields of a mean in `entail.json`: the common training data, and the members.

    Args:
        folders: Folders of the members.
        records: Content of their `entail.json`.
        shares: Weight of each.
        scale: Scale c of the mean.
    """
    parts = [record.get("trained_on") or {} for record in records]
    common = {name: value for name, value in parts[0].items() if all(p.get(name) == value for p in parts)}
    data = dict.fromkeys(name for part in parts for name in part.get("data") or ())
    members = [
        {"name": folder.name, "weight": share, "config": record.get("config")}
        for folder, share, record in zip(folders, shares, records, strict=True)
    ]
    return {
        "trained_on": {**common, **({"data": list(data)} if data else {})},
        "averaged": {"encoders": members, "scale": scale},
    }


def mean_tensors(folders: Sequence[Path], file: str, *, shares: Sequence[float]) -> dict[str, Tensor]:
    """Return the weighted mean of a file of tensors in each folder, in the precision of the first.

    Raises:
        TrainingError: If a file is missing, or they differ in their tensors.
    """
    import torch
    from safetensors.torch import load_file

    state_dicts: list[dict[str, Tensor]] = []
    for folder in folders:
        if not (folder / file).is_file():
            raise TrainingError(f"{folder.name}: expected {file}, found none")
        state_dicts.append(load_file(folder / file))
        shapes, first = (
            {name: t.shape for name, t in state_dict.items()}
            for state_dict in (state_dicts[-1], state_dicts[0])
        )
        if shapes != first:
            raise TrainingError(f"expected heads of one shape, found others in {folder.name}")
    mean = {}
    for name, tensor in state_dicts[0].items():
        weighted = [
            share * state_dict[name].float() for share, state_dict in zip(shares, state_dicts, strict=True)
        ]
        mean[name] = torch.stack(weighted).sum(0).to(tensor.dtype)
    return mean


def merge(
    folders: Sequence[Path], *, shares: Sequence[float], rank: int | None
) -> tuple[dict[str, tuple[Tensor, Tensor]], float]:
    r"""Return factors of :math:`\sum_i c_i s_i B_i A_i` for each linear layer, and the loss of a lower rank.

    Args:
        folders: LoRA adapters on the same modules.
        shares: c, one per adapter.
        rank: Maximum rank; None for the exact sum.

    Returns:
        Name of the module in the adapters -> (A, B) of shapes (rank, inputs) and (outputs, rank), fp32; and
        the share of the squared norm that is lost.

    Raises:
        TrainingError: If a folder is no plain LoRA adapter, or they are on other modules.
    """
    import torch

    factors = [_read_factors(folder) for folder in folders]
    first = factors[0]
    for folder, adapter in zip(folders, factors, strict=True):
        if adapter.keys() != first.keys():
            raise TrainingError(
                f"expected adapters on the same modules, but {folder.name} is on "
                f"{len(adapter)} and {folders[0].name} on {len(first)}, not all the same"
            )
    merged: dict[str, tuple[Tensor, Tensor]] = {}
    lost = whole = 0.0
    for module in first:
        a = torch.cat([adapter[module][0] for adapter in factors])  # (ranks, inputs)
        b = torch.cat(
            [adapter[module][1] * share for adapter, share in zip(factors, shares, strict=True)], dim=1
        )  # (outputs, ranks)
        down, up, squares = _truncate(a, b, rank)
        merged[module] = down, up
        whole += float(squares.sum())
        lost += float(squares[len(down) :].sum())
    return merged, lost / whole if whole else 0.0


def _without_fit(record: Mapping[str, Any], name: str) -> GaussianForm:
    """Return the form of an encoder of Gaussians without threshold and confidence."""
    form = GaussianForm.read(record["gaussian"], name=name)
    return GaussianForm(similarity=form.similarity, pooling=form.pooling, tanh=form.tanh)


def _read_factors(folder: Path) -> dict[str, tuple[Tensor, Tensor]]:
    """Return module -> (A, s B) of an adapter, in fp32."""
    from safetensors.torch import load_file

    config = read_lora_config(folder)
    if config is None:
        raise TrainingError(f"{folder.name}: expected a plain LoRA adapter, found something else")
    tensors = load_file(folder / "adapter_model.safetensors")
    factors: dict[str, tuple[Tensor, Tensor]] = {}
    for name, a in tensors.items():
        if name.endswith(_A):
            module = name.removesuffix(_A)
            factors[module] = (a.float(), tensors[module + _B].float() * config.scale(len(a)))
    return factors


def _truncate(a: Tensor, b: Tensor, rank: int | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return factors of `b @ a` of at most a rank, and all squared singular values."""
    import torch

    qb, rb = torch.linalg.qr(b)
    qa, ra = torch.linalg.qr(a.T)
    u, values, v = torch.linalg.svd(rb @ ra.T)
    truncated_rank = len(values) if rank is None else min(rank, len(values))
    roots = values[:truncated_rank].sqrt()
    return (
        roots[:, None] * (v[:truncated_rank] @ qa.T),
        (qb @ u[:, :truncated_rank]) * roots,
        values.square(),
    )


def _require_same(folders: Sequence[Path]) -> None:
    """Check that adapters agree in base, towers and method, and as encoders of Gaussians in their form."""
    first: dict[str, Any] = {}
    for folder in folders:
        read_card(folder, folder.name)  # refuses an adapter that was changed
        record = read_object(folder / "entail.json")
        form = asdict(_without_fit(record, folder.name)) if record.get("gaussian") else {}
        identity = {name: record.get(name) for name in _IDENTITY}
        identity |= {name: form.get(name) for name in ("similarity", "pooling", "tanh")}
        first = first or identity
        for name, value in identity.items():
            if value != first[name]:
                raise TrainingError(
                    f"expected adapters of one {name}, found {first[name]!r} in {folders[0].name} and "
                    f"{value!r} in {folder.name}"
                )
