"""``entail serve``."""

from __future__ import annotations

from typing import Annotated

import typer

from entail.cli.console import Report, reports

app = typer.Typer()


@app.command()
@reports
def serve(
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.", min=0, max=65535)] = 8600,
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            help="An encoder that may be asked for, loaded at the start; say it again for others.  "
            "[default: all that are here]",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes, each with its own copy of the encoders.", metavar="N")
    ] = 1,
) -> Report:
    """Serve the HTTP API: encode, search, health, info; stop it with Ctrl+C.

    With ENTAIL_SERVE_TOKEN set, clients have to send it. /openapi.json describes every request.
    """
    from entail.serving.server import serve as run

    run(host=host, port=port, encoders=encoder or (), workers=workers)
    return Report(data={"stopped": True}, text="stopped")
