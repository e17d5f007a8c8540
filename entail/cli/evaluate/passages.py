"""``entail evaluate passages``: retrieval of passages that answer questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from entail.cli.console import Report, command, progress_bar, table
from entail.cli.options import Out

app = typer.Typer()


@command(app)
def passages(
    passages: Annotated[
        list[Path],
        "The pool: SQuAD JSON, DPR JSON or psgs_w100.tsv, MS MARCO's collection.tsv, NQ-open with "
        "gold passages, a BEIR folder; may be gzipped. Repeat for more files.",
    ],
    questions: Annotated[Path, "Questions: the same formats, or queries.tsv."],
    encoder: Annotated[str, "Retriever: bm25, minilm, a folder under models/, or a Hub id.", "NAME"] = "bm25",
    qrels: Annotated[Path | None, "Relevance judgements of MS MARCO or TREC."] = None,
    split: Annotated[str, "Split of a BEIR folder: qrels/SPLIT.tsv."] = "test",
    out: Out = None,
) -> Report:
    """Evaluate R@k and MRR over a pool, by gold passage and by answer (DPR's match).

    A gold passage outside the pool counts as not found; questions without gold passages are skipped by gold.
    Passages are encoded in shards on disk, and an interrupted run resumes.
    """
    from entail.evaluation.passages.retrieval import evaluate_passages, judged_questions
    from entail.evaluation.passages.store import store_name, store_passages
    from entail.settings import load_settings

    folder = load_settings().data_dir / "passages" / store_name(passages)
    with progress_bar() as progress:
        judged = judged_questions(questions, qrels=qrels, split=split)
        store = store_passages(passages, folder, progress=progress)
        evaluation = evaluate_passages(store, judged, encoder=encoder, progress=progress)
        data = {**evaluation.to_json(), "pool": store.about}
    return Report(data=data, text=_text(data), out=out)


def _text(data: dict[str, Any]) -> str:
    names = [name for name in (data["gold"] or data["answer"]) if name != "questions"]
    rows = [
        [by, *(data[by][name] for name in names), data[by]["questions"]]
        for by in ("gold", "answer")
        if data[by]
    ]
    parts = [
        f"{data['retriever']}: {data['asked']:,} questions, {data['passages']:,} passages",
        table(["by", *names, "questions"], rows),
    ]
    if data["gold"] and data["without_gold"]:
        parts.append(f"{data['without_gold']:,} questions have no gold passage and are skipped by gold")
    if data["gold_not_in_pool"]:
        parts.append(
            f"{data['gold_not_in_pool']:,} questions have no gold passage in the pool"
            + (": they count as not found" if data["gold"] else "; no figures by gold")
        )
    for key, problem in (
        ("unknown_passages", "gold ids are not in the pool"),
        ("unknown_questions", "judged ids are not questions"),
    ):
        if data[key]["count"]:
            parts.append(f"{data[key]['count']:,} {problem}: {', '.join(data[key]['first'])} ...")
    if data["pool"]["repeated"]:
        parts.append(f"{data['pool']['repeated']:,} passages with a repeated id were skipped")
    return "\n\n".join(parts)
