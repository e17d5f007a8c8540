"""``entail convert`` and ``entail bias``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from entail.cli.console import Report, command, progress_bar, table
from entail.cli.options import CorpusFile, TreesFile

if TYPE_CHECKING:
    from entail.aeenc.bias import SimilarityBias
    from entail.aeenc.panels import GroupSummary

app = typer.Typer()


@command(app)
def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="Trees: .jsonl, .jsonl.gz or .graphml; claims: .txt.")
    ],
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


@command(app)
def bias(
    corpus: CorpusFile,
    trees: TreesFile,
    retriever: Annotated[
        list[str] | None,
        "Encoder: minilm, a folder under models/, or a Hub id. Repeat to compare; the first is the "
        "reference that fixes the labels.  [default: minilm]",
        "NAME",
    ] = None,
    k: Annotated[int, "Premises retrieved per query."] = 20,
    csv: Annotated[
        Path | None, "Also write all pairs with texts and values; .gz compresses it.", "OUT"
    ] = None,
) -> Report:
    """Measure the similarity bias of encoders (Figure 3 of the AE-Enc paper).

    The first encoder labels every pair: gold children among the first K are true positives, other gold
    children false negatives, other results false positives. The report compares token overlap and cosine
    between the groups, by two rules for false positives: `all` keeps the sentences of the query's own tree,
    `outside_tree` drops them.
    """
    from entail.aeenc.bias import bias, encoder_indexes
    from entail.data.corpora import read_corpus
    from entail.data.entailment_bank.trees import read_trees
    from entail.data.spreadsheets import to_csv
    from entail.data.writing import check_writable, write_text

    if csv is not None:
        check_writable(csv)
    candidates = read_corpus(corpus).corpus
    gold = list(read_trees(trees))
    with progress_bar() as progress:
        indexes = encoder_indexes(retriever or ["minilm"], candidates, progress=progress)
        analysis = bias(candidates, gold, indexes, k=k, progress=progress)
    text = _bias_text(analysis, trees=len(gold))
    if csv is not None:
        write_text(csv, to_csv(analysis.rows()))
        text += f"\n\nwrote {len(analysis) * len(analysis.retrievers):,} rows to {csv}"
    return Report(data={**analysis.to_json(), "trees": len(gold)}, text=text)


def _bias_text(analysis: SimilarityBias, *, trees: int) -> str:
    from entail.aeenc.bias import GROUPS, RULES

    parts = [
        f"similarity bias on {analysis.corpus.name}: {len(analysis.corpus):,} premises, {trees:,} trees, "
        f"{len(analysis.queries):,} queries, the first {analysis.k} of {analysis.retrievers[0]}",
        table(["false positives are", *GROUPS], [[rule, *analysis.counts(rule).values()] for rule in RULES]),
    ]
    for rule in RULES:
        rows = [
            _row(panel.title, name, group)
            for panel in analysis.panels[rule]
            for name, group in panel.groups.items()
        ]
        parts.append(
            f"false positives: {rule}\n"
            + table(["panel", "group", "pairs", "mean", "sd", "1st quartile", "median", "3rd"], rows)
        )
        apart = [
            [panel.title, s.auc, *s.auc_interval, s.delta, s.shared, *s.shared_interval]
            for panel in analysis.panels[rule]
            if (s := panel.separation) is not None
        ]
        if apart:
            header = ["FP against FN", "P(FP > FN)", "low", "high", "Cliff's delta", "shared", "low", "high"]
            parts.append(table(header, apart))
        parts.append("\n".join(verdict.words for verdict in analysis.verdicts[rule]))
    if analysis.missing:
        parts.append(
            f"{len(analysis.missing):,} gold premises are not in the corpus and in no group; "
            f"first: {analysis.missing[0]!r}"
        )
    return "\n\n".join(parts)


def _row(panel: str, name: str, group: GroupSummary) -> list[object]:
    values = (group.mean, group.sd, *(group.quartiles or (None, None, None)))
    return [panel, name, group.count, *("-" if value is None else value for value in values)]
