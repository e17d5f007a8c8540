"""``entail bias``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from entail.cli.console import Report, progress_bar, reports, table
from entail.cli.options import CorpusFile, TreesFile

if TYPE_CHECKING:
    from entail.aeenc.bias import SimilarityBias
    from entail.aeenc.panels import GroupSummary

app = typer.Typer()


@app.command()
@reports
def bias(
    corpus: CorpusFile,
    trees: TreesFile,
    retriever: Annotated[
        list[str] | None,
        typer.Option(
            help="An encoder: minilm, a folder under models/, or a Hub id. Say it again for more; the first "
            "is the pre-trained one and fixes the labels.  [default: minilm]",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Premises retrieved a query.", metavar="K")] = 20,
    csv: Annotated[
        Path | None,
        typer.Option(help="Also write every pair with its texts and values; .gz compresses.", metavar="OUT"),
    ] = None,
) -> Report:
    """Measure whether encoders prefer what looks like the query (Figure 3 of the AE-Enc paper).

    The first encoder labels every pair: true positives are gold children among their parent's first K,
    false negatives those that are not, false positives whatever else is retrieved. Token overlap and the
    cosine under each encoder are then compared between the groups, by two rules for false positives: `all`
    leaves the query and its tree's other sentences among them, `outside_tree` takes them out.
    """
    from entail.aeenc.bias import bias, encoder_indexes
    from entail.data.corpora import read_corpus
    from entail.data.entailment_bank import read_trees

    candidates = read_corpus(corpus).corpus
    gold = list(read_trees(trees))
    with progress_bar() as progress:
        indexes = encoder_indexes(retriever or ["minilm"], candidates, progress=progress)
        found = bias(candidates, gold, indexes, k=k, progress=progress)
    text = _as_text(found, trees=len(gold))
    if csv is not None:
        _write_csv(csv, found)
        text += f"\n\nwrote {len(found) * len(found.retrievers):,} rows to {csv}"
    return Report(data={**found.to_json(), "trees": len(gold)}, text=text)


def _as_text(found: SimilarityBias, *, trees: int) -> str:
    from entail.aeenc.bias import GROUPS, RULES

    parts = [
        f"similarity bias on {found.corpus.name}: {len(found.corpus):,} premises, {trees:,} trees, "
        f"{len(found.queries):,} queries, the first {found.k} of {found.retrievers[0]}",
        table(["false positives are", *GROUPS], [[rule, *found.counts(rule).values()] for rule in RULES]),
    ]
    for rule in RULES:
        rows = [
            _row(panel.title, name, group)
            for panel in found.panels[rule]
            for name, group in panel.groups.items()
        ]
        parts.append(
            f"false positives: {rule}\n"
            + table(["panel", "group", "pairs", "mean", "sd", "1st quartile", "median", "3rd"], rows)
        )
        apart = [
            [panel.title, s.auc, *s.auc_interval, s.delta, s.shared, *s.shared_interval]
            for panel in found.panels[rule]
            if (s := panel.separation) is not None
        ]
        if apart:
            header = ["FP against FN", "P(FP > FN)", "low", "high", "Cliff's delta", "shared", "low", "high"]
            parts.append(table(header, apart))
        parts.append("\n".join(verdict.words for verdict in found.verdicts[rule]))
    if found.missing:
        parts.append(
            f"{len(found.missing):,} gold premises are not in the corpus, so in no group; "
            f"the first: {found.missing[0]!r}"
        )
    return "\n\n".join(parts)


def _row(panel: str, name: str, group: GroupSummary) -> list[object]:
    values = (group.mean, group.sd, *(group.quartiles or (None, None, None)))
    return [panel, name, group.count, *("-" if value is None else value for value in values)]


def _write_csv(path: Path, found: SimilarityBias) -> None:
    import csv
    import io

    from entail.data.writing import write_text
    from entail.trees.formats.escaping import cell

    out = io.StringIO()
    rows = found.rows()
    first = next(rows)
    writer = csv.DictWriter(out, fieldnames=list(first), lineterminator="\n")
    writer.writeheader()
    for row in (first, *rows):
        writer.writerow(
            {name: cell(value) if isinstance(value, str) else value for name, value in row.items()}
        )
    write_text(path, out.getvalue())
