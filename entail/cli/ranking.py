"""Options of what ranks facts, and the ranker that they ask for: `entail rank`, `entail evaluate chains`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

from entail.cli.in_use import name_in_use
from entail.errors import SettingsError
from entail.progress import ProgressCallback

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from entail.arcf.neighbourhoods import Neighbourhoods
    from entail.arcf.ranking import Ranked, Ranker
    from entail.arcf.scorer import Scorer
    from entail.arcf.unread import Unread
    from entail.data.worldtree import Question
    from entail.data.worldtree_tables import FactTables

Part = Literal["tfidf", "single-fact", "path-rerank", "arcf"]
Method = Literal["tfidf", "single-fact", "path-rerank", "ensemble", "arcf"]


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """How facts are ranked; what a field is stands in its annotation."""

    method: Annotated[
        Method,
        "arcf: chains of facts; single-fact: each fact alone; path-rerank: the best chain of two that each "
        "is in; ensemble: several of them; tfidf: by shared words",
    ] = "arcf"
    scorer: Annotated[
        str | None,
        "scorer under models/, or another folder with a slash in its name; default: the one in use; of "
        "single facts one that learnt on them, if there is one",
    ] = None
    parts: Annotated[
        str, "ensemble: its methods, with + between; each may name a scorer of its own: path-rerank=NAME"
    ] = "single-fact+path-rerank"
    k: Annotated[int, "visible facts nearest to the question and to each chosen fact; the paper's: 290"] = 60
    metric: Annotated[str, "what nearness is: tfidf, overlap, or a retriever such as bm25, minilm"] = "tfidf"
    length: Annotated[int, "facts of a chain at most"] = 9
    least: Annotated[int, "facts of a chain before it may stop by itself"] = 3
    beam: Annotated[int, "chains that grow at once"] = 1
    margin: Annotated[
        float | None, "lazy: score anew only what was at most so much below the best; default: everything"
    ] = None
    first: Annotated[int | None, "single-fact: only the nearest facts are scored; default: all"] = None
    paths: Annotated[int, "path-rerank: facts nearest to the question that a chain begins with"] = 50
    linked: Annotated[
        int | None, "path-rerank: second facts of a chain that are scored, the nearest; default: all"
    ] = None
    together: Annotated[int, "questions that are scored in the same batches; more than 1 pays on a GPU"] = 1
    precision: Annotated[
        Literal["auto", "fp32", "bf16"],
        "auto: bf16 where it is the faster one, of a scorer that reads apart fp32",
    ] = "auto"
    device: Annotated[str | None, "auto, cpu, cuda, cuda:1 ..."] = None

    def settings(self, loaded: Loaded) -> dict[str, str]:
        """Return what a ranking depends on, for a file that is gone on with."""
        told: dict[str, Any] = {"method": self.method, "metric": self.metric}
        if self.method == "ensemble":
            told["parts"] = "+".join(part for part, _ in loaded.parts)
        if revisions := dict.fromkeys(scorer.revision for _, scorer in loaded.parts if scorer is not None):
            told |= {"scorer": ", ".join(revisions), "precision": self.precision}
        methods = {part for part, _ in loaded.parts}
        names = [name for part, some in _OWN.items() if part in methods for name in some]
        told |= {name: getattr(self, name) for name in names}
        return {name: str(value) for name, value in told.items()}

    def read_parts(self) -> list[tuple[Part, str]]:
        """Return what ranks, each with the scorer it asks for.

        Raises:
            SettingsError: If a part of an ensemble is no method, or there are not two.
        """
        if self.method != "ensemble":
            return [(self.method, self._scorer_of(self.method))]
        found: list[tuple[Part, str]] = []
        for told in self.parts.split("+"):
            name, _, scorer = told.strip().partition("=")
            if name not in get_args(Part):
                raise SettingsError(
                    f"parts: expected methods of {', '.join(get_args(Part))} with + between, found {name!r}"
                )
            part = cast(Part, name)
            found.append((part, scorer or self._scorer_of(part)))
        if len(found) < 2:
            raise SettingsError(f"parts: expected two methods or more with + between, found {self.parts!r}")
        return found

    def _scorer_of(self, part: Part) -> str:
        from entail.arcf.listing import first_of_single_facts

        if part == "tfidf":
            return ""
        alone = first_of_single_facts() if part in ("single-fact", "path-rerank") else None
        return self.scorer or alone or name_in_use("chains")

    def load(self, facts: FactTables, *, progress: ProgressCallback | None) -> Loaded:
        """Bring what ranks into memory.

        Raises:
            EntailError: If there is no such scorer or metric.
        """
        from entail.arcf.neighbourhoods import Neighbourhoods
        from entail.arcf.scorer import load_scorer

        parts = self.read_parts()
        scorers = {
            name: load_scorer(name, device=self.device, precision=self.precision)
            for name in dict.fromkeys(name for part, name in parts if part != "tfidf")
        }
        near = Neighbourhoods(facts, k=self.k, metric=self.metric, progress=progress)
        return Loaded(self, near, tuple((part, scorers.get(name)) for part, name in parts))


_OWN: dict[Part, tuple[str, ...]] = {
    "arcf": ("k", "length", "least", "beam", "margin"),
    "single-fact": ("first",),
    "path-rerank": ("paths", "linked"),
}
"""Which options a method's rankings depend on."""


@dataclass(frozen=True)
class Loaded:
    """What ranks, in memory.

    Attributes:
        options: As given.
        neighbourhoods: What is visible, and all facts.
        parts: The method with its scorer, None for one that needs none; of an ensemble all of them.
    """

    options: RankingOptions
    neighbourhoods: Neighbourhoods
    parts: tuple[tuple[Part, Scorer | None], ...] = field(repr=False)

    def rank(
        self, questions: Sequence[Question], *, progress: ProgressCallback | None = None
    ) -> Iterator[Ranked]:
        """Yield the questions' rankings, in order."""
        from functools import partial

        from entail.arcf.ensemble import EnsembleRanker

        if self.options.method != "ensemble":
            return self._rank(self._rankers[0], questions, progress)
        parts = [partial(self._rank, ranker) for ranker in self._rankers]
        return EnsembleRanker(parts).rank(questions, progress=progress)

    def _rank(
        self, ranker: Ranker | None, questions: Sequence[Question], progress: ProgressCallback | None = None
    ) -> Iterator[Ranked]:
        from entail.arcf.ranking import Ranked
        from entail.evaluation.chains import tfidf_rankings

        if ranker is not None:
            return ranker.rank(questions, progress=progress)
        rankings = tfidf_rankings(questions, self.neighbourhoods.similarities, progress=progress)
        return (Ranked(*pair) for pair in zip(questions, rankings, strict=True))

    @cached_property
    def _rankers(self) -> tuple[Ranker | None, ...]:
        return tuple(self._ranker(part, scorer) for part, scorer in self.parts)

    def _ranker(self, part: Part, scorer: Scorer | None) -> Ranker | None:
        from entail.arcf.chain import Search
        from entail.arcf.paths import PathRanker
        from entail.arcf.ranking import ChainRanker, SingleFactRanker

        given, near = self.options, self.neighbourhoods
        if scorer is None:
            return None
        if part == "single-fact":
            return SingleFactRanker(scorer, near, first=given.first)
        if part == "path-rerank":
            return PathRanker(scorer, near, top=given.paths, linked=given.linked)
        search = Search(length=given.length, least=given.least, beam=given.beam, margin=given.margin)
        return ChainRanker(scorer, near, search=search, together=given.together)

    def unread(self, ranked: Sequence[Ranked]) -> Unread:
        """Return what did not fit; of several scorers facts are counted by the one that reads least."""
        from entail.arcf.unread import Unread

        cut = [len(ranker.inputs.cut) for ranker in self._rankers if ranker is not None]
        return Unread.of(ranked, facts_cut=max(cut, default=0))

    @property
    def learnt_on(self) -> dict[str, str]:
        """By what each method that has a scorer was learnt: chains (`arcf`) or single facts."""
        return {part: scorer.form.scheme for part, scorer in self.parts if scorer is not None}

    @property
    def spent(self) -> dict[str, int]:
        """What scoring cost so far."""
        from dataclasses import asdict

        scorers = {id(scorer): scorer for _, scorer in self.parts if scorer is not None}
        found: dict[str, int] = {}
        for scorer in scorers.values():
            for name, count in asdict(scorer.pairs.spent).items():
                found[name] = found.get(name, 0) + count
        return found


def some_of(
    questions: Sequence[Question], *, limit: int | None, sample: int | None, seed: int
) -> tuple[Question, ...]:
    """Return the first questions, or some drawn by a seed, in order.

    Raises:
        SettingsError: If both are asked for.
    """
    import numpy as np

    if limit is not None and sample is not None:
        raise SettingsError("expected --limit or --sample, found both")
    if sample is None or sample >= len(questions):
        return tuple(questions[:limit])
    chosen = np.sort(np.random.default_rng(seed).permutation(len(questions))[:sample])
    return tuple(questions[int(at)] for at in chosen)
