"""State of the machine: processor load, memory, GPUs, this process."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from entail.results import hardware

_PATIENCE = 5.0
_ASKED = ("name", "memory.total", "memory.used", "utilization.gpu", "driver_version")
_MEMORY_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


@dataclass(frozen=True, slots=True)
class Gpu:
    """GPU as `nvidia-smi` reports it.

    Attributes:
        name: Model.
        total: Memory in bytes.
        used: Used memory in bytes, of all processes.
        busy: Utilisation from 0 to 1; None where unknown.
        driver: Version of the driver.
    """

    name: str
    total: int
    used: int
    busy: float | None
    driver: str


@dataclass(frozen=True, slots=True)
class Machine:
    """Resources of the machine and their use.

    Attributes:
        system: Operating system and architecture.
        cpu: Processor.
        cores: Number of cores available to this process.
        load: Load averages over 1, 5 and 15 minutes; None on Windows.
        memory: Bytes of memory, or the limit of this container if lower.
        memory_free: Available bytes.
        process_memory: Bytes held by this process.
        process_since: Start of this process, in UTC.
        gpus: GPUs that `nvidia-smi` reports; empty without it.
    """

    system: str
    cpu: str
    cores: int
    load: tuple[float, float, float] | None
    memory: int
    memory_free: int
    process_memory: int
    process_since: datetime
    gpus: tuple[Gpu, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self) | {"process_since": self.process_since.isoformat(timespec="seconds")}


def look_at_machine() -> Machine:
    """Return the state of the machine without loading torch."""
    import psutil

    memory, process, about = psutil.virtual_memory(), psutil.Process(), hardware()
    total, free = int(memory.total), int(memory.available)
    limit = _limit()
    if limit is not None and limit[0] < total:
        total, free = limit[0], max(0, min(free, limit[0] - limit[1]))
    return Machine(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu=str(about["cpu"]),
        cores=int(about["cores"] or 1),
        load=os.getloadavg() if hasattr(os, "getloadavg") else None,
        memory=total,
        memory_free=free,
        process_memory=int(process.memory_info().rss),
        process_since=datetime.fromtimestamp(process.create_time(), UTC),
        gpus=look_at_gpus(),
    )


def look_at_gpus() -> tuple[Gpu, ...]:
    """Return what `nvidia-smi` tells; nothing where it is missing, silent or slow."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    try:
        done = subprocess.run(
            [tool, f"--query-gpu={','.join(_ASKED)}", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return read_gpus(done.stdout) if done.returncode == 0 else ()


def read_gpus(told: str) -> tuple[Gpu, ...]:
    """Return the GPUs of a table of `nvidia-smi`; other lines are skipped.

    >>> read_gpus("NVIDIA H200, 143771, 1024, [N/A], 580.1")[0].busy is None
    True
    """
    found = []
    for line in told.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) != len(_ASKED):
            continue
        name, total, used, busy, driver = parts
        with contextlib.suppress(ValueError):
            share = int(busy) / 100 if busy.isdigit() else None
            found.append(Gpu(name, int(total) * 2**20, int(used) * 2**20, share, driver))
    return tuple(found)


def _limit() -> tuple[int, int] | None:
    """Return limit and use of a container's memory in bytes, None without a limit."""
    for most, now in _MEMORY_LIMITS:
        with contextlib.suppress(OSError, ValueError):
            return int(most.read_text()), int(now.read_text())
    return None
