"""Put a model that was trained in the place of what ships."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from entail.training.adapters.saving import save_encoder


def ship(folder: Path, out: Path, *, more: Mapping[str, Any] | None = None) -> int:
    """Put a model in its place, under that name, and return its bytes.

    Args:
        folder: The model.
        out: Its place; a model of the same method there is replaced.
        more: Added to `entail.json`.
    """
    about = json.loads((folder / "entail.json").read_text(encoding="utf-8")) | dict(more or {})
    save_encoder(
        out, method=about["method"], write=lambda target: shutil.copytree(folder, target), about=about
    )
    return sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
