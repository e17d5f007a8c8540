"""``entail answer``: questions answered from passages, by a reader or a generator (RAG)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from entail.cli.console import Report, progress_bar, reports
from entail.errors import SettingsError

app = typer.Typer()


@app.command()
@reports
def answer(
    model: Annotated[
        str,
        typer.Option(
            help="A reader (extractive QA) or generator (causal, sequence to sequence) of transformers: a "
            "folder, a name under models/, or a Hub id such as deepset/minilm-uncased-squad2.",
            metavar="NAME",
        ),
    ],
    passages: Annotated[
        list[Path],
        typer.Option(
            help="What is answered from: SQuAD or DPR JSON, TSV, BEIR, a passage a line; may be gzipped. Say "
            "it again for more files.",
            metavar="FILE",
        ),
    ],
    question: Annotated[str | None, typer.Option(help="One question.", metavar="TEXT")] = None,
    questions: Annotated[
        Path | None,
        typer.Option(help="Many, with their answers where these are known; same formats.", metavar="FILE"),
    ] = None,
    encoder: Annotated[
        str, typer.Option(help="What finds passages: bm25, minilm, a folder, a Hub id.", metavar="NAME")
    ] = "bm25",
    k: Annotated[int, typer.Option(min=1, help="Passages a question.")] = 5,
    answer_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Of an answer, at most; default: 30 of a reader, 64 of a generator."),
    ] = None,
    longest: Annotated[
        int | None, typer.Option(min=16, help="Tokens that are read; default: all the model reads.")
    ] = None,
    prompt: Annotated[
        Path | None,
        typer.Option(help="Of a generator: a text with {passages} and {question} in it.", metavar="FILE"),
    ] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Windows or prompts at once.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Take only the first questions.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where the answers to --questions go, a JSON object a line.", metavar="FILE"),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Also write the figures to a result file.", metavar="FILE")
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on with an --out that is there.")] = True,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1 ...")] = None,
    precision: Annotated[
        Literal["fp32", "bf16", "auto"], typer.Option(help="auto: bf16 where it is the faster one.")
    ] = "fp32",
) -> Report:
    """Answer questions from the passages that are found for them, and say how right the answers are.

    Exact match and F1 are SQuAD's, ROUGE-L is that of rouge_score, as shares, over the questions that come
    with answers. A reader looks at every word of its passages; of what a generator's prompt has no room for
    the last passages are left out, and it is said for how many questions.
    """
    from datetime import UTC, datetime

    from entail.answering.answerer import load_answerer, passages_of
    from entail.answering.answers import answer_figures, answer_questions
    from entail.answering.prompt import TEMPLATE, read_template
    from entail.data.passages import Question, read_questions
    from entail.evaluation.passages_store import store_name, store_passages
    from entail.settings import load_settings

    started = datetime.now(UTC)
    if (question is None) == (questions is None):
        raise SettingsError("expected --question TEXT or --questions FILE, found both or neither")
    if question is not None and not question.strip():
        raise SettingsError("expected a question, found an empty one")
    if questions is not None and out is None:
        raise SettingsError(
            "expected --out FILE with --questions: there the answers go, and are gone on with after a break"
        )
    asked = (
        [Question("1", question)]
        if question is not None
        else list(read_questions(questions or Path()))[:limit]
    )
    if not asked:
        raise SettingsError("expected questions, found none; give another file")
    answering = load_answerer(
        model,
        answer_tokens=answer_tokens,
        batch_size=batch_size,
        template=read_template(prompt) if prompt is not None else TEMPLATE,
        longest=longest,
        device=device,
        precision=precision,
    )
    with progress_bar() as progress:
        pool = load_settings().data_dir / "passages" / store_name(passages)
        store = store_passages(passages, pool, progress=progress)
        find = passages_of(store, encoder=encoder, k=k, progress=progress)
        answers, before = answer_questions(
            asked,
            answering,
            find,
            out=out,
            settings={
                "passages": store.digest(0, len(store)),
                "retriever": find.search.revision,
                "k": str(k),
            },
            resume=resume,
            progress=progress,
        )
    about: dict[str, Any] = {
        "model": answering.name,
        "revision": answering.revision,
        "kind": answering.kind,
        "retriever": find.search.name,
        "retriever_revision": find.search.revision,
        "k": k,
        "passages": len(store),
    }
    if question is not None:
        (one,) = answers
        texts = {passage.id: passage.whole for passage in find([question])[0]}
        found = [{"id": id_, "text": texts[id_]} for id_ in one.passages]
        told = {**about, "answer": {**one.to_json(), "passages": found}}
        source = f" (from {one.passage})" if one.passage is not None else ""
        return Report(data=told, text=f"{one.text or 'no answer'}{source}{_cut(one.cut)}")
    told = {**about, **answer_figures(answers, asked).to_json(), "answered_before": before}
    if figures is not None:
        from entail.results import write_result

        write_result(figures, figures=told, seed=None, started=started)
    return Report(data=told, text=_text(told, out))


def _cut(cut: bool) -> str:
    return "\nnot all of the passages and the question fitted into what the model reads" if cut else ""


def _text(told: dict[str, Any], out: Path | None) -> str:
    parts = [
        f"{told['model']} answered {told['questions']:,} questions from {told['k']} passages each, found by "
        f"{told['retriever']} among {told['passages']:,}; {told['answered_before']:,} were answered before"
    ]
    if told["with_answer"]:
        low, high = told["interval"]
        parts.append(
            f"of {told['with_answer']:,} whose answer is known: exact match {told['exact_match']:.3f} (95 % "
            f"interval {low:.3f} to {high:.3f}), F1 {told['f1']:.3f}, ROUGE-L {told['rouge_l']:.3f}"
        )
    if told["cut"]:
        parts.append(f"for {told['cut']:,} questions not everything fitted into what the model reads")
    if told["without_passages"]:
        parts.append(f"for {told['without_passages']:,} nothing was found, or nothing was asked")
    return "\n\n".join([*parts, f"wrote {out}"])
