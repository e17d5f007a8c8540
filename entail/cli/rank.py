"""``entail rank``, and the ranking options that ``entail evaluate chains`` shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from entail.cli.console import Report, command, progress_bar
from entail.cli.options import Limit, active_or_packaged, options_of
from entail.errors import SettingsError
from entail.progress import ProgressCallback

if TYPE_CHECKING:
    from entail.arcf.chains.ranking import ChainRanker, Ranked
    from entail.arcf.neighbourhoods import Neighbourhoods
    from entail.data.worldtree.questions import Question
    from entail.data.worldtree.tables import FactTables

app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """Options of a ranking; the annotations are their help texts."""

    method: Annotated[
        Literal["arcf", "tfidf"], "arcf: chains of facts; tfidf: words shared with question and answer"
    ] = "arcf"
    scorer: Annotated[
        str | None,
        "Scorer: a name under models/, or a folder with a slash in its path; default: the active one",
    ] = None
    k: Annotated[int, "Visible facts: the nearest to the question and to each chosen fact; paper: 290"] = 60
    metric: Annotated[str, "Similarity of facts: tfidf, or a retriever such as bm25, minilm"] = "tfidf"
    length: Annotated[int, "Maximum facts of a chain"] = 9
    min_length: Annotated[int, "Minimum facts of a chain"] = 3
    precision: Annotated[
        Literal["auto", "fp32", "bf16"], "auto: bf16 if it is faster; fp32 for a bi-encoder"
    ] = "auto"
    device: Annotated[str | None, "Device: auto, cpu, cuda, cuda:1 ..."] = None

    def load(self, facts: FactTables, *, progress: ProgressCallback | None) -> Ranking:
        """Load scorer and neighbourhoods; `EntailError` if there is no such scorer or metric."""
        from entail.arcf.chains.chain import Search
        from entail.arcf.chains.ranking import ChainRanker
        from entail.arcf.neighbourhoods import Neighbourhoods
        from entail.arcf.scoring.scorer import load_scorer

        scorer = None
        if self.method == "arcf":
            name = self.scorer or active_or_packaged("chains")
            scorer = load_scorer(name, device=self.device, precision=self.precision)
        near = Neighbourhoods(facts, k=self.k, metric=self.metric, progress=progress)
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
        from entail.arcf.chains.ranking import Ranked
        from entail.evaluation.chains import tfidf_rankings

        if self.ranker is not None:
            return self.ranker.rank(questions, progress=progress)
        rankings = tfidf_rankings(questions, self.neighbourhoods.similarities, progress=progress)
        return (Ranked(*pair) for pair in zip(questions, rankings, strict=True))

    @property
    def settings(self) -> dict[str, str]:
        """Settings that a ranking depends on; resuming a file compares them."""
        options = self.options
        settings: dict[str, object] = {"method": options.method, "metric": options.metric}
        if self.ranker is not None:
            settings |= {"scorer": self.ranker.scorer.revision, "precision": options.precision}
            settings |= {"k": options.k, "length": options.length, "least": options.min_length}
        return {name: str(value) for name, value in settings.items()}

    def write(
        self,
        file: Path,
        questions: Sequence[Question],
        *,
        top: int | None = None,
        resume: bool,
        progress: ProgressCallback | None,
    ) -> list[Ranked]:
        """Rank the questions that a file of predictions lacks, into that file; return their rankings."""
        from entail.arcf.chains.predictions import write_predictions

        facts, rank = self.neighbourhoods.facts, partial(self.rank, progress=progress)
        return list(
            write_predictions(file, questions, facts, rank, settings=self.settings, top=top, resume=resume)
        )

    @property
    def spent(self) -> dict[str, int]:
        """Cost of scoring so far."""
        return asdict(self.ranker.scorer.pairs.spent) if self.ranker else {}


@command(app)
@options_of(RankingOptions, into="how")
def rank(
    tables: Annotated[Path, "Folder of fact tables, as released.", "DIR"],
    question: Annotated[str | None, "Question."] = None,
    answer: Annotated[str | None, "Correct answer."] = None,
    questions: Annotated[Path | None, "File of questions, as released."] = None,
    out: Annotated[Path | None, "Rankings of --questions: question id, tab, uid."] = None,
    limit: Limit = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="Facts per question; default: 20 on screen, all in a file.", metavar="N"),
    ] = None,
    resume: Annotated[bool, "Continue an existing file."] = True,
    *,
    how: RankingOptions,
) -> Report:
    """Rank facts by how well they explain an answer, and show the chain.

    A chain stops where the bare explanation scores above every visible fact, at its maximum length, or where
    nothing else is visible. A file of questions is ranked one by one; the same command resumes an interrupted
    run.
    """
    from entail.data.worldtree.questions import Question, read_questions
    from entail.data.worldtree.tables import read_fact_tables

    is_single = question is not None and answer is not None
    if is_single == (questions is not None) or (questions is None) != (out is None):
        raise SettingsError("expected --question and --answer, or --questions FILE and --out FILE")
    facts = read_fact_tables(tables)
    with progress_bar() as progress:
        loaded = how.load(facts, progress=progress)
        if questions is not None and out is not None:
            reading = read_questions(questions)
            usable = reading.usable[:limit]
            written = loaded.write(out, usable, top=top, resume=resume, progress=progress)
            data = {
                "questions": len(usable),
                "ranked_now": len(written),
                "there_before": len(usable) - len(written),
                "facts": len(facts),
                "problems": [*facts.problems, *reading.problems],
                "warnings": list(reading.warnings),
                "truncated": sum(entry.dropped != 0 for entry in written),
            }
            return Report(data=data)
        if not (question or "").strip() or not (answer or "").strip():
            raise SettingsError("expected a question and an answer, found an empty one")
        (ranked,) = loaded.rank([Question("question", str(question), str(answer), {})], progress=progress)
    return _chain_report(ranked, facts, top=top or 20)


def _chain_report(ranked: Ranked, facts: FactTables, *, top: int) -> Report:
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
