"""Several processes, one training: what `torchrun` starts; one process is the plain case."""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from entail.errors import TrainingError

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")


def world() -> tuple[int, int]:
    """Return this process's rank and how many there are; joins the others at the first call.

    gloo for processors, NCCL for GPUs; (0, 1) outside `torchrun`.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return 0, 1
    import torch
    import torch.distributed as dist

    if not dist.is_initialized():
        # Its functions have the group of the moment of the import as a default argument. An optimizer imports
        # it: after the start, a group that is destroyed would live on, and its threads into the shutdown of
        # the interpreter, where they abort the process.
        import torch.distributed.nn.functional

        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
        atexit.register(dist.destroy_process_group)
    return dist.get_rank(), size


def from_first(make: Callable[[], T]) -> T:
    """Let the first process make something, and give it to all; the others wait for it.

    Args:
        make: What the first process alone does; returns a value of JSON's types (tuples become lists). One
            process alone gets it as it is.

    Raises:
        TrainingError: In the others, if it failed in the first, which raises its own error.
    """
    rank, size = world()
    if size == 1:
        return make()
    if rank:
        told = json.loads(_broadcast(None))
        if "error" in told:
            raise TrainingError(f"the first process failed: {told['error']}")
        value: T = told["value"]
        return value
    try:
        content = json.dumps({"value": make()})
    except BaseException as error:
        _broadcast(json.dumps({"error": str(error)}))
        raise
    _broadcast(content)
    value = json.loads(content)["value"]
    return value


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


def _broadcast(text: str | None) -> str:
    """Send a text from the first process to all, as numbers: nothing is pickled."""
    import torch
    import torch.distributed as dist

    content = torch.tensor(list((text or "").encode()), dtype=torch.uint8)
    length = torch.tensor([len(content)])
    dist.broadcast(length, src=0)
    if text is None:
        content = torch.empty(int(length), dtype=torch.uint8)
    dist.broadcast(content, src=0)
    return bytes(content.tolist()).decode()
