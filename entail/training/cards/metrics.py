"""Evaluation figures of models: kinds, their form in `entail.json`, two models side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from entail.data.stored import parse_as
from entail.encoders.weights import read_object
from entail.errors import EncoderError

Figures = Mapping[str, float]
Spread = tuple[float, float, int]
"""Mean, standard deviation and number of the seeds of one training."""

Question = Literal["nli", "direction"]

PROTOCOLS = {"paper": "query among the candidates", "query_excluded": "query excluded"}
"""Name of a retrieval protocol in result files -> title."""

DEFAULT_RANKING: Mapping[str, str] = {"metric": "tfidf", "length": "9", "least": "3"}
"""Default settings of a ranking of facts, which cards leave out; the number of visible facts has none."""

RANKING_SETTINGS = ("metric", "k", "length", "least")
"""Settings that two comparable rankings share; the others concern speed."""


OWN_DEV = "its own dev data"
"""Name of the data that a checkpoint was selected on; it differs from model to model."""

DECISIVE = ("direction", "MAP of chains")
"""Measures that decide between two models of a role."""

_OF_TRAINING = {
    "direction": "direction",
    "accuracy": "NLI accuracy",
    "AUPRC": "NLI AUPRC",
    "step MAP": "MAP of single steps",
}


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
        return parse_as(cls, json.dumps(record))

    def replaces(self, other: Metrics) -> bool:
        """Return whether these figures supersede others of the same model."""
        return type(other) is type(self) and other.source == self.source


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
        seeds: Accuracy over the seeds of the same training; None where one alone was measured.
        selects: Whether weights and threshold were chosen on these pairs.
    """

    data: str
    question: Question
    n: int
    accuracy: float
    interval: tuple[float, float] | None = None
    auprc: float | None = None
    baseline: float | None = None
    longer: tuple[float, int] | None = None
    seeds: Spread | None = None
    selects: bool = False


@dataclass(frozen=True, kw_only=True)
class PairMetrics(Metrics):
    """Figures on sentence pairs, one result per set and question."""

    KEY = "measured_pairs"

    sets: tuple[PairResult, ...]


@dataclass(frozen=True, kw_only=True)
class PassageMetrics(Metrics):
    """Figures of passage retrieval.

    Attributes:
        gold: Measure -> value, a hit being the annotated passage; empty where there is none.
        answer: The same, a hit being any passage that contains an answer.
        base: As `gold`, of the untrained base; empty where not measured.
        words: As `gold`, of BM25.
        untuned: As `gold`, of the same training without entailment tuning; empty where not measured.
        seeds: Measure -> `gold` over the seeds of the same training; empty where one alone was measured.
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
    seeds: Mapping[str, Spread] = field(default_factory=dict)
    precision: str = ""

    @property
    def effect_of_tuning(self) -> str:
        """Verb phrase for the change of these figures by entailment tuning."""
        both = [(self.gold[name], self.untuned[name]) for name in self.gold if name in self.untuned]
        lower, higher = any(a < b for a, b in both), any(a > b for a, b in both)
        return "did not clearly change" if lower == higher else "lowered" if lower else "raised"


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


KINDS: tuple[type[Metrics], ...] = (PairMetrics, PassageMetrics, RetrievalMetrics, ChainMetrics)
"""Every kind of metrics, in the order of a card."""


def read_stored(figures: Mapping[str, Any]) -> tuple[Metrics, ...]:
    """Return the metrics under `figures` of an `entail.json`.

    Raises:
        ValueError: If they are not as `to_json` writes them.
    """
    metrics: list[Metrics] = []
    for kind in KINDS:
        try:
            metrics += [kind.from_json(row) for row in figures.get(kind.KEY) or ()]
        except (ValueError, TypeError) as error:
            raise ValueError(f"figures.{kind.KEY}: {error}") from error
    return tuple(metrics)


def to_stored(metrics: Sequence[Metrics]) -> dict[str, list[dict[str, Any]]]:
    """Return metrics as `figures` of `entail.json` holds them, ordered by source."""
    ordered = sorted(metrics, key=lambda metric: metric.source)
    stored = {
        kind.KEY: [metric.to_json() for metric in ordered if isinstance(metric, kind)] for kind in KINDS
    }
    return {key: rows for key, rows in stored.items() if rows}


@dataclass(frozen=True)
class MetricPair:
    """One measure of two models on data of one name and size; None where a model was not measured."""

    measure: str
    data: str
    first: float | None
    second: float | None

    @property
    def same_data(self) -> bool:
        """Whether the two figures can be compared."""
        return self.data != OWN_DEV and self.first is not None and self.second is not None


def compare_cards(first: Path | None, second: Path) -> list[MetricPair]:
    """Return the figures of the active model, if any, and a candidate; decisive rows come first."""
    active = _figures_of(first) if first is not None else {}
    candidate = _figures_of(second)
    rows = [
        MetricPair(*key, active.get(key), candidate.get(key)) for key in dict.fromkeys([*active, *candidate])
    ]
    return sorted(rows, key=lambda row: (not row.same_data, row.measure not in DECISIVE))


def _figures_of(folder: Path) -> dict[tuple[str, str], float]:
    """Return (measure, data) -> figure; empty if they cannot be read, such as those of another version."""
    try:
        record = read_object(folder / "entail.json")
        figures: dict[tuple[str, str], float] = {}
        for key, value in _figures(record.get("figures") or {}):
            figures.setdefault(key, value)
        return figures
    except (EncoderError, TypeError, ValueError, KeyError, AttributeError):
        return {}


def _figures(figures: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], float]]:
    stored = read_stored(figures)
    for result in (
        pair_result for metrics in stored if isinstance(metrics, PairMetrics) for pair_result in metrics.sets
    ):
        data = f"{result.data}, {result.n:,} pairs"
        if result.question == "direction":
            yield ("direction", data), result.accuracy
            if result.longer:
                yield ("direction, longer entailed", data), result.longer[0]
            continue
        yield ("NLI accuracy", data), result.accuracy
        if result.auprc is not None:
            yield ("NLI AUPRC", data), result.auprc
    for metrics in stored:
        if isinstance(metrics, ChainMetrics) and metrics.method == "arcf":  # not shared words
            yield ("MAP of chains", metrics.conditions), metrics.map
    for name, measure in _OF_TRAINING.items():
        value = (figures.get("dev") or {}).get(name)
        if isinstance(value, int | float):
            yield (measure, OWN_DEV), float(value)
