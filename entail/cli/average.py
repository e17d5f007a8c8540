"""``entail average``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entail.cli.console import Report, reports

app = typer.Typer()


@app.command()
@reports
def average(
    folders: Annotated[list[Path], typer.Argument(help="LoRA encoders on one base.", metavar="FOLDER...")],
    *,
    out: Annotated[Path, typer.Option(help="Folder for the new encoder.", metavar="FOLDER")],
    weight: Annotated[
        list[float] | None,
        typer.Option(help="One an encoder, 1 in sum.  [default: all alike]", show_default=False),
    ] = None,
    scale: Annotated[
        float, typer.Option(help="1 for the mean itself; less is a step back to the base.")
    ] = 1.0,
    rank: Annotated[
        int | None, typer.Option(help="Rank of the new adapter.  [default: exact]", show_default=False)
    ] = None,
) -> Report:
    """Make one encoder of several that were trained on one base.

    The mean of several seeds or losses ranks nearly as well as their ensemble and costs no more than one.
    """
    from entail.training.averaging import average_adapters

    lost = average_adapters(folders, out, weights=weight, scale=scale, rank=rank)
    size = sum(file.stat().st_size for file in out.iterdir())
    return Report(
        data={"encoders": [f.name for f in folders], "name": out.name, "lost": lost, "bytes": size},
        text=f"wrote {out}: the mean of {len(folders)} encoders, {size / 1e6:.1f} MB; rank loses {lost:.2%}",
    )
