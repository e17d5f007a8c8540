"""What a command takes where none is named: what is in use for a role, else what ships."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from entail.roles import OwnRole


def name_in_use(role: OwnRole) -> str:
    """Return what is in use for a role, and say on stderr where it stands in for what was promoted.

    Where nothing can be used it is what ships: whoever loads that tells how to get one.
    """
    from entail.roles import SHIPPED, in_use

    now = in_use(role)
    if now.notice is not None:
        typer.echo(now.notice, err=True)
    return now.name or SHIPPED[role]
