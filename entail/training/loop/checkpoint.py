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
from entail.training.fields import current_names

if TYPE_CHECKING:
    from torch import Tensor

_CONFIG = "config."
"""Prefix of the configuration's fields in a fingerprint."""

_FORMAT = "2"


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
                    "format": _FORMAT,
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


def read_checkpoint(
    file: Path, *, fingerprint: Mapping[str, str], defaults: Mapping[str, str] | None = None
) -> Checkpoint:
    """Read a checkpoint of the training with this fingerprint.

    Args:
        file: The checkpoint.
        fingerprint: Identity of the training.
        defaults: Values of parts of it that the checkpoint lacks: settings that its version did not have.

    Raises:
        CheckpointError: If it is damaged, or has another fingerprint; names the differences.
    """
    from safetensors import SafetensorError, safe_open

    try:
        open_regular(file).close()  # the opening of a pipe would wait
        with safe_open(str(file), framework="pt") as opened:
            header = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - no mapping
        format_, stored_fingerprint = header["format"], parse_as(dict[str, str], header["fingerprint"])
        state = json.loads(header["state"])
    except (OSError, SafetensorError, KeyError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{file.name}: expected a checkpoint, found a damaged file ({error}); remove it to begin anew"
        ) from error
    if format_ != _FORMAT:
        raise CheckpointError(
            f"{file.name}: expected a checkpoint of format {_FORMAT}, found format {format_}, of another "
            "version of entail; go on with that version, or begin anew without resuming"
        )
    stored_fingerprint = dict(defaults or {}) | _rename_fields(stored_fingerprint, fingerprint)
    if differing := differences(fingerprint, stored_fingerprint):
        raise CheckpointError(
            f"{file.name} is of another training ({differing}); train into another folder, or "
            "begin anew without resuming"
        )
    return Checkpoint(stored_fingerprint, state, tensors)


def _rename_fields(stored_fingerprint: Mapping[str, str], fingerprint: Mapping[str, str]) -> dict[str, str]:
    """Return a fingerprint of an earlier version with the current names of the configuration's fields."""

    def fields(entries: Mapping[str, str]) -> dict[str, str]:
        return {key.removeprefix(_CONFIG): value for key, value in entries.items() if key.startswith(_CONFIG)}

    other_entries = {key: value for key, value in stored_fingerprint.items() if not key.startswith(_CONFIG)}
    config = current_names(fields(stored_fingerprint), field_names=fields(fingerprint))
    return other_entries | {f"{_CONFIG}{name}": value for name, value in config.items()}
