"""Training in several processes, started by `torchrun`; without it, one process."""

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
    """Return the rank of this process and the number of processes; the first call joins the group.

    gloo for processors, NCCL for GPUs; (0, 1) outside `torchrun`.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return 0, 1
    import torch
    import torch.distributed as dist

    if not dist.is_initialized():
        # Its functions bind the current group as a default argument at import. Imported later (an optimizer
        # does), they would keep a destroyed group alive, whose threads abort the exit of the interpreter.
        import torch.distributed.nn.functional

        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
        atexit.register(dist.destroy_process_group)
    return dist.get_rank(), size


def from_first(make: Callable[[], T]) -> T:
    """Call a function in the first process and return its value in all; the others wait.

    The function returns JSON values; of several processes, tuples become lists.

    Raises:
        TrainingError: In the other processes, if it failed in the first, which raises its own error.
    """
    rank, size = world()
    if size == 1:
        return make()
    if rank:
        message = json.loads(_broadcast(None))
        if "error" in message:
            raise TrainingError(f"the first process failed: {message['error']}")
        value: T = message["value"]
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
    """Average each tensor over all processes, in place, in one message."""
    if size == 1:
        return
    import torch
    import torch.distributed as dist

    tensors = list(tensors)
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    dist.all_reduce(flat)
    means = torch.split(flat / size, [tensor.numel() for tensor in tensors])
    for tensor, mean in zip(tensors, means, strict=True):
        tensor.copy_(mean.view_as(tensor))


def _broadcast(text: str | None) -> str:
    """Send a text from the first process to all, as bytes: nothing is pickled."""
    import torch
    import torch.distributed as dist

    content = torch.tensor(list((text or "").encode()), dtype=torch.uint8)
    length = torch.tensor([len(content)])
    dist.broadcast(length, src=0)
    if text is None:
        content = torch.empty(int(length), dtype=torch.uint8)
    dist.broadcast(content, src=0)
    return bytes(content.tolist()).decode()
