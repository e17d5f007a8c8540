"""``entail average``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from entail.cli.console import Report, progress_bar, reports

if TYPE_CHECKING:
    from entail.data.nli import NliPair

app = typer.Typer()


@app.command()
@reports
def average(
    folders: Annotated[
        list[Path],
        typer.Argument(help="LoRA encoders on one base, or scorers of facts.", metavar="FOLDER..."),
    ],
    *,
    out: Annotated[Path, typer.Option(help="Folder for the new encoder.", metavar="FOLDER")],
    weight: Annotated[
        list[float] | None,
        typer.Option(help="One an encoder, 1 in sum.  [default: all alike]", show_default=False),
    ] = None,
    scale: Annotated[
        float,
        typer.Option(
            help="1 for the mean itself; less is a step back to the base, which scorers cannot take."
        ),
    ] = 1.0,
    rank: Annotated[
        int | None, typer.Option(help="Rank of the new adapter.  [default: exact]", show_default=False)
    ] = None,
    dev: Annotated[
        Path | None,
        typer.Option(
            help="Of encoders of Gaussians: labelled pairs on which the threshold is found, and how sure a "
            "verdict is.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
) -> Report:
    """Make one encoder, or one scorer of facts, of several that were trained on one base.

    The mean of several seeds or losses ranks nearly as well as their ensemble and costs no more than one.
    """
    from entail.encoders.cross import cross_folder
    from entail.encoders.gaussian_form import HEAD

    pairs: Sequence[NliPair] = ()
    if scorers := any(cross_folder(folder) for folder in folders):
        from entail.arcf.averaging import average_scorers

        _require_bare(scale, dev)
        lost = average_scorers(folders, out, weights=weight, rank=rank)
    else:
        from entail.training.averaging import average_adapters

        pairs = _pairs(dev, folders)
        lost = average_adapters(folders, out, weights=weight, scale=scale, rank=rank)
    if pairs:
        from entail.gausscse.calibration import calibrate

        with progress_bar() as progress:
            calibrate(out, pairs, progress=progress)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    note = "" if pairs or not (out / HEAD).is_dir() else "; it has no threshold yet: give --dev"
    return Report(
        data={"encoders": [f.name for f in folders], "name": out.name, "lost": lost, "bytes": size},
        text=f"wrote {out}: the mean of {len(folders)} {'scorers' if scorers else 'encoders'}, "
        f"{size / 1e6:.1f} MB; "
        f"rank loses {lost:.2%}{note}",
    )


def _require_bare(scale: float, dev: Path | None) -> None:
    """Refuse of scorers what is for encoders.

    Raises:
        TrainingError: If something of that was given.
    """
    from entail.errors import TrainingError

    if scale != 1 or dev is not None:
        raise TrainingError("expected scorers of facts alone, found --scale or --dev, which are for encoders")


def _pairs(file: Path | None, folders: Sequence[Path]) -> Sequence[NliPair]:
    """Return the pairs to fit on, having looked whether there will be something to fit."""
    from entail.data.nli import read_nli
    from entail.encoders.catalogue import resolve
    from entail.errors import TrainingError

    if file is None:
        return ()
    if resolve(folders[0]).gaussian is None:
        raise TrainingError(
            f"--dev is for encoders of Gaussians: expected {folders[0].name} to be one, trained by GaussCSE"
        )
    return read_nli(file).pairs
