"""``entail agreement``: how far the annotators of a project agree."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from entail.cli.console import Report, command, table

app = typer.Typer()


@command(app)
def agreement(
    project: Annotated[str, typer.Argument(metavar="PROJECT", help="Its name, or its id.")],
) -> Report:
    """Show how far the annotators of a project agree, and where they differ most.

    Hypotheses count whose copies are all submitted, each copy as it was first submitted.
    """
    from entail.teams.projects import Projects
    from entail.teams.report import measure_agreement
    from entail.trees.log.event_log import TreeLog
    from entail.trees.store.database import open_database

    with closing(open_database()) as database:
        about = Projects(database).project(project, actor="")
        report = measure_agreement(database, TreeLog(database), about.id, actor="")
    header, rows = ("", "alpha", "95 % interval", "similarity"), list[tuple[str, ...]]()
    for aspect, value in report.trees.items():
        interval = "" if value.low is None or value.high is None else f"{value.low:.2f} to {value.high:.2f}"
        rows.append((aspect, _number(value.alpha), interval, f"{value.observed:.2f}"))
    rows.append(("candidates", _number(report.judgements.alpha), "", f"{report.judgements.n:,} judged"))
    least = [f"{row.similarity:.2f}  {row.text}" for row in report.hypotheses[:5]]
    text = (
        "\n".join([table(header, rows), "", "least similar:", *least])
        if least
        else "no hypothesis has all its copies yet"
    )
    return Report(data={"project": about.name, **report.to_json()}, text=text)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
