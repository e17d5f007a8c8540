"""``entail rank``, and the ranking options that ``entail evaluate chains`` shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, command, progress_bar
from entail.cli.options import active_or_packaged, options_of
from entail.errors import SettingsError
from entail.progress import ProgressCallback

if TYPE_CHECKING:
    from entail.arcf.chains.chain import ChainRanker, Ranked
    from entail.arcf.neighbourhoods import Neighbourhoods
    from entail.data.worldtree.questions import Question
    from entail.data.worldtree.tables import FactTables

app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """Options of a ranking; the annotations are their help texts."""

    scorer: Annotated[
        str | None,
        "Scorer: a name under models/, a folder with a slash in its path, or tfidf for shared words; "
        "default: the active one",
    ] = None
    k: Annotated[int, "Visible facts: the nearest to the question and to each chosen fact; paper: 290"] = 60
    length: Annotated[int, "Maximum facts of a chain"] = 9
    min_length: Annotated[int, "Minimum facts of a chain"] = 3
    device: Annotated[str | None, "Device: auto, cpu, cuda, cuda:1 ..."] = None

    def load(self, facts: FactTables, *, progress: ProgressCallback | None) -> Ranking:
        """Load scorer and neighbourhoods; `EntailError` if there is no such scorer."""
        from entail.arcf.chains.chain import ChainRanker, Search
        from entail.arcf.neighbourhoods import Neighbourhoods
        from entail.arcf.scoring.scorer import load_scorer
        from entail.evaluation.chains import TFIDF

        name = self.scorer or active_or_packaged("chains")
        scorer = None if name == TFIDF else load_scorer(name, device=self.device, precision="auto")
        metric = scorer.form.metric if scorer is not None else TFIDF
        near = Neighbourhoods(facts, k=self.k, metric=metric, progress=progress)
        search = Search(length=self.length, least=self.min_length)
        return Ranking(self, near, ChainRanker(scorer, near, search=search) if scorer else None)


@dataclass(frozen=True)
class Ranking:
    """Loaded method of ranking: the visible facts, and a ranker by chains, None for shared words."""

    options: RankingOptions
    neighbourhoods: Neighbourhoods
    ranker: ChainRanker | None = field(repr=False)

    def rank(
        self, questions: Sequence[Question], *, progress: ProgressCallback | None = None
    ) -> Iterator[Ranked]:
        """Yield the rankings of questions, in order."""
        from entail.arcf.chains.chain import Ranked
        from entail.evaluation.chains import tfidf_rankings

        if self.ranker is not None:
            return self.ranker.rank(questions, progress=progress)
        rankings = tfidf_rankings(questions, self.neighbourhoods.similarities, progress=progress)
        return (Ranked(*pair) for pair in zip(questions, rankings, strict=True))

    @property
    def settings(self) -> dict[str, str]:
        """Revision of the scorer, and the settings of the search; empty for shared words."""
        if self.ranker is None:
            return {}
        options = self.options
        settings = {"k": options.k, "length": options.length, "least": options.min_length}
        return {"scorer": self.ranker.scorer.revision} | {n: str(value) for n, value in settings.items()}


@command(app)
@options_of(RankingOptions, into="how")
def rank(
    tables: Annotated[Path, "Folder of fact tables, as released.", "DIR"],
    question: Annotated[str, "Question."],
    answer: Annotated[str, "Correct answer."],
    top: Annotated[int, typer.Option(min=1, help="Facts to show.", metavar="N")] = 20,
    *,
    how: RankingOptions,
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
        loaded = how.load(facts, progress=progress)
        (ranked,) = loaded.rank([Question("question", question, answer, {})], progress=progress)
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
