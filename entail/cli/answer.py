"""``entail answer`` and ``entail claim``: questions answered from passages, questions as claims."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, command, progress_bar
from entail.cli.options import Device, Out
from entail.errors import SettingsError

if TYPE_CHECKING:
    from entail.data.passages.files import Question

app = typer.Typer()


@command(app)
def answer(
    passages: Annotated[
        list[Path],
        "Passages: SQuAD or DPR JSON, CSV, TSV, BEIR, or one passage a line; may be gzipped. Repeat for "
        "more files.",
    ],
    model: Annotated[
        str,
        "Reader (extractive QA) or generator (causal or sequence-to-sequence): a folder, a name "
        "under models/, or a Hub id such as deepset/minilm-uncased-squad2.",
        "NAME",
    ] = "reader-minilm",
    question: Annotated[str | None, "One question."] = None,
    questions: Annotated[Path | None, "File of questions, with known answers if any; same formats."] = None,
    encoder: Annotated[str, "Retriever of passages: bm25, minilm, a folder or a Hub id.", "NAME"] = "bm25",
    k: Annotated[int, typer.Option(min=1, help="Passages a question.")] = 5,
    out: Annotated[Path | None, "Output of --questions: one JSON object a line."] = None,
    figures: Out = None,
    device: Device = None,
) -> Report:
    """Answer questions from retrieved passages, and score the answers.

    Exact match and F1 follow SQuAD, over the questions with known answers. A reader reads every passage. A
    generator drops the last passages if the prompt is full; the report counts such questions.
    """
    from entail.answering.answers import Finder, answer_figures, answer_questions, load_answerer
    from entail.data.passages.files import Question, read_questions
    from entail.data.writing import check_writable, write_text
    from entail.evaluation.passages.retrieval import search_passages
    from entail.evaluation.passages.store import store_name, store_passages
    from entail.settings import load_settings

    if (question is None) == (questions is None) or (question is not None and not question.strip()):
        raise SettingsError("expected --question TEXT or --questions FILE, found both, none or no text")
    if (questions is None) != (out is None):
        raise SettingsError("expected --out FILE with --questions, found one of them")
    if out is not None:
        check_writable(out)
    entries = [Question("1", question)] if question else list(read_questions(questions or Path()))
    if not entries:
        raise SettingsError("expected questions, found none; give another file")
    answering = load_answerer(model, device=device)
    with progress_bar() as progress:
        pool = load_settings().data_dir / "passages" / store_name(passages)
        store = store_passages(passages, pool, progress=progress)
        find = Finder(store, search_passages(store, encoder, progress=progress), k)
        answers = answer_questions(entries, answering, find, progress=progress)
    about: dict[str, Any] = {
        "model": answering.name,
        "revision": answering.revision,
        "kind": answering.kind,
        "retriever": find.search.name,
        "retriever_revision": find.search.revision,
        "k": k,
        "passages": len(store),
        "unread_columns": store.unread_columns,
    }
    if question is not None:
        (answer,) = answers
        texts = {passage.id: passage.whole for passage in find([question])[0]}
        evidence = [{"id": id_, "text": texts[id_]} for id_ in answer.passages]
        data = {**about, "answer": {**asdict(answer), "passages": evidence}}
        source = f" (from {answer.passage})" if answer.passage is not None else ""
        cut = "\ntruncated: passages and question exceed the model's input" if answer.cut else ""
        return Report(data=data, text=f"{answer.text or 'no answer'}{source}{cut}")
    if out is not None:
        lines = (json.dumps(asdict(answer), ensure_ascii=False) for answer in answers)
        write_text(out, "".join(f"{line}\n" for line in lines))
    return Report(data={**about, **answer_figures(answers, entries)}, out=figures)


@command(app)
def claim(
    question: Annotated[str | None, typer.Argument(help="A question, in quotation marks.")] = None,
    file: Annotated[
        Path | None,
        "File of questions: one a line, JSONL, CSV, TSV, SQuAD or DPR JSON, a BEIR folder; may be gzipped.",
    ] = None,
    answer: Annotated[str | None, "Answer to the question; gives both as one statement."] = None,
) -> Report:
    """Turn a question into its existence claim, which every passage with an answer entails.

    The report names the rule; `statement` and `topic` mean that no rule for questions applied. Questions of a
    file that have an answer are also given with it, as one statement.
    """
    from entail.data.passages.files import Question, read_questions

    if (question is None) == (file is None) or (answer is not None and file is not None):
        raise SettingsError('expected a question, as in entail claim "Who won?", or --file without --answer')
    if file is not None:
        claims = [_claim(entry) for entry in read_questions(file)]
        fallback = sum(claim["fallback"] for claim in claims)
        text = "\n".join(claim.get("statement", claim["claim"]) for claim in claims)
        text += f"\n\n{fallback:,} of {len(claims):,} matched no rule for questions"
        return Report(data={"questions": len(claims), "fallback": fallback, "claims": claims}, text=text)
    data = _claim(Question("1", str(question), answers=(answer,) if answer else ()))
    lines = [data["claim"], f"({data['rule']})", *([data["statement"]] if answer else [])]
    return Report(data=data, text="\n".join(lines))


def _claim(question: Question) -> dict[str, Any]:
    """Return the claim of a question and, of one with an answer, both as one statement."""
    from entail.claims import existence_claim, state_answer

    claim = existence_claim(question.text)
    data: dict[str, Any] = {
        "id": question.id,
        "question": claim.question,
        "claim": claim.text,
        "rule": claim.rule,
        "fallback": claim.fallback,
    }
    if question.answers:
        result = state_answer(question.text, question.answers[0])
        data |= {"answer": question.answers[0], "statement": result.text, "how": result.how}
    return data
