r"""Mean of the adapters of several encoders (Wortsman et al. 2022, *Model soups*).

.. math:: \Delta W = \frac{1}{n} \sum_i s_i B_i A_i

It ranks nearly as well as the ensemble, at the cost of one model. The sum has the sum of the ranks; a lower
rank is its best approximation (SVD). `peft` offers the same sum (`add_weighted_adapter`), but only over a
loaded base, which is not needed here, and without the share that a lower rank loses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.encoders.bert.lora import read_lora_config
from entail.encoders.card import PREMISE_TOWER, read_card, read_training_queries, write_training_queries
from entail.encoders.weights import read_object
from entail.errors import TrainingError
from entail.training.adapters.saving import save_encoder

if TYPE_CHECKING:
    from torch import Tensor

_A, _B = ".lora_A.weight", ".lora_B.weight"
_SHARED = ("method", "base", "base_revision", "towers")


def average_adapters(folders: Sequence[Path], out: Path, *, rank: int | None = None) -> float:
    """Write the mean of encoders with LoRA adapters on one base as an encoder, in fp16.

    Without a rank, the sum of all ranks, the mean is exact.

    Returns:
        Share of the squared norm lost by the lower rank, 0 if exact; of two towers the larger one.

    Raises:
        TrainingError: If a folder has no plain LoRA adapter, or makes Gaussians; if they differ in method,
            base, towers or modules; if the rank is below 1; or the folder holds something else, or cannot be
            written.
    """
    if not folders or (rank is not None and rank < 1):
        raise TrainingError(
            f"expected adapters to average and a rank of at least 1, found {len(folders)} and {rank}"
        )
    first, records = folders[0], [_read_record(folder) for folder in folders]
    for folder, record in zip(folders, records, strict=True):
        for name in _SHARED:
            if record.get(name) != records[0].get(name):
                raise TrainingError(
                    f"expected encoders of one {name}, found {records[0].get(name)!r} in {first.name} and "
                    f"{record.get(name)!r} in {folder.name}"
                )
    parts = [part for part in ("", PREMISE_TOWER) if (first / part / "adapter_config.json").exists()]
    adapters = {part: merge([folder / part for folder in folders], rank=rank) for part in parts}

    def write(folder: Path) -> None:
        for part, (merged, _) in adapters.items():
            _write_adapter(merged, folder / part, like=first / part)
        if queries := frozenset[str]().union(*map(read_training_queries, folders)):
            write_training_queries(folder, queries)

    names = (*_SHARED, "licence")
    about = {name: records[0][name] for name in names if name in records[0]} | _describe(folders, records)
    save_encoder(out, method=str(about["method"]), write=write, about=about)
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
    """Return the content of `entail.json` of an encoder with an adapter."""
    card = read_card(folder, folder.name)  # refuses an adapter that was changed
    if card is None or card.gaussian or not (folder / "adapter_config.json").is_file():
        raise TrainingError(
            f"{folder.name}: expected an encoder of points with an adapter, found something else"
        )
    return read_object(folder / "entail.json")
