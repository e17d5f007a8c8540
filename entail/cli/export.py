"""``entail export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entail.cli.console import Report, reports

app = typer.Typer()


@app.command()
@reports
def export(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An encoder: a name, a folder, a Hub id.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new folder.")],
    *,
    routes: Annotated[
        bool,
        typer.Option("--routes", help="Also each tower as a plain model, OUT-query and OUT-premise."),
    ] = False,
) -> Report:
    """Write an encoder as a folder that plain sentence-transformers loads.

    An adapter is merged into its base. With towers of their own it is a Router: encode_query for claims,
    encode_document for premises. What was written is loaded again and compared before it is kept.

    --routes is for servers that know no routes, such as Text Embeddings Inference, with which it has not
    been tried: two servers, one a folder.
    """
    from entail.hub.export import export_encoder

    done = export_encoder(name, out, routes=routes)
    also = f" and {', '.join(route.name for route in done.routes)}" if done.routes else ""
    return Report(
        data={
            "folder": str(done.folder),
            "routes": [str(route) for route in done.routes],
            "files": done.files,
            "bytes": done.size,
            "difference": done.difference,
        },
        text=f"wrote {done.folder}{also}: {len(done.files)} files, {done.size / 1e6:.1f} MB; vectors differ "
        f"from entail's own by {done.difference:.1e} at most",
    )
