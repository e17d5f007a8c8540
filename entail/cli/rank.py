"""``entail rank``, and the ranking options that ``entail evaluate chains`` shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

import typer

from entail.cli.console import Report, command, progress_bar, table
from entail.cli.options import active_or_packaged, options_of
from entail.errors import SettingsError
from entail.progress import ProgressCallback

if TYPE_CHECKING:
    from entail.arcf.chains.neighbourhoods import Neighbourhoods
    from entail.arcf.chains.ranking import Ranked, Ranker, Truncation
    from entail.arcf.scoring.scorer import Scorer
    from entail.data.worldtree.questions import Question, QuestionReading
    from entail.data.worldtree.tables import FactTables

app = typer.Typer()

Part = Literal["tfidf", "single-fact", "path-rerank", "arcf"]
Method = Literal["tfidf", "single-fact", "path-rerank", "ensemble", "arcf"]


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """Options of a ranking; the annotations are their help texts."""

    method: Annotated[
        Method,
        "arcf: chains of facts; single-fact: each fact alone; path-rerank: the best chain of two with the "
        "fact; ensemble: several methods; tfidf: shared words",
    ] = "arcf"
    scorer: Annotated[
        str | None,
        "Scorer: a name under models/, or a folder with a slash in its path; default: the active one, for "
        "single facts one that was trained on them",
    ] = None
    parts: Annotated[
        str, "ensemble: its methods, joined by +; each may name its scorer: path-rerank=NAME"
    ] = "single-fact+path-rerank"
    k: Annotated[int, "Visible facts: the nearest to the question and to each chosen fact; paper: 290"] = 60
    metric: Annotated[str, "Similarity of facts: tfidf, overlap, or a retriever such as bm25, minilm"] = (
        "tfidf"
    )
    length: Annotated[int, "Maximum facts of a chain"] = 9
    least: Annotated[int, "Minimum facts of a chain"] = 3
    beam: Annotated[int, "Beam width"] = 1
    margin: Annotated[
        float | None, "Lazy scoring: rescore only facts within this margin of the best; default: all facts"
    ] = None
    prune: Annotated[bool, "Drop chosen facts that the rest of the chain no longer needs"] = False
    without_answer: Annotated[bool, "Rank by the question alone, as if its answer were unknown"] = False
    first: Annotated[int | None, "single-fact: score only the nearest facts; default: all"] = None
    paths: Annotated[int, "path-rerank: first facts of chains, the nearest to the question"] = 50
    linked: Annotated[int | None, "path-rerank: second facts of chains, the nearest; default: all"] = None
    together: Annotated[int, "Questions per batch; more than 1 pays on a GPU"] = 1
    precision: Annotated[
        Literal["auto", "fp32", "bf16"],
        "auto: bf16 if it is faster; fp32 for scorers that read facts apart",
    ] = "auto"
    device: Annotated[str | None, "Device: auto, cpu, cuda, cuda:1 ..."] = None

    def _parts(self) -> list[tuple[Part, str]]:
        """Return the methods, each with the name of its scorer."""
        if self.method != "ensemble":
            return [(self.method, self._scorer_of(self.method))]
        parts: list[tuple[Part, str]] = []
        for item in self.parts.split("+"):
            name, _, scorer = item.strip().partition("=")
            if name not in get_args(Part):
                raise SettingsError(
                    f"parts: expected methods of {', '.join(get_args(Part))} with + between, found {name!r}"
                )
            part = cast(Part, name)
            parts.append((part, scorer or self._scorer_of(part)))
        if len(parts) < 2:
            raise SettingsError(f"parts: expected two methods or more with + between, found {self.parts!r}")
        return parts

    def _scorer_of(self, part: Part) -> str:
        from entail.arcf.scoring.scorer import default_single_fact_scorer

        if part == "tfidf":
            return ""
        default = default_single_fact_scorer() if part in ("single-fact", "path-rerank") else None
        return self.scorer or default or active_or_packaged("chains")

    def load(self, facts: FactTables, *, progress: ProgressCallback | None) -> RankingMethods:
        """Load the scorers and neighbourhoods; `EntailError` if there is no such scorer or metric."""
        from entail.arcf.chains.neighbourhoods import Neighbourhoods
        from entail.arcf.scoring.scorer import load_scorer

        parts = self._parts()
        scorers = {
            name: load_scorer(name, device=self.device, precision=self.precision)
            for name in dict.fromkeys(name for part, name in parts if part != "tfidf")
        }
        near = Neighbourhoods(facts, k=self.k, metric=self.metric, progress=progress)
        rankers = tuple(
            (part, self._ranker(part, scorers[name], near) if part != "tfidf" else None)
            for part, name in parts
        )
        return RankingMethods(self, near, rankers)

    def _ranker(self, part: Part, scorer: Scorer, near: Neighbourhoods) -> Ranker:
        from entail.arcf.chains.baselines import PathRanker, SingleFactRanker
        from entail.arcf.chains.chain import Search
        from entail.arcf.chains.ranking import ChainRanker

        if part == "single-fact":
            return SingleFactRanker(scorer, near, first=self.first)
        if part == "path-rerank":
            return PathRanker(scorer, near, top=self.paths, linked=self.linked)
        search = Search(
            length=self.length, least=self.least, beam=self.beam, margin=self.margin, prune=self.prune
        )
        return ChainRanker(scorer, near, search=search, together=self.together)


_RANKING_OPTIONS: dict[Part, tuple[str, ...]] = {
    "arcf": ("k", "length", "least", "beam", "margin"),
    "single-fact": ("first",),
    "path-rerank": ("paths", "linked"),
}
"""Options that the rankings of a method depend on."""


@dataclass(frozen=True)
class RankingMethods:
    """Loaded ranking methods, each with its ranker, None for shared words; and the visible facts of each."""

    options: RankingOptions
    neighbourhoods: Neighbourhoods
    rankers: tuple[tuple[Part, Ranker | None], ...] = field(repr=False)

    def rank(
        self, questions: Sequence[Question], *, progress: ProgressCallback | None = None
    ) -> Iterator[Ranked]:
        """Yield the rankings of questions, in order."""
        from entail.arcf.chains.baselines import rank_ensemble

        if self.options.without_answer:
            questions = [replace(question, answer="") for question in questions]
        if self.options.method != "ensemble":
            return self._rank(self.rankers[0][1], questions, progress)
        parts = [self._rank(ranker, questions) for _, ranker in self.rankers]
        return rank_ensemble(parts, count=len(questions), progress=progress)

    def _rank(
        self, ranker: Ranker | None, questions: Sequence[Question], progress: ProgressCallback | None = None
    ) -> Iterator[Ranked]:
        from entail.arcf.chains.ranking import Ranked
        from entail.evaluation.chains import tfidf_rankings

        if ranker is not None:
            return ranker.rank(questions, progress=progress)
        rankings = tfidf_rankings(questions, self.neighbourhoods.similarities, progress=progress)
        return (Ranked(*pair) for pair in zip(questions, rankings, strict=True))

    @property
    def learnt_on(self) -> dict[str, str]:
        """Training scheme of each method's scorer: `arcf` (chains) or `single-fact`."""
        return {part: ranker.scorer.form.scheme for part, ranker in self.rankers if ranker is not None}

    @property
    def settings(self) -> dict[str, str]:
        """Settings that a ranking depends on; resuming a file compares them."""
        options, methods = self.options, [part for part, _ in self.rankers]
        settings: dict[str, Any] = {"method": options.method, "metric": options.metric}
        if options.method == "ensemble":
            settings["parts"] = "+".join(methods)
        if revisions := dict.fromkeys(ranker.scorer.revision for _, ranker in self.rankers if ranker):
            settings |= {"scorer": ", ".join(revisions), "precision": options.precision}
        names = [
            name
            for part, option_names in _RANKING_OPTIONS.items()
            if part in methods
            for name in option_names
        ]
        settings |= {name: getattr(options, name) for name in names}
        # Files of earlier versions have no such settings.
        settings |= {name: True for name in ("prune", "without_answer") if getattr(options, name)}
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

    def truncation(self, ranked: Sequence[Ranked]) -> Truncation:
        """Return the truncation; of several scorers the one with the shortest input counts."""
        from entail.arcf.chains.ranking import Truncation

        cut = [len(ranker.inputs.cut) for _, ranker in self.rankers if ranker is not None]
        return Truncation.of(ranked, facts_cut=max(cut, default=0))

    @property
    def spent(self) -> dict[str, int]:
        """Cost of scoring so far."""
        spent: Counter[str] = Counter()
        scorers = [ranker.scorer for _, ranker in self.rankers if ranker is not None]
        for scorer in {id(scorer): scorer for scorer in scorers}.values():
            spent.update(asdict(scorer.pairs.spent))
        return dict(spent)


def select_questions(
    questions: Sequence[Question], *, limit: int | None, sample: int | None, seed: int
) -> tuple[Question, ...]:
    """Return the first questions, or a random sample, in order; `SettingsError` if both are wanted."""
    import numpy as np

    if limit is not None and sample is not None:
        raise SettingsError("expected --limit or --sample, found both")
    if sample is None or sample >= len(questions):
        return tuple(questions[:limit])
    indices = np.sort(np.random.default_rng(seed).permutation(len(questions))[:sample])
    return tuple(questions[int(at)] for at in indices)


@command(app)
@options_of(RankingOptions, into="how", panel="Ranking")
def rank(
    tables: Annotated[Path, "Folder of fact tables, as released.", "DIR"],
    question: Annotated[str | None, "Question."] = None,
    answer: Annotated[str | None, "Correct answer."] = None,
    questions: Annotated[Path | None, "File of questions, as released."] = None,
    out: Annotated[Path | None, "Rankings of --questions: question id, tab, uid."] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first questions.", metavar="N")] = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="Facts per question; default: 20 on screen, all in a file.", metavar="N"),
    ] = None,
    resume: Annotated[bool, "Continue an existing file."] = True,
    *,
    how: RankingOptions,
) -> Report:
    """Rank facts by how well they explain an answer, and show the chain.

    A file of questions is ranked one by one; the same command resumes an interrupted run.
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
            return _file_report(loaded, reading, written, out, count=len(usable))
        if not (question or "").strip() or not (answer or "").strip():
            raise SettingsError("expected a question and an answer, found an empty one")
        (ranked,) = loaded.rank([Question("question", str(question), str(answer), {})], progress=progress)
    return _chain_report(ranked, facts, loaded.truncation([ranked]), top=top or 20)


def _chain_report(ranked: Ranked, facts: FactTables, truncation: Truncation, *, top: int) -> Report:
    chain = ranked.chain
    chain_order = {fact: number for number, fact in enumerate(chain.facts, 1)} if chain else {}
    rows: list[list[object]] = []
    entries: list[dict[str, Any]] = []
    for rank, at in enumerate(ranked.ranking[:top], 1):
        fact = facts.facts[int(at)]
        entries.append({"rank": rank, "uid": fact.uid, "text": fact.text, "chosen": int(at) in chain_order})
        rows.append([rank, "*" if int(at) in chain_order else "", fact.text])
    data: dict[str, Any] = {"ranking": entries, "stopped": chain.stopped if chain else None}
    data |= {"dropped": max(0, ranked.dropped), "unread": truncation.to_json()}
    parts = [table(["rank", "chosen", "fact"], rows)]
    if chain is not None:
        data["steps"] = [
            {
                "chosen": facts.facts[step.chosen].uid if step.chosen is not None else None,
                "bare": step.stop_score,
                "best": max(step.scores, default=None),
                "scored": len(step.candidates),
                "joined": len(step.newly_visible),
            }
            for step in chain.steps
        ]
        why = {
            "bare prefix": "no visible fact scored above the bare explanation",
            "length": "it reached the maximum length",
            "nothing visible": "no other fact was visible",
        }[chain.stopped]
        parts.append(f"a chain of {len(chain.facts)} facts (*), which stopped because {why}")
    parts += truncation.messages()
    return Report(data=data, text="\n\n".join(parts))


def _file_report(
    loaded: RankingMethods, reading: QuestionReading, written: Sequence[Ranked], out: Path, *, count: int
) -> Report:
    facts, truncation = loaded.neighbourhoods.facts, loaded.truncation(written)
    before = count - len(written)
    data = {
        "questions": count,
        "ranked_now": len(written),
        "there_before": before,
        "facts": len(facts),
        "problems": [*facts.problems, *reading.problems],
        "warnings": list(reading.warnings),
        "unread": truncation.to_json(),
    }
    parts = [
        f"ranked {len(written):,} questions, {before:,} were ranked before; wrote {out}",
        str(facts),
        *(f"cannot be read: {problem}" for problem in reading.problems),
        *(f"read in part: {warning}" for warning in reading.warnings),
        *truncation.messages(),
    ]
    return Report(data=data, text="\n\n".join(parts))
