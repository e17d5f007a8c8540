"""``entail app``."""

from __future__ import annotations

from typing import Annotated

import typer

from entail.cli.console import Report, reports

app = typer.Typer()


@app.command("app")
@reports
def serve_app(
    port: Annotated[int, typer.Option(help="Port to serve on.", min=0, max=65535)] = 8501,
    address: Annotated[str | None, typer.Option(help="Address to serve on; all of this machine's.")] = None,
    api: Annotated[bool, typer.Option("--api", help="Answer the HTTP API, too, under /api.")] = False,
) -> Report:
    """Start the app in the browser; stop it with Ctrl+C."""
    from entail.ui.launch import launch

    launch(port=port, address=address, api=api)
    return Report(data={"stopped": True}, text="stopped")
