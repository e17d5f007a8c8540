"""Metrics of a model out of result files, found by the revision that was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from entail.encoders.weights import read_json
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
)

_ABOUT = ("commit", "seed", "hardware", "command", "finished")
_PRECISIONS = ("", "bf16", "openvino")
"""Suffixes of vector revisions, the default first."""

_QUESTIONS = {"nli": "majority", "direction": "length_baseline"}
"""Question about pairs -> name of its baseline in result files."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Identity of a model in result files.

    Attributes:
        revision: Revision of the model, `name@digest`; None where unknown.
        base: Revision of its base, None without one.
        command: Command that measures the model.
    """

    revision: str | None
    base: str | None = None
    command: str = "entail evaluate"


def read_metrics(file: Path, weights: Weights) -> Metrics:
    """Return a model's metrics out of a result file, with those of its base where they are in it.

    Figures belong to weights: those of another training under the same name are refused.

    Args:
        file: Output of `entail evaluate ... --out`, `scripts/evaluate_baselines.py`,
            `scripts/reproduce_gausscse.py` or `scripts/reproduce_tuning.py`.
        weights: The model.

    Raises:
        EncoderError: If it is no result file or does not contain figures of these weights.
    """
    if not file.is_file():
        raise EncoderError(f"{file.name}: expected a result file, found none of this name")
    record = read_json(file)
    if not isinstance(record, dict) or not isinstance(record.get("figures"), dict):
        raise EncoderError(
            f"{file.name}: expected a result file with 'figures', as `entail evaluate ... --out` writes it, "
            "found something else"
        )
    figures = record["figures"]
    shared = {
        "source": file.name.partition(".")[0],
        "about": {name: record[name] for name in _ABOUT if name in record},
    }
    try:
        for find in (_pairs, _passages, _retrieval, _chains):
            if (found := find(figures, weights, shared)) is not None:
                return found
        others = ", ".join(dict.fromkeys(_revisions(figures))) or "none"
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise EncoderError(
            f"{file.name}: expected figures as `entail evaluate ... --out` writes them, found something else "
            f"({error}); measure the model again: {weights.command} --out FILE"
        ) from error
    raise EncoderError(
        f"{file.name}: expected figures of {weights.revision}, found those of {others}; measure these "
        f"weights: {weights.command} --out FILE"
    )


def _pairs(figures: Mapping[str, Any], weights: Weights, shared: Mapping[str, Any]) -> Metrics | None:
    sets = [
        {
            **{key: row.get(key) for key in ("n", "accuracy", "interval", "auprc")},
            "data": name,
            "question": question,
            "baseline": row[baseline],
            "longer": [longer["accuracy"], longer["n"]] if longer and longer["n"] else None,
        }
        for name, row in _pair_rows(figures, "pairs")
        for question, baseline in _QUESTIONS.items()
        if _same(row["revision"], weights.revision) and baseline in row
        for longer in [row.get("longer_entailed")]
    ]
    return PairMetrics.from_json({**shared, "sets": sets}) if sets else None


def _passages(figures: Mapping[str, Any], weights: Weights, shared: Mapping[str, Any]) -> Metrics | None:
    rows = list(_passage_rows(figures))
    measured = {
        precision: row
        for row in reversed(rows)
        if (precision := _precision(row["revision"], weights.revision)) is not None
    }
    precision = next((one for one in _PRECISIONS if one in measured), None)
    if precision is None:
        return None
    ours = measured[precision]
    alike = [row for row in rows if all(row[name] == ours[name] for name in ("questions", "passages"))]
    base = (row for row in alike if _precision(row["revision"], weights.base) == precision)
    words = (row for row in alike if row["retriever"] == "bm25")
    untuned = (row for row in rows if _is_untuned(row, ours))
    run = ours.get("run") or {}
    return PassageMetrics.from_json(
        {
            **{name: ours[name] for name in ("questions", "passages")},
            "source": shared["source"],
            "gold": _values(ours["gold"]),
            "answer": _values(ours.get("answer")),
            "base": _values(next(base, {}).get("gold")),
            "words": _values(next(words, {}).get("gold")),
            "untuned": _values(next(untuned, {}).get("gold")),
            "precision": precision,
            "about": {
                **shared["about"],
                **{name: ours[name] for name in ("commit", "seed", "hardware") if name in ours},
                **{name: run[name] for name in ("commit", "command", "finished") if name in run},
            },
        }
    )


def _retrieval(figures: Mapping[str, Any], weights: Weights, shared: Mapping[str, Any]) -> Metrics | None:
    runs = list(_retrieval_runs(figures))
    ours = next((run for run in runs if _same(_manifest_revision(run), weights.revision)), None)
    if ours is None:
        return None
    base = next((run for run in runs if _same(_manifest_revision(run), weights.base)), {})
    unseen = ours.get("unseen") or {}
    return RetrievalMetrics.from_json(
        {
            **shared,
            "corpus": str(ours.get("corpus", "corpus")),
            "premises": ours["manifest"].get("count"),
            "trees": ours.get("trees", figures.get("trees")),
            "queries": ours.get("queries"),
            "pairs": ours.get("pairs"),
            "encoder": {name: ours[name] for name in PROTOCOLS},
            "base": {name: base[name] for name in PROTOCOLS if base},
            "unseen": unseen.get("queries"),
            "encoder_unseen": {name: unseen[name] for name in PROTOCOLS if name in unseen},
            "reads": [_reads(ours), _reads(base)],
        }
    )


def _chains(figures: Mapping[str, Any], weights: Weights, shared: Mapping[str, Any]) -> Metrics | None:
    if not _is_chains(figures) or figures["method"] == "ensemble":
        return None
    settings = figures["settings"]
    if not _same(str(settings.get("scorer", "")), weights.revision):
        return None
    return ChainMetrics.from_json(
        {
            **shared,
            **{name: figures[name] for name in ("method", "digest", "questions", "facts", "interval")},
            "data": Path(str(figures["source"])).name,
            "map": figures["MAP"],
            "settings": {
                name: str(value)
                for name, value in settings.items()
                if name in (*RANKING_SETTINGS, "precision")
            },
        }
    )


def _revisions(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield every revision that was measured."""
    yield from map(_manifest_revision, _retrieval_runs(figures))
    yield from (str(row["revision"]) for _, row in _pair_rows(figures, "pairs"))
    yield from (str(row["revision"]) for row in _passage_rows(figures))
    if _is_chains(figures):
        yield f"{figures['method']} by {figures['settings'].get('scorer', 'no scorer')}"


def _pair_rows(figures: Mapping[str, Any], name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield data name and figures of every evaluation on pairs, wherever it is nested.

    The name is that of the data, else the closest key above that is no question.
    """
    if "accuracy" in figures and "n" in figures and figures.get("revision"):
        data = figures.get("data")
        source = str(data.get("source", name)) if isinstance(data, dict) else name
        # The bare name of a file; a data set of the Hub keeps its owner.
        yield (PurePath(source).name if PurePath(source).suffix else source), figures
        return
    for key, value in figures.items():
        if isinstance(value, dict):
            yield from _pair_rows(value, name if key in _QUESTIONS else str(key))


def _passage_rows(figures: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(figures, dict):
        if {"retriever", "revision", "questions", "passages", "gold"} <= figures.keys():
            yield figures
            return
        figures = list(figures.values())
    for inner in figures if isinstance(figures, list) else ():
        yield from _passage_rows(inner)


def _retrieval_runs(figures: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if all(isinstance(figures.get(name), dict) for name in (*PROTOCOLS, "manifest")):
        yield figures
    for value in figures.values():
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                yield from _retrieval_runs(inner)


def _is_chains(figures: Mapping[str, Any]) -> bool:
    return {"MAP", "settings", "digest", "method"} <= figures.keys()


def _is_untuned(row: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Return whether a row of `scripts/reproduce_tuning.py` is our second stage without the first."""
    budget, whole = row.get("budget"), ours.get("budget")
    return (
        row is not ours
        and row.get("arm") == "none"
        and row.get("seed") == ours.get("seed")
        and isinstance(budget, dict)
        and isinstance(whole, dict)
        and budget.items() <= whole.items()
    )


def _same(found: object, expected: str | None) -> bool:
    return _precision(found, expected) == ""


def _precision(found: object, expected: str | None) -> str | None:
    """Return the precision suffix of a revision, empty for the default; None for other weights."""
    # The part before the digest is a folder name, which may differ between machines.
    digest = (expected or "").partition("@")[2]
    measured = str(found).partition("@")[2]
    if not digest:
        return None
    return next((one for one in _PRECISIONS if measured == digest + (one and f"+{one}")), None)


def _manifest_revision(run: Mapping[str, Any]) -> str:
    return str(run["manifest"].get("revision", ""))


def _reads(run: Mapping[str, Any]) -> float | None:
    effort = run.get("effort")
    return effort.get("reads_per_accepted") if isinstance(effort, dict) else None


def _values(figures: Mapping[str, Any] | None) -> Figures:
    return {name: float(value) for name, value in (figures or {}).items() if name != "questions"}
