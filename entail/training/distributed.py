"""Several processes, one training: what `torchrun` starts; one process is the plain case."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def world() -> tuple[int, int]:
    """Return this process's rank and how many there are; joins the others at the first call.

    gloo on processors, NCCL on GPUs; (0, 1) outside `torchrun`.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return 0, 1
    import torch
    import torch.distributed as dist

    if not dist.is_initialized():
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    return dist.get_rank(), size


def average(tensors: Iterable[Tensor], *, size: int) -> None:
    """Make each tensor the mean over all processes, in place; as one message, since they are small."""
    if size == 1:
        return
    import torch
    import torch.distributed as dist

    tensors = list(tensors)
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    dist.all_reduce(flat)
    flat /= size
    at = 0
    for tensor in tensors:
        tensor.copy_(flat[at : at + tensor.numel()].view_as(tensor))
        at += tensor.numel()
