"""``entail convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entail.cli.console import Report, command

app = typer.Typer()


@command(app)
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Trees: .jsonl or .jsonl.gz; claims: .txt.")],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help=".jsonl, .graphml, .dot, .svg, .html or .csv (pairs).")
    ],
    row: Annotated[int | None, "Convert only this row of IN, counted from 1."] = None,
) -> Report:
    """Convert trees between formats; the suffixes decide.

    If the format of OUT holds one tree, each tree gets its own file: out-001.svg, out-002.svg ...
    """
    from entail.trees.formats.convert import convert

    done = convert(source, target, row=row)
    files = [str(file) for file in done.files]
    destination = files[0] if len(files) == 1 else f"{len(files):,} files, {files[0]} to {files[-1]}"
    return Report(
        data={"trees": done.trees, "files": files},
        text=f"wrote {done.trees:,} tree{'' if done.trees == 1 else 's'} to {destination}",
    )
