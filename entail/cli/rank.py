"""``entail rank``, and the ranking that ``entail evaluate chains`` shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, command, progress_bar
from entail.cli.options import Device, active_or_packaged
from entail.errors import SettingsError
from entail.progress import ProgressCallback

if TYPE_CHECKING:
    from entail.arcf.chains.chain import Ranked
    from entail.data.worldtree.questions import Question
    from entail.data.worldtree.tables import FactTables

app = typer.Typer()

ScorerName = Annotated[
    str | None,
    "Scorer: a name under models/, a folder with a slash in its path, or tfidf for shared words; "
    "default: the active one.",
    "NAME",
]
Visible = Annotated[int, "Visible facts: the nearest to the question and to each chosen fact; paper: 290."]
MaxLength = Annotated[int, "Maximum facts of a chain."]
MinLength = Annotated[int, "Minimum facts of a chain."]


def make_ranker(
    facts: FactTables,
    scorer: str | None,
    *,
    k: int,
    length: int,
    min_length: int,
    device: str | None,
    progress: ProgressCallback | None,
) -> tuple[Callable[[Sequence[Question]], Iterator[Ranked]], dict[str, str]]:
    """Return what ranks facts for questions, and the settings that its rankings depend on.

    Raises:
        EntailError: If there is no such scorer.
    """
    from entail.arcf.chains.chain import ChainRanker, Ranked, Search
    from entail.arcf.neighbourhoods import Neighbourhoods
    from entail.arcf.scoring.scorer import load_scorer
    from entail.evaluation.chains import TFIDF, fact_similarities, tfidf_rankings

    name = scorer or active_or_packaged("chains")
    if name == TFIDF:
        similarities = fact_similarities(facts, TFIDF, progress=progress)
        return (
            lambda questions: map(
                Ranked, questions, tfidf_rankings(questions, similarities, progress=progress)
            )
        ), {}
    loaded = load_scorer(name, device=device, precision="auto")
    near = Neighbourhoods(facts, k=k, metric=loaded.form.metric, progress=progress)
    ranker = ChainRanker(loaded, near, search=Search(length=length, least=min_length))
    settings = {"scorer": loaded.revision, "k": str(k), "length": str(length), "least": str(min_length)}
    return partial(ranker.rank, progress=progress), settings


@command(app)
def rank(
    tables: Annotated[Path, "Folder of fact tables, as released.", "DIR"],
    question: Annotated[str, "Question."],
    answer: Annotated[str, "Correct answer."],
    scorer: ScorerName = None,
    k: Visible = 60,
    length: MaxLength = 9,
    min_length: MinLength = 3,
    device: Device = None,
    top: Annotated[int, typer.Option(min=1, help="Facts to show.", metavar="N")] = 20,
) -> Report:
    """Rank facts by how well they explain an answer, and show the chain.

    A chain stops where the bare explanation scores above every visible fact, at its maximum length, or where
    nothing else is visible.
    """
    from entail.data.worldtree.questions import Question
    from entail.data.worldtree.tables import read_fact_tables

    if not question.strip() or not answer.strip():
        raise SettingsError("expected a question and an answer, found an empty one")
    facts = read_fact_tables(tables)
    with progress_bar() as progress:
        search = {"k": k, "length": length, "min_length": min_length}
        rank, _ = make_ranker(facts, scorer, **search, device=device, progress=progress)
        (ranked,) = rank([Question("question", question, answer, {})])
    chain = ranked.chain
    chain_facts = set(chain.facts) if chain else set()
    ranking = [
        {"rank": rank, "uid": facts.facts[at].uid, "text": facts.facts[at].text, "chosen": at in chain_facts}
        for rank, at in enumerate(ranked.ranking[:top].tolist(), 1)
    ]
    data: dict[str, Any] = {
        "ranking": ranking,
        "stopped": chain.stopped if chain else None,
        "dropped": ranked.dropped,
    }
    if chain is not None:
        data["steps"] = [
            {
                "chosen": facts.facts[chain.facts[number]].uid if number < len(chain.facts) else None,
                "bare": step.stop_score,
                "best": max(step.scores, default=None),
                "scored": len(step.candidates),
                "joined": len(step.newly_visible),
            }
            for number, step in enumerate(chain.steps)
        ]
    return Report(data=data)
