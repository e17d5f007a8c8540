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
) -> Report:
    """Turn a question into its existence claim: what a passage that answers it entails.

    Says which rule fired; `statement` and `topic` stand for questions that no rule knows.
    """
    from entail.errors import SettingsError
    from entail.tuning.claims import claim as claim_of

    if (question is None) == (file is None):
        raise SettingsError('expected either a question, entail claim "Who won?", or --file with many')
    if question is not None:
        found = claim_of(question)
        data = {"question": found.question, "claim": found.text, "rule": found.rule}
        return Report(data=data, text=f"{found.text}\n({found.rule})")

    from collections import Counter

    from entail.data.passages import read_questions

    assert file is not None
    claims = [(asked.id, claim_of(asked.text)) for asked in read_questions(file)]
    rules = Counter(one.rule for _, one in claims)
    fallback = sum(one.fallback for _, one in claims)
    rows = [
        {"id": known, "question": one.question, "claim": one.text, "rule": one.rule} for known, one in claims
    ]
    lines = [one.text for _, one in claims]
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
