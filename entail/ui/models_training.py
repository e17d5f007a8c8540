"""Training from the browser: a form, the queue, how each run goes."""

from __future__ import annotations

from entail.ui.resources import Workspace


def draw_training(shared: Workspace, author: str | None) -> None:
    """Draw the form and the jobs."""
