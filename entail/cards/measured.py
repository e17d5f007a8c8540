"""Figures of an encoder and of its base, taken out of a result file and remembered beside the weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from entail.cards.measured_pairs import MeasuredPairs, pair_figures, revisions
from entail.cards.measured_passages import MeasuredPassages, passage_figures, passage_revisions
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.weights import read_json
from entail.errors import EncoderError

PROTOCOLS = {"paper": "query among the candidates", "query_excluded": "query excluded"}
"""Name of a protocol in result files -> in words."""

_COUNTS = ("premises", "trees", "queries", "pairs", "unseen")
_ABOUT = ("commit", "seed", "hardware", "command", "finished")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one result file says of an encoder.

    Attributes:
        source: Stem of the file's name.
        corpus: Name of the candidates' corpus.
        premises: How many candidates.
        trees: How many trees.
        queries: How many of their parents were asked for.
        pairs: How many children were to be found.
        encoder: Protocol -> measure -> value.
        base: The same of the untrained base, empty where it was not measured.
        unseen: How many of the queries it was not trained on, None where it was trained on none of them.
        encoder_unseen: Its figures on those.
        reads: Candidates that the simulated author reads an accepted premise; encoder, then base.
        about: Commit, seed, hardware, command and time of the measurement.
    """

    source: str
    corpus: str
    premises: int | None = None
    trees: int | None = None
    queries: int | None = None
    pairs: int | None = None
    encoder: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    base: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    unseen: int | None = None
    encoder_unseen: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    reads: tuple[float | None, float | None] = (None, None)
    about: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return {**asdict(self), "reads": list(self.reads)}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Measured:
        """Return what `to_json` gave; what else stands there is left out.

        Raises:
            TypeError, ValueError: If something is not of its type, or missing.
        """
        known = {part.name: told[part.name] for part in fields(cls) if part.name in told}
        first, second = known.get("reads") or (None, None)
        return cls(
            **{
                **known,
                **{name: None if known.get(name) is None else int(known[name]) for name in _COUNTS},
                **{side: _figures(known.get(side) or {}) for side in ("encoder", "base", "encoder_unseen")},
                "about": dict(known.get("about") or {}),
                "reads": (_number(first), _number(second)),
            }
        )


def read_measured(file: Path, entry: EncoderEntry) -> Measured | MeasuredPairs | MeasuredPassages:
    """Take an encoder's figures out of a result file, and its base's where they stand there, too.

    Figures belong to weights, so they are found by the revision that was measured: a file of an older
    training under the same name is refused.

    Args:
        file: As `entail evaluate ... --out`, `scripts/evaluate_baselines.py`,
            `scripts/reproduce_gausscse.py` or `scripts/reproduce_tuning.py` writes it.
        entry: The encoder.

    Raises:
        EncoderError: If it is no result file, or does not hold this encoder's figures.
    """
    told = _read_result(file)
    source = file.name.partition(".")[0]
    about = {name: told[name] for name in _ABOUT if name in told}
    sets = pair_figures(told["figures"], digest=(entry.revision or "").partition("@")[2])
    if sets:
        return MeasuredPairs(source=source, sets=sets, about=about)
    passages = passage_figures(told["figures"], entry, source=source, about=about)
    if passages is not None:
        return passages
    runs = list(_runs(told["figures"]))
    ours = next((run for run in runs if _is_of(run, entry)), None)
    if ours is None:
        elsewhere = [*revisions(told["figures"]), *passage_revisions(told["figures"])]
        found = ", ".join([*map(_revision, runs), *elsewhere]) or "none"
        raise EncoderError(
            f"{file.name}: expected figures of {entry.revision}, found those of {found}; measure these "
            f"weights: {_again(entry)} --out FILE"
        )
    base = next((run for run in runs if entry.base and _is_of(run, entry.base)), {})
    manifest = ours["manifest"]
    unseen = ours.get("unseen") or {}
    return Measured(
        source=source,
        corpus=str(ours.get("corpus", "corpus")),
        premises=manifest.get("count"),
        trees=ours.get("trees", told["figures"].get("trees")),
        queries=ours.get("queries"),
        pairs=ours.get("pairs"),
        encoder=_figures({protocol: ours[protocol] for protocol in PROTOCOLS}),
        base=_figures({protocol: base[protocol] for protocol in PROTOCOLS} if base else {}),
        unseen=unseen.get("queries"),
        encoder_unseen=_figures({protocol: unseen[protocol] for protocol in PROTOCOLS if protocol in unseen}),
        reads=(_reads(ours), _reads(base)),
        about=about,
    )


def _again(entry: EncoderEntry) -> str:
    """Return the command that measures an encoder at what it is for."""
    if entry.gaussian:
        return f"entail evaluate nli --data DATA --encoder {entry.name}"
    if entry.method in ("tuning", "dpr"):
        return f"entail evaluate passages --passages FILE --questions FILE --encoder {entry.name}"
    base = entry.base.name if entry.base else "minilm"
    return f"entail evaluate premises --retriever {base} --retriever {entry.name}"


def _read_result(file: Path) -> Mapping[str, Any]:
    if not file.is_file():
        raise EncoderError(f"{file.name}: expected a result file, found none of this name")
    told = read_json(file)
    if not isinstance(told, dict) or not isinstance(told.get("figures"), dict):
        raise EncoderError(
            f"{file.name}: expected a result file with 'figures', as `entail evaluate premises --out` writes "
            "it, found something else"
        )
    return told


def _runs(figures: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what was measured of each retriever, wherever in the figures it stands."""
    if all(isinstance(figures.get(name), dict) for name in (*PROTOCOLS, "manifest")):
        yield figures
    for value in figures.values():
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                yield from _runs(inner)


def _revision(run: Mapping[str, Any]) -> str:
    return str(run["manifest"].get("revision", ""))


def _is_of(run: Mapping[str, Any], entry: EncoderEntry) -> bool:
    # What comes before the digest is the folder's name, which may be another one elsewhere.
    found, expected = _revision(run).partition("@")[2], (entry.revision or "").partition("@")[2]
    return bool(expected) and found == expected


def _reads(run: Mapping[str, Any]) -> float | None:
    effort = run.get("effort")
    return _number(effort.get("reads_per_accepted") if isinstance(effort, dict) else None)


def _figures(told: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    return {
        str(protocol): {str(measure): float(value) for measure, value in dict(values).items()}
        for protocol, values in told.items()
    }


def _number(value: Any) -> float | None:  # noqa: ANN401 - JSON is of any type
    return None if value is None else float(value)
