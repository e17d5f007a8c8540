"""Joins the others, makes an optimizer and leaves; run by test_distributed, by torchrun.

Ends with 3 where threads of gloo are left when the interpreter begins to shut down: they may abort it.
"""

import atexit
import os
from pathlib import Path


def look() -> None:
    names = [(task / "comm").read_text(encoding="utf-8") for task in Path("/proc/self/task").iterdir()]
    if any("gloo" in name for name in names):
        os._exit(3)


def main() -> None:
    import torch

    from entail.training.loop.distributed import from_first, world

    atexit.register(look)  # the first registered is the last called
    world()
    torch.optim.AdamW([torch.nn.Parameter(torch.ones(1))])
    assert from_first(lambda: 1) == 1


if __name__ == "__main__":
    main()
