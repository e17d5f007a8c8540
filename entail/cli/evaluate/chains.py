"""``entail evaluate chains``: rankings of facts that explain an answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, command, progress_bar, table
from entail.cli.options import options_of
from entail.cli.rank import RankingOptions, select_questions

if TYPE_CHECKING:
    from entail.data.worldtree.questions import Question
    from entail.data.worldtree.tables import FactTables
    from entail.evaluation.chains import ChainEvaluation
    from entail.statistics.paired import PairedDifference

app = typer.Typer()


@command(app)
@options_of(RankingOptions, into="how", panel="Ranking")
def chains(
    tables: Annotated[Path, "Folder of fact tables, as released.", "DIR"],
    questions: Annotated[Path, "Questions with explanations, as released 2019 or 2020."],
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first questions.", metavar="N")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="Size of a random sample.", metavar="N")] = None,
    seed: Annotated[int, "Random seed of the sample."] = 0,
    predictions: Annotated[Path | None, "Also write the rankings in the format of the shared task."] = None,
    resume: Annotated[bool, "Continue an existing --predictions file."] = True,
    compare_with: Annotated[
        list[Path] | None,
        "Other rankings of the same questions, in the format of the shared task, to compare with; "
        "repeat for more.",
    ] = None,
    out: Annotated[
        Path | None,
        "Also write the figures to a result file; `entail card FOLDER --results FILE` puts them on "
        "the scorer's card, which `entail promote` compares.",
    ] = None,
    *,
    how: RankingOptions,
) -> Report:
    """Evaluate rankings of facts by MAP, as in the TextGraphs shared tasks of 2019 and 2020.

    Also by role, Easy and Challenge.
    """
    import time

    import numpy as np

    from entail.arcf.chains.predictions import read_predictions
    from entail.data.worldtree.questions import read_questions
    from entail.data.worldtree.tables import read_fact_tables
    from entail.evaluation.chains import digest_of, evaluate_chains, with_gold

    facts, reading = read_fact_tables(tables), read_questions(questions)
    selected = select_questions(reading.usable, limit=limit, sample=sample, seed=seed)
    measured = with_gold(selected)
    with progress_bar() as progress:
        loaded = how.load(facts, progress=progress)
        begun = time.perf_counter()
        if predictions is None:
            ranked = list(loaded.rank(measured, progress=progress))
        else:
            ranked = loaded.write(predictions, measured, resume=resume, progress=progress)
        seconds = time.perf_counter() - begun
        rankings = {entry.question.id: entry.ranking for entry in ranked}
        if predictions is not None and len(ranked) < len(measured):
            rankings |= read_predictions(predictions, facts, skip=rankings)
        none = np.empty(0, dtype=np.int64)
        evaluation = evaluate_chains(
            selected,
            facts,
            [rankings[question.id] if question.gold else none for question in selected],
        )
    compared = {str(file): _compared(file, evaluation, measured, facts) for file in compare_with or ()}
    truncation = loaded.truncation(ranked)
    lengths = [len(entry.chain.facts) for entry in ranked if entry.chain is not None]
    figures: dict[str, Any] = {
        **evaluation.to_json(),
        "method": how.method,
        "release": reading.release,
        "source": reading.source,
        "facts": len(facts),
        "digest": digest_of(measured, facts),
        "settings": loaded.settings,
        "seconds_a_question": seconds / len(ranked) if ranked else None,
        "ranked_now": len(ranked),
        "spent": loaded.spent,
        "chain_length": sum(lengths) / len(lengths) if lengths else None,
        "problems": [*facts.problems, *reading.problems],
        "warnings": list(reading.warnings),
        "truncated": truncation.to_json(),
        "repeated_uids": len(facts.repeats),
        "compared_with": {name: difference.to_json() for name, difference in compared.items()},
    }
    low, high = figures["interval"]
    parts = [
        f"{how.method} on {reading.source}: {figures['questions']:,} questions, {len(facts):,} facts",
        table(["measure", "value", "95 % interval"], [["MAP", evaluation.map, f"{low:.3f} to {high:.3f}"]]),
    ]
    if compared:
        head = ["compared with", "MAP", "difference", "95 % interval", "p", "better", "worse"]
        rows = [
            [
                name,
                d.first,
                f"{d.difference:+.3f}",
                f"{d.low:+.3f} to {d.high:+.3f}",
                d.p_shown,
                d.better,
                d.worse,
            ]
            for name, d in compared.items()
        ]
        parts.append(table(head, rows))
    parts += [
        table(
            [kind, "MAP", "questions"],
            [[value, row["MAP"], row["questions"]] for value, row in figures[f"by_{kind}"].items()],
        )
        for kind, groups in evaluation.slices.items()
        if groups
    ]
    parts += [str(facts), str(reading)]
    if evaluation.without_gold:
        parts.append(f"{evaluation.without_gold:,} questions without explanation were skipped")
    if evaluation.missing:
        first = evaluation.missing[0]
        parts.append(
            f"{len(evaluation.missing):,} gold facts are in no table and count as not found; first: "
            f"{first[1]} of {first[0]}"
        )
    parts += truncation.messages()
    if ranked:
        parts.append(f"{seconds / len(ranked):.2f} s per question")
    return Report(data=figures, text="\n\n".join(parts), out=out, seed=seed if sample else None)


def _compared(
    file: Path, evaluation: ChainEvaluation, questions: Sequence[Question], facts: FactTables
) -> PairedDifference:
    """Compare the ranking with that of a file, question by question."""
    from entail.arcf.chains.predictions import read_predictions
    from entail.errors import DataError
    from entail.evaluation.chains import evaluate_chains
    from entail.statistics.paired import paired_difference

    rankings = read_predictions(file, facts)
    missing = [question.id for question in questions if question.id not in rankings]
    if missing:
        raise DataError(
            f"{file.name}: expected rankings of the same {len(questions):,} questions by these facts, found "
            f"none of {len(missing):,}, first {missing[0]!r}; rank the same questions, or select them by "
            "--limit or --sample"
        )
    other = evaluate_chains(questions, facts, [rankings[question.id] for question in questions])
    return paired_difference(other.values, evaluation.values)
