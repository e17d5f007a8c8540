"""The encoders in reach: what they are, what is known of them, which is active for which corpus."""

from __future__ import annotations

from entail.ui.resources import Workspace


def draw_encoders(shared: Workspace, author: str | None) -> None:
    """Draw the encoders."""
