"""Checkpoints: tensors as safetensors, the rest as JSON in its header, no pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.data.reading import open_regular
from entail.data.stored import parse_as
from entail.data.writing import differences, replacing
from entail.errors import CheckpointError

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Checkpoint:
    """State of a training from which it continues as if it had never stopped.

    Attributes:
        fingerprint: Identity of the training, name -> value (base, data, configuration).
        state: Progress of the training, as JSON values.
        tensors: Weights and optimiser moments.
    """

    fingerprint: Mapping[str, str]
    state: Mapping[str, Any]
    tensors: Mapping[str, Tensor]


def write_checkpoint(file: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint in one move: a killed process leaves the old one or the new one.

    Raises:
        CheckpointError: If it cannot be written; the old one stays.
    """
    from safetensors.torch import save_file

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file, sole_writer=True) as partial:
            save_file(
                {
                    name: tensor.detach().cpu().contiguous().clone()
                    for name, tensor in checkpoint.tensors.items()
                },
                str(partial),
                metadata={
                    "fingerprint": json.dumps(dict(checkpoint.fingerprint)),
                    "state": json.dumps(dict(checkpoint.state)),
                },
            )
            with partial.open("rb") as written:
                os.fsync(written.fileno())
    except Exception as error:
        raise CheckpointError(
            f"the checkpoint {file.name} could not be written: {error}; make room, then resume"
        ) from error


def read_checkpoint(file: Path, *, fingerprint: Mapping[str, str]) -> Checkpoint:
    """Read a checkpoint of the training with this fingerprint.

    Raises:
        CheckpointError: If it is damaged, or has another fingerprint; names the differences.
    """
    from safetensors import SafetensorError, safe_open

    try:
        open_regular(file).close()  # the opening of a pipe would wait
        with safe_open(str(file), framework="pt") as opened:
            header = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - no mapping
        stored_fingerprint = parse_as(dict[str, str], header["fingerprint"])
        state = json.loads(header["state"])
    except (OSError, SafetensorError, KeyError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{file.name}: expected a checkpoint, found a damaged file ({error}); remove it to start again"
        ) from error
    if differing := differences(fingerprint, stored_fingerprint):
        raise CheckpointError(
            f"{file.name} is of another training ({differing}); train into another folder, or "
            "start again without resuming"
        )
    return Checkpoint(stored_fingerprint, state, tensors)
