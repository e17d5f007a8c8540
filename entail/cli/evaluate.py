"""``entail evaluate ...``: figures of a retriever on given trees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, progress_bar, reports, table

if TYPE_CHECKING:
    from entail.evaluation.effort import Effort
    from entail.evaluation.premises import PremiseEvaluation

app = typer.Typer(name="evaluate", help="Measure a retriever on given trees.")


@app.command()
@reports
def premises(
    corpus: Annotated[
        Path,
        typer.Option(help="Candidate premises: txt, csv, jsonl or json, may be gzipped.", metavar="FILE"),
    ],
    trees: Annotated[
        Path, typer.Option(help="Gold trees: EntailmentBank JSONL, may be gzipped.", metavar="FILE")
    ],
    retriever: Annotated[
        str,
        typer.Option(help="tfidf, bm25, minilm, a folder under models/, or a Hub id.", metavar="NAME"),
    ] = "minilm",
    effort: Annotated[bool, typer.Option(help="Also measure candidates read per accepted premise.")] = True,
    limit: Annotated[int | None, typer.Option(min=1, help="Take only the first trees.", metavar="N")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write the figures to a result file.", metavar="FILE")
    ] = None,
) -> Report:
    """Measure how well the children of every parent are found.

    Each parent of the trees is a query, ranked against the whole corpus. Two protocols: `paper` leaves the
    query's own text among the candidates, `query_excluded` takes it out.
    """
    from datetime import UTC, datetime

    from entail.data.corpora import read_corpus
    from entail.data.entailment_bank import read_trees
    from entail.evaluation.effort import measure_effort
    from entail.evaluation.premises import evaluate_premises
    from entail.index.retriever import retriever as make_retriever

    started = datetime.now(UTC)
    candidates = read_corpus(corpus).corpus
    gold = list(read_trees(trees))[:limit]
    with progress_bar() as progress:
        index = make_retriever(retriever, candidates, progress=progress)
        evaluation = evaluate_premises(candidates, gold, index, progress=progress)
        work = measure_effort(candidates, gold, index, progress=progress) if effort else None

    data: dict[str, Any] = {**evaluation.to_json(), "trees": len(gold)}
    if work is not None:
        data["effort"] = work.to_json()
    if out is not None:
        from entail.results import write_result

        write_result(out, figures=data, seed=None, started=started)
    return Report(data=data, text=_as_text(evaluation, work, trees=len(gold)))


def _as_text(evaluation: PremiseEvaluation, work: Effort | None, *, trees: int) -> str:
    figures = evaluation.figures()
    parts = [
        f"{evaluation.retriever} on {evaluation.corpus_name}: {evaluation.manifest.count:,} premises, "
        f"{trees:,} trees, {len(evaluation.queries):,} queries, {evaluation.pairs:,} pairs",
        table(
            ["measure", "paper", "query excluded"],
            [[name, value, figures["query_excluded"][name]] for name, value in figures["paper"].items()],
        ),
    ]
    if evaluation.missing:
        parts.append(
            f"{len(evaluation.missing):,} gold premises are not in the corpus, so never found; "
            f"the first: {evaluation.missing[0]!r}"
        )
    if work is not None:
        each = "no" if work.reads_per_accepted is None else f"{work.reads_per_accepted:.1f}"
        parts.append(
            f"a simulated author reads {each} candidates per accepted premise ({work.reads:,} read, "
            f"{work.accepted:,} accepted, {work.missing:,} or {work.missing_share:.1%} never found)"
        )
    return "\n\n".join(parts)
