"""Resources of the machine and their use: processor, memory, GPUs."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from entail.memory import machine_memory
from entail.results import hardware

_TIMEOUT = 5.0
_GPU_FIELDS = ("name", "memory.total", "memory.used", "utilization.gpu", "driver_version")


@dataclass(frozen=True, slots=True)
class Gpu:
    """GPU as `nvidia-smi` reports it: memory in bytes, utilisation from 0 to 1 (None if unknown)."""

    name: str
    total: int
    used: int
    busy: float | None
    driver: str


@dataclass(frozen=True, slots=True)
class Machine:
    """Resources of the machine or container and their use: memory in bytes, cores of this process.

    `load` averages 1, 5 and 15 minutes (None on Windows).
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


def inspect_machine() -> Machine:
    """Return the state of the machine without loading torch."""
    import psutil

    process, about = psutil.Process(), hardware()
    total, free = machine_memory()
    return Machine(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu=str(about["cpu"]),
        cores=int(about["cores"] or 1),
        load=os.getloadavg() if hasattr(os, "getloadavg") else None,
        memory=total,
        memory_free=free,
        process_memory=int(process.memory_info().rss),
        process_since=datetime.fromtimestamp(process.create_time(), UTC),
        gpus=list_gpus(),
    )


def list_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that `nvidia-smi` reports; none if it is missing, fails or is slow."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    try:
        done = subprocess.run(
            [tool, f"--query-gpu={','.join(_GPU_FIELDS)}", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return parse_gpus(done.stdout) if done.returncode == 0 else ()


def parse_gpus(output: str) -> tuple[Gpu, ...]:
    """Return the GPUs of a table of `nvidia-smi`; other lines are skipped.

    >>> parse_gpus("NVIDIA H200, 143771, 1024, [N/A], 580.1")[0].busy is None
    True
    """
    gpus = []
    for line in output.splitlines():
        with contextlib.suppress(ValueError):
            name, total, used, busy, driver = (part.strip() for part in line.split(","))
            share = int(busy) / 100 if busy.isdigit() else None
            gpus.append(Gpu(name, int(total) * 2**20, int(used) * 2**20, share, driver))
    return tuple(gpus)
