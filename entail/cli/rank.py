"""``entail rank``: the facts that explain an answer, for one question or for a file of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, progress_bar, reports, table
from entail.cli.options import options_of
from entail.cli.ranking import Loaded, RankingOptions, some_of
from entail.errors import SettingsError

if TYPE_CHECKING:
    from entail.arcf.ranking import Ranked
    from entail.arcf.unread import Unread
    from entail.data.worldtree_tables import FactTables

app = typer.Typer()


@app.command()
@reports
@options_of(RankingOptions, into="how", panel="Ranking")
def rank(
    tables: Annotated[Path, typer.Option(help="Folder of fact tables, as released.", metavar="DIR")],
    question: Annotated[str | None, typer.Option(help="One question.", metavar="TEXT")] = None,
    answer: Annotated[str | None, typer.Option(help="Its correct answer.", metavar="TEXT")] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Instead: a file of questions, as released.", metavar="FILE")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Of a file: where its rankings go, question id, tab, uid.", metavar="FILE"),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Take only the first ones.", metavar="N")] = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="Facts a question; default: 20 on screen, all in a file.", metavar="N"),
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on with a file that is there.")] = True,
    *,
    how: RankingOptions,
) -> Report:
    """Rank facts by how they explain an answer, and show the chain that was built.

    A file of questions is ranked question by question; interrupted, the same command goes on where it was.
    """
    from entail.data.worldtree import Question
    from entail.data.worldtree_tables import read_fact_tables

    one = question is not None and answer is not None
    if one == (questions is not None) or (questions is None) != (out is None):
        raise SettingsError("expected --question and --answer, or --questions FILE and --out FILE")
    facts = read_fact_tables(tables)
    with progress_bar() as progress:
        loaded = how.load(facts, progress=progress)
        if questions is not None and out is not None:
            given = {"limit": limit, "top": top}
            return _file(loaded, facts, questions, out, **given, resume=resume, progress=progress)
        if not (question or "").strip() or not (answer or "").strip():
            raise SettingsError("expected a question and an answer, found an empty one")
        asked = Question("question", str(question), str(answer), {})
        (ranked,) = loaded.rank([asked], progress=progress)
    return _one(ranked, facts, loaded.unread([ranked]), top=top or 20)


def _one(ranked: Ranked, facts: FactTables, unread: Unread, *, top: int) -> Report:
    chain = ranked.chain
    chosen = {fact: number for number, fact in enumerate(chain.facts, 1)} if chain else {}
    rows: list[list[object]] = []
    told: list[dict[str, Any]] = []
    for place, at in enumerate(ranked.ranking[:top], 1):
        fact = facts.facts[int(at)]
        told.append({"rank": place, "uid": fact.uid, "text": fact.text, "chosen": int(at) in chosen})
        rows.append([place, "*" if int(at) in chosen else "", fact.text])
    data: dict[str, Any] = {"ranking": told, "stopped": chain.stopped if chain else None}
    data |= {"dropped": max(0, ranked.dropped), "unread": unread.to_json()}
    parts = [table(["rank", "chosen", "fact"], rows)]
    if chain is not None:
        data["steps"] = [
            {
                "chosen": facts.facts[step.chosen].uid if step.chosen is not None else None,
                "bare": step.bare,
                "best": max(step.scores, default=None),
                "scored": len(step.candidates),
                "joined": len(step.joined),
            }
            for step in chain.steps
        ]
        why = {
            "bare prefix": "nothing that is visible scored above the bare explanation",
            "length": "it is as long as it may be",
            "nothing visible": "no other fact was visible",
        }[chain.stopped]
        parts.append(f"a chain of {len(chain.facts)} facts (*), which ended since {why}")
    parts += unread.in_words()
    return Report(data=data, text="\n\n".join(parts))


def _file(
    loaded: Loaded,
    facts: FactTables,
    questions: Path,
    out: Path,
    *,
    limit: int | None,
    top: int | None,
    resume: bool,
    progress: Any,  # noqa: ANN401 - a callback or None
) -> Report:
    from entail.arcf.predictions import write_predictions
    from entail.data.worldtree import read_questions

    reading = read_questions(questions)
    asked = some_of(reading.usable, limit=limit, sample=None, seed=0)
    written = list(
        write_predictions(
            out,
            asked,
            facts,
            lambda left: loaded.rank(left, progress=progress),
            settings=loaded.options.settings(loaded),
            top=top,
            resume=resume,
        )
    )
    unread = loaded.unread(written)
    data = {
        "questions": len(asked),
        "ranked_now": len(written),
        "there_before": len(asked) - len(written),
        "facts": len(facts),
        "problems": [*facts.problems, *reading.problems],
        "warnings": list(reading.warnings),
        "unread": unread.to_json(),
    }
    parts = [
        f"ranked {len(written):,} questions, {len(asked) - len(written):,} were there before; wrote {out}",
        str(facts),
        *(f"cannot be read: {problem}" for problem in reading.problems),
        *(f"read in part: {warning}" for warning in reading.warnings),
        *unread.in_words(),
    ]
    return Report(data=data, text="\n\n".join(parts))
