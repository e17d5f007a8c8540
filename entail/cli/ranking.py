"""Options of what ranks facts, and the ranker that they ask for: `entail rank`, `entail evaluate chains`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from entail.errors import SettingsError
from entail.progress import ProgressCallback

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from entail.arcf.neighbourhoods import Neighbourhoods
    from entail.arcf.ranking import Ranked
    from entail.arcf.scorer import Scorer
    from entail.data.worldtree import Question
    from entail.data.worldtree_tables import FactTables

Method = Literal["tfidf", "single-fact", "arcf"]


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """How facts are ranked; what a field is stands in its annotation."""

    method: Annotated[
        Method, "arcf: chains of facts; single-fact: each fact alone; tfidf: by shared words"
    ] = "arcf"
    scorer: Annotated[str, "scorer under models/, or another folder with a slash in its name"] = "arcf-minilm"
    k: Annotated[int, "visible facts nearest to the question and to each chosen fact; the paper's: 290"] = 60
    metric: Annotated[str, "what nearness is: tfidf, overlap, or a retriever such as bm25, minilm"] = "tfidf"
    length: Annotated[int, "facts of a chain at most"] = 9
    least: Annotated[int, "facts of a chain before it may stop by itself"] = 3
    beam: Annotated[int, "chains that grow at once"] = 1
    margin: Annotated[
        float | None, "lazy: score anew only what was at most so much below the best; default: everything"
    ] = None
    first: Annotated[int | None, "single-fact: only the nearest facts are scored; default: all"] = None
    together: Annotated[int, "questions that are scored in the same batches; more than 1 pays on a GPU"] = 1
    precision: Annotated[Literal["auto", "fp32", "bf16"], "auto: bf16 where it is the faster one"] = "auto"
    device: Annotated[str | None, "auto, cpu, cuda, cuda:1 ..."] = None

    def settings(self, loaded: Loaded) -> dict[str, str]:
        """Return what a ranking depends on, for a file that is gone on with."""
        told: dict[str, Any] = {"method": self.method, "metric": self.metric}
        if loaded.scorer is not None:
            told |= {"scorer": loaded.scorer.revision, "precision": self.precision}
        if self.method == "arcf":
            names = ("k", "length", "least", "beam", "margin")
            told |= {name: getattr(self, name) for name in names}
        if self.method == "single-fact":
            told["first"] = self.first
        return {name: str(value) for name, value in told.items()}

    def load(self, facts: FactTables, *, progress: ProgressCallback | None) -> Loaded:
        """Bring what ranks into memory.

        Raises:
            EntailError: If there is no such scorer or metric.
        """
        from entail.arcf.neighbourhoods import Neighbourhoods
        from entail.arcf.scorer import load_scorer

        scorer = None
        if self.method != "tfidf":
            scorer = load_scorer(self.scorer, device=self.device, precision=self.precision)
        near = Neighbourhoods(facts, k=self.k, metric=self.metric, progress=progress)
        return Loaded(self, near, scorer)


@dataclass(frozen=True)
class Loaded:
    """What ranks, in memory."""

    options: RankingOptions
    neighbourhoods: Neighbourhoods
    scorer: Scorer | None

    def rank(
        self, questions: Sequence[Question], *, progress: ProgressCallback | None = None
    ) -> Iterable[Ranked]:
        """Yield the questions' rankings, in order."""
        from entail.arcf.chain import Search
        from entail.arcf.ranking import ChainRanker, Ranked, SingleFactRanker
        from entail.evaluation.chains import tfidf_rankings

        given, near = self.options, self.neighbourhoods
        if self.scorer is None:
            rankings = tfidf_rankings(questions, near.similarities, progress=progress)
            return (Ranked(*pair) for pair in zip(questions, rankings, strict=True))
        if given.method == "single-fact":
            return SingleFactRanker(self.scorer, near, first=given.first).rank(questions, progress=progress)
        search = Search(length=given.length, least=given.least, beam=given.beam, margin=given.margin)
        ranker = ChainRanker(self.scorer, near, search=search, together=given.together)
        return ranker.rank(questions, progress=progress)

    @property
    def spent(self) -> dict[str, int]:
        """What scoring cost so far."""
        from dataclasses import asdict

        return asdict(self.scorer.pairs.spent) if self.scorer is not None else {}


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
