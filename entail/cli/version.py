"""``entail version``."""

from __future__ import annotations

import typer

from entail.cli.console import Report, reports, table

app = typer.Typer()


@app.command()
@reports
def version() -> Report:
    """Print the versions of entail, Python and what results rest on."""
    from entail.results import versions

    found = versions()
    return Report(data=found, text=table(["package", "version"], list(found.items())))
