"""Result files: figures with commit, hardware, versions and command."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from entail.errors import DataError
from entail.settings import expand_home
from entail.version import __version__

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = str.split(
    "bm25s faiss-cpu faiss-gpu numpy peft scikit-learn sentence-transformers SQLAlchemy streamlit torch "
    "transformers"
)


def write_result(
    path: Path,
    *,
    figures: Mapping[str, Any],
    seed: int | None,
    started: datetime,
    command: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Write figures to a JSON file with commit, seed, hardware, versions, wall time and command; return it.

    The file is replaced atomically, and holds no host name and no absolute path, so it can be committed.

    Args:
        path: File to write; folders are made.
        figures: JSON-serialisable figures.
        seed: Random seed, None without one.
        started: Start of the work, with a time zone.
        command: Command that repeats the work; default: the running one.

    Raises:
        DataError: If the file cannot be written.
        ValueError: If a figure is NaN or infinite, or `started` has no zone.
    """
    if started.tzinfo is None:
        raise ValueError("`started` needs a time zone: datetime.now(UTC)")
    now = datetime.now(UTC)
    record: dict[str, Any] = {
        "figures": dict(figures),
        "commit": commit(),
        "seed": seed,
        "hardware": hardware(),
        "versions": versions(),
        "wall_seconds": round((now - started).total_seconds(), 2),
        "command": _portable(sys.orig_argv if command is None else command),
        "finished": now.isoformat(timespec="seconds"),
    }
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise DataError(f"{path}: expected to write a file here, found: {error.strerror}") from error
    return record


def provenance() -> dict[str, Any]:
    """Return commit, command, processor, GPUs and time of a run, for a result file of several runs."""
    machine = hardware()
    return {
        "commit": commit(),
        "command": _portable(sys.orig_argv),
        "cpu": machine["cpu"],
        "gpus": machine["gpus"],
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def commit(root: Path = _ROOT) -> str | None:
    """Return the commit of the code, with `-dirty` if tracked files differ from it; None outside git."""
    head = _git(root, "rev-parse", "HEAD")
    if not head:
        return None
    # A result or a model that is being rewritten says nothing about the code; weights have a revision.
    exclusions = (":!docs/results", ":!models")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", *exclusions)
    return f"{head}-dirty" if changed else head


def hardware() -> dict[str, Any]:
    """Return processor, cores, memory and GPUs; a GPU is asked for only where torch is already loaded."""
    return {
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "gpus": _gpus(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Return the versions of `entail`, Python and the packages that figures depend on."""
    package_versions = {"entail": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            package_versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return package_versions


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _portable(command: Sequence[str]) -> str:
    """Join a command, with every absolute path told from the project's root, or by its name alone."""
    words = []
    for index, word in enumerate(command):
        if index == 0 and Path(word).name.startswith("python"):
            word = "python"
        option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
        if value.startswith("~") or Path(value).is_absolute():
            resolved = Path(expand_home(value)).resolve()
            inside = resolved.is_relative_to(_ROOT)
            value = resolved.relative_to(_ROOT).as_posix() if inside else f".../{resolved.name}"
        words.append(option + equals + value)
    return shlex.join(words)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _gpus() -> list[str]:
    # Importing torch here would cost seconds; whoever measured on a GPU has it loaded.
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
