"""``entail sample``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from entail.cli.console import Report, progress_bar, reports, table
from entail.cli.options import CorpusFileIfAny, Extend, FromLog, TreesFileIfAny

if TYPE_CHECKING:
    from entail.aeenc.sampling import Sample

app = typer.Typer()


@app.command()
@reports
def sample(
    *,
    corpus: CorpusFileIfAny = None,
    trees: TreesFileIfAny = None,
    from_log: FromLog = None,
    extend: Extend = None,
    retriever: Annotated[
        str,
        typer.Option(
            help="tfidf, bm25, ngrams, minilm, a folder under models/, or a Hub id.", metavar="NAME"
        ),
    ] = "minilm",
    k: Annotated[int, typer.Option("--k", help="Premises looked up a query.", metavar="K")] = 20,
    start: Annotated[
        Literal["parents", "hypotheses"],
        typer.Option(help="Start at every parent, or at hypotheses alone, as Algorithm 1."),
    ] = "parents",
    max_depth: Annotated[int, typer.Option(help="Branches deeper than this are not queried.")] = 16,
    out: Annotated[
        Path | None, typer.Option(help="Also write the pairs as JSONL; .gz compresses.", metavar="OUT")
    ] = None,
) -> Report:
    """Sample training pairs around what a retriever brings (ACS).

    For each query the K nearest premises are looked up: those that explain it are positives and are queried
    in their turn, the others are hard negatives.
    """
    from entail.aeenc.pairs import sampled_pairs, write_pairs
    from entail.aeenc.sampling import sample as run
    from entail.data.judgements import Judgements
    from entail.index.retriever import retriever as make_retriever
    from entail.jobs.source import training_data

    data = training_data(corpus=corpus, trees=trees, from_log=from_log, extend=extend)
    judgements = data.judgements or Judgements.of_trees(data.trees)
    with progress_bar() as progress:
        index = make_retriever(retriever, data.corpus, progress=progress)
        found = run(
            data.corpus,
            judgements,
            index,
            k=k,
            start=judgements.roots if start == "hypotheses" else None,
            max_depth=max_depth,
            progress=progress,
        )
    if out is not None:
        write_pairs(out, data.corpus, sampled_pairs(data.corpus, found))
    return Report(
        data={"retriever": found.retriever, "revision": found.revision, **found.report.to_json()},
        text=_as_text(found),
    )


def _as_text(found: Sample) -> str:
    report = found.report
    names = list(report.negative_scores or report.positive_scores)
    rows = [
        [side, *(f"{scores[n]:.3f}" for n in names)]
        for side, scores in (("positives", report.positive_scores), ("negatives", report.negative_scores))
        if scores
    ]
    dropped = ", ".join(
        f"{rule.replace('_', ' ')} {count:,}" for rule, count in report.dropped.items() if count
    )
    parts = [
        f"{found.retriever}: {report.queries:,} queries looked up, the {report.k:,} nearest each, "
        f"{report.depth} levels below the first: {report.positives:,} positives, "
        f"{report.negatives:,} hard negatives",
        f"{report.without_positive:,} queries without a positive, {report.without_negative:,} without a "
        f"negative; left out: {dropped or 'nothing'}",
    ]
    if report.missing:
        parts.append(
            f"{len(report.missing):,} gold premises are not in the corpus, so in no pair (--extend adds "
            f"them); the first: {report.missing[0]!r}"
        )
    parts.append(table(["similarity", *names], rows))
    return "\n\n".join(parts)
