"""``entail card``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entail.cli.console import Report, reports

app = typer.Typer()


@app.command()
@reports
def card(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="An encoder, such as models/mine.")],
    *,
    results: Annotated[
        list[Path] | None,
        typer.Option(
            help="Figures of it and its base, as `entail evaluate premises --out` writes them, or of a "
            "scorer of facts as `entail evaluate chains --out` does; may be said again.",
            metavar="FILE",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="What it learnt from: entailment_bank, team_decisions, another name; may be said again.",
            metavar="NAME",
        ),
    ] = None,
    licence: Annotated[
        str | None, typer.Option(help="As its publisher decides, in the Hub's words.", metavar="ID")
    ] = None,
    note: Annotated[
        list[str] | None,
        typer.Option(
            help="What else is to be known of how it was made, in place of what was said before; may be "
            "said again.",
            metavar="TEXT",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the card.")] = False,
) -> Report:
    """Write an encoder's card, README.md, from its entail.json.

    What is said here of figures, data, licence and making is remembered in entail.json.
    """
    from entail.cards.facts import remember
    from entail.cards.model_card import write_card
    from entail.hub.cross import find_cross, remember_cross, write_cross_card

    cross = find_cross(folder)
    if cross is not None and (data or licence or note):
        raise typer.BadParameter("a scorer or a judge has its data and licence from its training")
    if cross is not None:
        remember_cross(cross, results or ())
        written = write_cross_card(folder)
    else:
        remember(folder, results=results or (), data=data or (), licence=licence, notes=note or ())
        written = write_card(folder)
    text = written.read_text(encoding="utf-8")
    return Report(
        data={"file": str(written), "card": text},
        text=text.rstrip("\n") if show else f"wrote {written}",
    )
