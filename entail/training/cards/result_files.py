"""Metrics of a model out of result files, found by the revision that was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from statistics import mean, stdev
from typing import Any

from entail.data.stored import read_json
from entail.errors import EncoderError
from entail.training.cards.metrics import (
    PROTOCOLS,
    RANKING_SETTINGS,
    ChainMetrics,
    Figures,
    Metrics,
    PairMetrics,
    PassageMetrics,
    RetrievalMetrics,
    Spread,
)

_ABOUT = ("commit", "seed", "hardware", "command", "finished")
_PRECISIONS = ("", "bf16")
"""Suffixes of vector revisions, the default first."""

_QUESTIONS = {"nli": "majority", "direction": "length_baseline"}
"""Question about pairs -> name of its baseline in result files."""

_PASSAGE_FIELDS = {"retriever", "revision", "questions", "passages", "gold"}

Record = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Revisions of a model and its base, `name@digest`, in result files, and the command that measures it."""

    revision: str | None
    base: str | None = None
    command: str = "entail evaluate"


def read_metrics(file: Path, weights: Weights) -> Metrics:
    """Return a model's metrics out of a result file, with those of its base where they are in it.

    Figures belong to weights: those of another training under the same name are refused.

    Args:
        file: Output of `entail evaluate ... --out`,
            `scripts/reproduce_gausscse.py` or `scripts/reproduce_tuning.py`.
        weights: The model.

    Raises:
        EncoderError: If it is no result file or does not contain figures of these weights.
    """
    if not file.is_file():
        raise EncoderError(f"{file.name}: expected a result file, found none of this name")
    remedy = f"measure the model again: {weights.command} --out FILE"
    result = read_json(file, object, error=EncoderError, remedy=remedy)
    if not isinstance(result, dict) or not isinstance(result.get("figures"), dict):
        raise EncoderError(
            f"{file.name}: expected a result file with 'figures', as `entail evaluate ... --out` writes it, "
            f"found something else; {remedy}"
        )
    figures = result["figures"]
    shared = {
        "source": file.name.partition(".")[0],
        "about": {name: result[name] for name in _ABOUT if name in result},
    }
    try:
        for find in (_pairs, _passages, _retrieval, _chains):
            if (metrics := find(figures, weights, shared)) is not None:
                return metrics
        revisions = ", ".join(dict.fromkeys(_revisions(figures))) or "none"
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise EncoderError(
            f"{file.name}: expected figures as `entail evaluate ... --out` writes them, found something else "
            f"({error}); {remedy}"
        ) from error
    raise EncoderError(
        f"{file.name}: expected figures of {weights.revision}, found those of {revisions}; measure these "
        f"weights: {weights.command} --out FILE"
    )


def _pairs(figures: Record, weights: Weights, shared: Record) -> Metrics | None:
    read = figures.get("read") or {}
    runs = _runs_by_seed(figures, weights)
    sets = [
        {
            **{key: row.get(key) for key in ("n", "accuracy", "interval", "auprc")},
            "data": name,
            "question": question,
            "baseline": row[baseline],
            "longer": [longer["accuracy"], longer["n"]] if longer and longer["n"] else None,
            "seeds": _spread([run["on"][name][question]["accuracy"] for run in runs]),
            "selects": name != "dev" and name in read and read[name] == read.get("dev"),
        }
        for name, row in _pair_rows(figures)
        for question, baseline in _QUESTIONS.items()
        if _precision(row["revision"], weights.revision) == "" and baseline in row
        for longer in [row.get("longer_entailed")]
    ]
    return PairMetrics.from_json({**shared, "sets": sets}) if sets else None


def _runs_by_seed(figures: Record, weights: Weights) -> list[Record]:
    """Return the runs of a row of `scripts/reproduce_gausscse.py`, one a seed, with these weights."""
    rows = figures.get("rows")
    for row in rows.values() if isinstance(rows, dict) else ():
        runs = [run for seed, run in row.items() if seed.isdecimal()]
        revisions = (pair_row["revision"] for run in runs for _, pair_row in _pair_rows(run))
        if any(_precision(revision, weights.revision) == "" for revision in revisions):
            return runs
    return []


def _spread(values: Sequence[float]) -> Spread | None:
    return (mean(values), stdev(values), len(values)) if len(values) > 1 else None


def _passages(figures: Record, weights: Weights, shared: Record) -> Metrics | None:
    rows = _passage_rows(figures)
    measured = {_precision(row["revision"], weights.revision): row for row in reversed(rows)}
    precision = next((suffix for suffix in _PRECISIONS if suffix in measured), None)
    if precision is None:
        return None
    own_row = measured[precision]
    alike = [row for row in rows if all(row[name] == own_row[name] for name in ("questions", "passages"))]
    base = (row for row in alike if _precision(row["revision"], weights.base) == precision)
    words = (row for row in alike if row["retriever"] == "bm25")
    untuned = (row for row in rows if _is_untuned(row, own_row))
    alone = [row for row in rows if "arm" in own_row and _key(row) == _key(own_row)]
    spreads = {name: _spread([row["gold"][name] for row in alone]) for name in _values(own_row["gold"])}
    about = {name: own_row[name] for name in ("commit", "seed", "hardware", "finished") if name in own_row}
    run = own_row.get("run") or {}
    about |= {name: run[name] for name in ("commit", "command", "finished") if name in run}
    return PassageMetrics.from_json(
        {
            **{name: own_row[name] for name in ("questions", "passages")},
            "source": shared["source"],
            "gold": _values(own_row["gold"]),
            "answer": _values(own_row.get("answer")),
            "base": _values(next(base, {}).get("gold")),
            "words": _values(next(words, {}).get("gold")),
            "untuned": _values(next(untuned, {}).get("gold")),
            "seeds": {name: spread for name, spread in spreads.items() if spread is not None},
            "precision": precision,
            "about": {**shared["about"], **about},
        }
    )


def _key(row: Record) -> tuple[object, object]:
    """Return what the seeds of one arm of `scripts/reproduce_tuning.py` share."""
    return row.get("arm"), row.get("budget")


def _retrieval(figures: Record, weights: Weights, shared: Record) -> Metrics | None:
    runs = _retrieval_runs(figures)
    own_run, base = (
        next((run for run in runs if _precision(_manifest_revision(run), revision) == ""), {})
        for revision in (weights.revision, weights.base)
    )
    if not own_run:
        return None
    unseen = own_run.get("unseen") or {}
    return RetrievalMetrics.from_json(
        {
            **shared,
            "corpus": str(own_run.get("corpus", "corpus")),
            "premises": own_run["manifest"].get("count"),
            "trees": own_run.get("trees", figures.get("trees")),
            "queries": own_run.get("queries"),
            "pairs": own_run.get("pairs"),
            "encoder": {name: own_run[name] for name in PROTOCOLS},
            "base": {name: base[name] for name in PROTOCOLS if base},
            "unseen": unseen.get("queries"),
            "encoder_unseen": {name: unseen[name] for name in PROTOCOLS if name in unseen},
            "reads": [(run.get("effort") or {}).get("reads_per_accepted") for run in (own_run, base)],
        }
    )


def _chains(figures: Record, weights: Weights, shared: Record) -> Metrics | None:
    if not _is_chains(figures) or figures["method"] == "ensemble":
        return None
    settings = figures["settings"]
    if _precision(settings.get("scorer", ""), weights.revision) != "":
        return None
    setting_names = (*RANKING_SETTINGS, "precision")
    return ChainMetrics.from_json(
        {
            **shared,
            **{name: figures[name] for name in ("method", "digest", "questions", "facts", "interval")},
            "data": Path(str(figures["source"])).name,
            "map": figures["MAP"],
            "settings": {name: str(value) for name, value in settings.items() if name in setting_names},
        }
    )


def _revisions(figures: Record) -> Iterator[str]:
    """Yield every revision that was measured."""
    yield from map(_manifest_revision, _retrieval_runs(figures))
    yield from (str(row["revision"]) for _, row in _pair_rows(figures))
    yield from (str(row["revision"]) for row in _passage_rows(figures))
    if _is_chains(figures):
        yield f"{figures['method']} by {figures['settings'].get('scorer', 'no scorer')}"


def _objects(value: object, name: str = "pairs") -> Iterator[tuple[str, Record]]:
    """Yield every object within a JSON value, with the closest key above it that is no question."""
    if isinstance(value, dict):
        yield name, value
        for key, inner in value.items():
            yield from _objects(inner, name if key in _QUESTIONS else str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner, name)


def _pair_rows(figures: Record) -> Iterator[tuple[str, Record]]:
    """Yield the name of the data and the figures of every evaluation on pairs."""
    for name, row in _objects(figures):
        if "accuracy" in row and "n" in row and row.get("revision"):
            data = row.get("data")
            source = str(data.get("source", name)) if isinstance(data, dict) else name
            # The bare name of a file; a data set of the Hub keeps its owner.
            yield (PurePath(source).name if PurePath(source).suffix else source), row


def _passage_rows(figures: Record) -> list[Record]:
    return [row for _, row in _objects(figures) if row.keys() >= _PASSAGE_FIELDS]


def _retrieval_runs(figures: Record) -> list[Record]:
    names = (*PROTOCOLS, "manifest")
    return [run for _, run in _objects(figures) if all(isinstance(run.get(name), dict) for name in names)]


def _is_chains(figures: Record) -> bool:
    return {"MAP", "settings", "digest", "method"} <= figures.keys()


def _is_untuned(row: Record, own_row: Record) -> bool:
    """Return whether a row of `scripts/reproduce_tuning.py` is our second stage without the first."""
    budget, whole = row.get("budget"), own_row.get("budget")
    return (
        row is not own_row
        and row.get("arm") == "none"
        and row.get("seed") == own_row.get("seed")
        and isinstance(budget, dict)
        and isinstance(whole, dict)
        and budget.items() <= whole.items()
    )


def _precision(revision: object, expected: str | None) -> str | None:
    """Return the precision suffix of a revision, empty for the default; None for other weights."""
    # The part before the digest is a folder name, which may differ between machines.
    digest = (expected or "").partition("@")[2]
    measured = str(revision).partition("@")[2]
    if not digest:
        return None
    return next((suffix for suffix in _PRECISIONS if measured == digest + (suffix and f"+{suffix}")), None)


def _manifest_revision(run: Record) -> str:
    return str(run["manifest"].get("revision", ""))


def _values(figures: Record | None) -> Figures:
    return {name: float(value) for name, value in (figures or {}).items() if name != "questions"}
