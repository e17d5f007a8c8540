"""What runs here and what it takes, for whoever keeps it running."""

from __future__ import annotations

from entail.ui.resources import Workspace


def draw_operator(shared: Workspace, author: str | None) -> None:
    """Draw versions, room, jobs and logs."""
