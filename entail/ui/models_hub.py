"""Encoders and trees to the Hugging Face Hub, and encoders from there."""

from __future__ import annotations

from entail.ui.resources import Workspace


def draw_hub(shared: Workspace, author: str | None) -> None:
    """Draw what can be pushed and pulled."""
