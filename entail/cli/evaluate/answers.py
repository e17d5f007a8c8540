"""``entail evaluate answers``: multiple-choice questions answered by the best explanation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entail.cli.console import Report, command, progress_bar, table
from entail.cli.options import Out, options_of
from entail.cli.rank import RankingOptions, select_questions
from entail.errors import SettingsError

app = typer.Typer()


@command(app)
@options_of(RankingOptions, into="how", panel="Ranking")
def answers(
    tables: Annotated[Path, "Folder of fact tables, as released.", "DIR"],
    questions: Annotated[Path, "Multiple-choice questions, as released 2019 or 2020."],
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first questions.", metavar="N")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="Size of a random sample.", metavar="N")] = None,
    seed: Annotated[int, "Random seed of the sample."] = 0,
    out: Out = None,
    *,
    how: RankingOptions,
) -> Report:
    """Select the answer whose chain is most similar to question and answer, beside the nearest fact."""
    from functools import partial

    from entail.arcf.chains.answers import comparison_json, select_answers, select_nearest
    from entail.data.worldtree.questions import read_questions
    from entail.data.worldtree.tables import read_fact_tables

    if how.method != "arcf" or how.without_answer:
        raise SettingsError(
            f"expected --method arcf and answers to read, found {how.method!r}"
            + (" and --without-answer" if how.without_answer else "")
        )
    facts, reading = read_fact_tables(tables), read_questions(questions)
    selected = select_questions(reading.usable, limit=limit, sample=sample, seed=seed)
    with progress_bar() as progress:
        loaded = how.load(facts, progress=progress)
        rank = partial(loaded.rank, progress=progress)
        selection = select_answers(selected, rank, loaded.neighbourhoods)
        baseline = select_nearest(selected, loaded.neighbourhoods)
    figures = comparison_json(selection, baseline)
    figures |= {"source": reading.source, "facts": len(facts), "settings": loaded.settings}
    rows: list[list[object]] = [
        [name, scores["accuracy"], *scores["interval"], scores["questions"]]
        for name, scores in (("chains", figures), ("nearest fact", figures["nearest premise"]))
    ]
    rows.append(["chance", figures["chance"], "", "", figures["questions"]])
    text = table(["selected by", "accuracy", "from", "to", "questions"], rows)
    return Report(data=figures, text=text, out=out, seed=seed if sample else None)
