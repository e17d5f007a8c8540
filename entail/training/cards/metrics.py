"""Evaluation figures of a model, as `entail.json` stores them and its card prints them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

from entail.training.cards.markdown import code, escaped, number

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Figures = Mapping[str, float]
Question = Literal["nli", "direction"]

PROTOCOLS = {"paper": "query among the candidates", "query_excluded": "query excluded"}
"""Name of a retrieval protocol in result files -> title."""

DEFAULT_RANKING: Mapping[str, str] = {
    **{"metric": "tfidf", "length": "9", "least": "3"},
    **{"beam": "1", "margin": "None", "first": "None"},
}
"""Default settings of a ranking of facts, which cards leave out; the number of visible facts has none."""

RANKING_SETTINGS = ("metric", "k", "length", "least", "beam", "margin", "first", "paths", "linked")
"""Settings that two comparable rankings share; the others concern speed."""

_RETRIEVAL_MEASURES = ("MAP", "NDCG", "NDCG@10", "Hit@10", "Hit@50")


class Table(NamedTuple):
    """One table of a card, with the paragraphs above and below it; cells are Markdown."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Figures of one result file.

    Attributes:
        source: Stem of the file's name.
        about: Commit, seed, hardware, command and time of the measurement.
    """

    KEY: ClassVar[str]
    """Name under `figures` of `entail.json`."""

    source: str
    about: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Return the metrics that `to_json` wrote; unknown fields are ignored.

        Raises:
            ValueError: If a field is missing or of another type.
        """
        from pydantic import ValidationError

        try:
            kind: Any = cls
            checked: Self = _validator(kind).validate_python(record)
        except ValidationError as error:
            problems = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
            raise ValueError("; ".join(problems)) from error
        return checked

    def replaces(self, other: Metrics) -> bool:
        """Return whether these figures supersede others of the same model."""
        return type(other) is type(self) and other.source == self.source

    def tables(self, base: str) -> Iterator[Table]:
        """Yield the tables of a card; `base` names the untrained base as Markdown."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class PairResult:
    """Figures on one set of sentence pairs.

    Attributes:
        question: `nli`: does a premise entail; `direction`: which of two sentences entails the other.
        n: Number of pairs.
        interval: 95 % confidence interval of the accuracy; None where unknown.
        auprc: Area under the precision-recall curve; None for a direction.
        baseline: Accuracy of the majority class, or of the longer sentence for a direction.
        longer: Accuracy where the longer sentence is the entailed one, and the number of such pairs.
    """

    data: str
    question: Question
    n: int
    accuracy: float
    interval: tuple[float, float] | None = None
    auprc: float | None = None
    baseline: float | None = None
    longer: tuple[float, int] | None = None

    @property
    def cells(self) -> list[str]:
        """Cells of a row."""
        common = [escaped(self.data), f"{self.n:,}", number(self.accuracy), _interval(self.interval)]
        if self.question == "nli":
            return [*common, number(self.auprc), number(self.baseline)]
        longer = f"{number(self.longer[0])} (of {self.longer[1]:,})" if self.longer else "-"
        return [*common, number(self.baseline), longer]


@dataclass(frozen=True, kw_only=True)
class PairMetrics(Metrics):
    """Figures on sentence pairs, one result per set and question."""

    KEY = "measured_pairs"

    sets: tuple[PairResult, ...]

    def tables(self, base: str) -> Iterator[Table]:
        """Yield a table for entailment and one for its direction."""
        head = ["pairs", "count", "accuracy", "95 % interval"]
        for question, caption, columns in (
            (
                "nli",
                "Entailment against neutral and contradiction, at the threshold stored with the model:",
                ["AUPRC", "majority class"],
            ),
            (
                "direction",
                "Direction of entailment, over the entailment pairs. The length baseline calls the shorter "
                "sentence entailed, so it fails wherever the longer one is:",
                ["length baseline", "where the longer is entailed"],
            ),
        ):
            if rows := [one.cells for one in self.sets if one.question == question]:
                yield Table(caption, [*head, *columns], rows)


@dataclass(frozen=True, kw_only=True)
class PassageMetrics(Metrics):
    """Figures of passage retrieval.

    Attributes:
        gold: Measure -> value, a hit being the annotated passage; empty where there is none.
        answer: The same, a hit being any passage that contains an answer.
        base: As `gold`, of the untrained base; empty where not measured.
        words: As `gold`, of BM25.
        untuned: As `gold`, of the same training without entailment tuning; empty where not measured.
        precision: Precision of the vectors, such as `bf16`; empty for the default.
    """

    KEY = "measured_passages"

    questions: int
    passages: int
    gold: Figures = field(default_factory=dict)
    answer: Figures = field(default_factory=dict)
    base: Figures = field(default_factory=dict)
    words: Figures = field(default_factory=dict)
    untuned: Figures = field(default_factory=dict)
    precision: str = ""

    def tables(self, base: str) -> Iterator[Table]:
        """Yield one table, a row a measure."""
        columns = {
            "BM25": self.words,
            f"untrained base, {base}": self.base,
            "same training without entailment tuning": self.untuned,
            "this encoder": self.gold,
            "this encoder, by answer": self.answer,
        }
        columns = {title: figures for title, figures in columns.items() if figures}
        names = dict.fromkeys(name for figures in columns.values() for name in figures)
        precision = f" Vectors were computed in {code(self.precision)}." if self.precision else ""
        yield Table(
            f"{self.questions:,} questions, each against {self.passages:,} passages. R@k is the share of "
            "questions with a hit among the first k, MRR the mean of 1 / rank of the first hit. A hit is the "
            'annotated passage or, in the column "by answer", any passage that contains an answer.'
            f"{precision}",
            ["measure", *columns],
            [[escaped(name), *(number(part.get(name)) for part in columns.values())] for name in names],
            self._effect_of_tuning() if self.untuned else "",
        )

    def _effect_of_tuning(self) -> str:
        both = [(name, self.gold[name], self.untuned[name]) for name in self.gold if name in self.untuned]
        lower, higher = any(a < b for _, a, b in both), any(a > b for _, a, b in both)
        effect = "did not clearly change" if lower == higher else "lowered" if lower else "raised"
        example = "".join(f"{name} {number(a)} with it and {number(b)} without; " for name, a, b in both[:1])
        return (
            f"Entailment tuning {effect} these figures ({example}same questions, hard negatives, steps and "
            "seed)."
        )


@dataclass(frozen=True, kw_only=True)
class RetrievalMetrics(Metrics):
    """Figures of premise retrieval.

    Attributes:
        corpus: Name of the candidates' corpus.
        queries: Number of parents in the trees.
        pairs: Number of children to be found.
        encoder: Protocol -> measure -> value.
        base: The same of the untrained base, empty where not measured.
        unseen: Number of queries outside the training data; None where all are.
        encoder_unseen: Figures on those.
        reads: Candidates that the simulated author reads per accepted premise; encoder, then base.
    """

    KEY = "measured"

    corpus: str
    premises: int | None = None
    trees: int | None = None
    queries: int | None = None
    pairs: int | None = None
    encoder: Mapping[str, Figures] = field(default_factory=dict)
    base: Mapping[str, Figures] = field(default_factory=dict)
    unseen: int | None = None
    encoder_unseen: Mapping[str, Figures] = field(default_factory=dict)
    reads: tuple[float | None, float | None] = (None, None)

    def tables(self, base: str) -> Iterator[Table]:
        """Yield one table, a row a measure, for both protocols."""
        counts = {
            "trees": self.trees,
            "queries": self.queries,
            "pairs": self.pairs,
            "candidate premises": self.premises,
        }
        sides = {f"untrained base, {base}": self.base, "this encoder": self.encoder}
        columns = {
            f"{side}: {words}": figures.get(protocol) or {}
            for protocol, words in PROTOCOLS.items()
            for side, figures in sides.items()
            if figures
        }
        yield Table(
            ", ".join(f"{count:,} {what}" for what, count in counts.items() if count is not None)
            + ". Each parent of a tree is a query against the whole corpus; its children are the hits. MAP "
            "and NDCG are means over queries; Hit@k is the share of children among the first k.",
            ["measure", *columns],
            [[name, *(number(part.get(name)) for part in columns.values())] for name in _RETRIEVAL_MEASURES],
            " ".join(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        if self.unseen is not None and self.queries:
            yield (
                f"{self.queries - self.unseen:,} of these queries are also training queries, so figures on "
                "them are optimistic."
            )
            maps = [
                f"{number(figures['MAP'])} ({PROTOCOLS[protocol]})"
                for protocol, figures in self.encoder_unseen.items()
                if "MAP" in figures
            ]
            if maps:
                yield f"MAP on the other {self.unseen:,}: {', '.join(maps)}."
        ours, theirs = self.reads
        if ours is not None:
            against = f" ({theirs:.1f} with the base)" if theirs is not None else ""
            yield f"A simulated author reads {ours:.1f} candidates per accepted premise{against}."


@dataclass(frozen=True, kw_only=True)
class ChainMetrics(Metrics):
    """Figures of a scorer's rankings of facts.

    Attributes:
        method: As `entail evaluate chains --method` names it.
        data: Name of the file of questions.
        digest: Digest of questions, explanations and facts.
        facts: Number of facts ranked for each question.
        interval: 95 % confidence interval of the MAP.
        settings: Settings that the rankings depend on, by name.
    """

    KEY = "measured_chains"

    method: str
    data: str
    digest: str
    questions: int
    facts: int
    map: float
    interval: tuple[float, float]
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def conditions(self) -> str:
        """Data and settings; equal exactly for comparable measurements."""
        other = [
            f"{name} = {self.settings[name]}"
            for name in RANKING_SETTINGS
            if name in self.settings and DEFAULT_RANKING.get(name) != self.settings[name]
        ]
        return ", ".join([f"{self.data} ({self.digest}), {self.questions:,} questions", *other])

    def replaces(self, other: Metrics) -> bool:
        """Return whether the file, or method and conditions, are the same."""
        return isinstance(other, ChainMetrics) and (
            other.source == self.source or (other.method, other.conditions) == (self.method, self.conditions)
        )

    def tables(self, base: str) -> Iterator[Table]:
        """Yield one table of one row."""
        cells = [escaped(self.conditions), code(self.method), f"{self.facts:,}", number(self.map)]
        yield Table(
            "Rankings of all facts, measured by `entail evaluate chains`:",
            ["data", "method", "facts", "MAP", "95 % interval"],
            [[*cells, _interval(self.interval)]],
        )


KINDS: tuple[type[Metrics], ...] = (PairMetrics, PassageMetrics, RetrievalMetrics, ChainMetrics)
"""Every kind of metrics, in the order of a card."""


def read_stored(figures: Mapping[str, Any]) -> tuple[Metrics, ...]:
    """Return the metrics under `figures` of an `entail.json`.

    Raises:
        ValueError: If they are not as `to_json` writes them.
    """
    found: list[Metrics] = []
    for kind in KINDS:
        try:
            found += [kind.from_json(one) for one in figures.get(kind.KEY) or ()]
        except (ValueError, TypeError) as error:
            raise ValueError(f"figures.{kind.KEY}: {error}") from error
    return tuple(found)


def to_stored(metrics: Sequence[Metrics]) -> dict[str, list[dict[str, Any]]]:
    """Return metrics as `figures` of `entail.json` holds them, ordered by source."""
    ordered = sorted(metrics, key=lambda one: one.source)
    stored = {kind.KEY: [one.to_json() for one in ordered if isinstance(one, kind)] for kind in KINDS}
    return {key: rows for key, rows in stored.items() if rows}


def _interval(interval: tuple[float, float] | None) -> str:
    return " to ".join(map(number, interval)) if interval else "-"


@cache
def _validator(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - a class of metrics
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
