"""``entail claim``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entail.cli.console import Report, reports, table

app = typer.Typer()


@app.command()
@reports
def claim(
    question: Annotated[str | None, typer.Argument(help="A question, in quotation marks.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            help="Many questions instead: one a line, JSONL or TSV, SQuAD or DPR JSON, a BEIR folder; may be "
            "gzipped.",
            metavar="FILE",
        ),
    ] = None,
    answer: Annotated[
        str | None, typer.Option(help="Its answer: also what both say as one statement.", metavar="TEXT")
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="With --file: also a statement for each that has an answer.")
    ] = False,
) -> Report:
    """Turn a question into its existence claim: what a passage that answers it entails.

    Says which rule fired; `statement` and `topic` stand for questions that no rule knows.
    """
    from entail.errors import SettingsError
    from entail.tuning.claims import claim as claim_of

    if (question is None) == (file is None):
        raise SettingsError('expected either a question, entail claim "Who won?", or --file with many')
    if (answers and file is None) or (answer is not None and question is None):
        raise SettingsError("expected --answer beside a question, or --answers beside --file")
    if question is not None:
        found = claim_of(question)
        data = {"question": found.question, "claim": found.text, "rule": found.rule}
        said = _statement(question, answer)
        lines = [found.text, f"({found.rule})", *([said["statement"]] if said else [])]
        return Report(data=data | said, text="\n".join(lines))

    from collections import Counter

    from entail.data.passages import read_questions

    assert file is not None
    claims = [(asked, claim_of(asked.text)) for asked in read_questions(file)]
    rules = Counter(one.rule for _, one in claims)
    fallback = sum(one.fallback for _, one in claims)
    rows = [
        {"id": asked.id, "question": one.question, "claim": one.text, "rule": one.rule}
        | _statement(asked.text, asked.answers[0] if answers and asked.answers else None)
        for asked, one in claims
    ]
    lines = [str(row.get("statement", row["claim"])) for row in rows]
    share = f"{fallback:,} of {len(claims):,} by no rule for questions"
    return Report(
        data={
            "questions": len(claims),
            "fallback": fallback,
            "rules": dict(rules.most_common()),
            "claims": rows,
        },
        text="\n".join([*lines, "", table(["rule", "questions"], rules.most_common()), "", share]),
    )


def _statement(question: str, answer: str | None) -> dict[str, str]:
    """Return what a question and its answer say as one; nothing without an answer."""
    from entail.tuning.answered import statement

    if answer is None:
        return {}
    said = statement(question, answer)
    return {"answer": answer, "statement": said.text, "how": said.how}
