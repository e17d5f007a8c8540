"""``entail evaluate passages``: retrieval of passages that answer questions."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from entail.cli.console import Report, command, progress_bar, table
from entail.cli.options import Out
from entail.errors import EncoderError, FormatError

if TYPE_CHECKING:
    from entail.encoders.device import Precision
    from entail.evaluation.passages.store import PassageStore
    from entail.progress import ProgressCallback

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
    precision: Annotated[
        Literal["auto", "fp32", "bf16", "openvino"],
        "Precision of the encoder; auto: fp32 on a CPU. bf16 is twice as fast on some; openvino (an "
        "extra) is bf16 and faster again.",
    ] = "auto",
    qrels: Annotated[Path | None, "Relevance judgements of MS MARCO or TREC."] = None,
    split: Annotated[str, "Split of a BEIR folder: qrels/SPLIT.tsv."] = "test",
    cutoffs: Annotated[str, "Cutoffs of R@k; MRR uses the largest.", "K,K,..."] = "1,5,20,100",
    mrr_at: Annotated[str, "Additional cutoffs of MRR: 10 for MS MARCO's MRR@10.", "K,K,..."] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first questions.")] = None,
    keep: Annotated[Path | None, "Folder of texts and vectors; default: in the data folder.", "DIR"] = None,
    out: Out = None,
) -> Report:
    """Evaluate R@k and MRR over a pool, by gold passage and by answer (DPR's match).

    A gold passage outside the pool counts as not found; questions without gold passages are skipped by gold.
    Passages are encoded in shards on disk, and an interrupted run resumes. If a file is truncated, the
    passages before the truncated line are encoded, and the complete file resumes from there.
    """
    from entail.evaluation.passages.retrieval import evaluate_passages, judged_questions
    from entail.evaluation.passages.store import store_name, store_passages

    ks, mrrs = _ranks(cutoffs, "--cutoffs"), _ranks(mrr_at, "--mrr-at")
    if not ks:
        raise typer.BadParameter("expected at least one rank, such as 1,5,20", param_hint="--cutoffs")
    if keep is None:
        from entail.settings import load_settings

        keep = load_settings().data_dir / "passages" / store_name(passages)
    with progress_bar() as progress:

        def encode_before_cut(store: PassageStore) -> None:
            _encode_before_cut(store, encoder, precision=precision, progress=progress)

        try:
            judged = judged_questions(questions, qrels=qrels, split=split, limit=limit)
        except FormatError:
            if questions in passages:  # the same mistake ends the pool
                store_passages(passages, keep, on_cut=encode_before_cut, progress=progress)
            raise
        store = store_passages(passages, keep, on_cut=encode_before_cut, progress=progress)
        evaluation = evaluate_passages(
            store, judged, encoder=encoder, precision=precision, ks=ks, mrr_at=mrrs, progress=progress
        )
        data = {**evaluation.to_json(), "pool": store.about}
    return Report(data=data, text=_text(data), out=out)


def _encode_before_cut(
    store: PassageStore, encoder: str, *, precision: Precision, progress: ProgressCallback | None
) -> None:
    """Encode the passages before a truncated line, so that the complete file only needs the rest."""
    from entail.encoders.encoder import load
    from entail.evaluation.passages.store import encode_store

    if encoder == "bm25":
        return
    typer.echo(f"{store.about['cut']}\nEncoding the {len(store):,} passages before it.", err=True)
    with contextlib.suppress(EncoderError):  # the error of the file is raised instead
        encode_store(store, load(encoder, precision=precision), progress=progress)
        typer.echo("They are kept: the complete file encodes only the rest.", err=True)


def _ranks(text: str, option: str) -> tuple[int, ...]:
    """Return the ranks of an option, sorted and distinct."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    wrong = [part for part in parts if not re.fullmatch("0*[1-9][0-9]{0,8}", part)]
    if wrong:
        raise typer.BadParameter(
            f"expected whole numbers from 1 with commas between, such as 1,5,20, found {wrong[0]!r}",
            param_hint=option,
        )
    return tuple(sorted({int(part) for part in parts}))


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
