"""Options shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from entail.training.method import Role

Limit = Annotated[int | None, typer.Option(min=1, help="Only the first ones.", metavar="N")]
Out = Annotated[Path | None, "Also write the figures to a result file."]
Device = Annotated[str | None, "auto, cpu, cuda, cuda:1 ..."]


def active_or_packaged(role: Role) -> str:
    """Return the active model of a role, else the packaged one; a fallback is reported on stderr."""
    from entail.registry.models import active
    from entail.registry.roles import ROLES

    now = active(role=role)
    if now.notice is not None:
        typer.echo(now.notice, err=True)
    return now.encoder or ROLES[role].packaged
