"""AE-Enc: train a bi-encoder on what explains and what only looks alike (Algorithms 1 and 2, equation 2)."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from entail.aeenc.config import AeencConfig
from entail.aeenc.pairs import TrainingPairs, gold_pairs, judged_pairs, sampled_pairs
from entail.aeenc.sampling import SampleReport, sample
from entail.aeenc.task import AeencTask, require_both_classes
from entail.data.judgements import Judgements
from entail.data.records import Corpus, ExplanationTree
from entail.encoders.biencoder import BiEncoder
from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.errors import TrainingError
from entail.evaluation.premises import PremiseEvaluation, evaluate_premises
from entail.index.dense import DenseIndex
from entail.index.protocol import Floats
from entail.index.vectors import premise_vectors
from entail.progress import ProgressCallback
from entail.settings import load_settings
from entail.training.loop import Evaluated, Event, Fitted, Schedule, Watch, fit
from entail.training.tower import Lora, Tower, cast_precision, training_device

METHOD = "aeenc"

COLLAPSED = 0.05
"""Embedding variance below which the queries of a batch have all but become one vector."""


@dataclass(frozen=True)
class AeencTraining:
    """What a training came to.

    Attributes:
        config: Its settings.
        fitted: Evaluations and times.
        counts: Pairs that it ended with.
        dropped: Rule -> pairs that were left out.
        missing: Gold premises that the corpus lacks.
        samples: The report of each round's ACS pass.
        warnings: What looked wrong, in words.
        folder: Where the encoder was written; None if it was not.
    """

    config: AeencConfig
    fitted: Fitted
    counts: Mapping[str, int]
    dropped: Mapping[str, int]
    missing: tuple[str, ...]
    samples: tuple[SampleReport, ...]
    warnings: tuple[str, ...]
    folder: Path | None

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types, without the folder's place."""
        return {
            "config": asdict(self.config),
            "fitted": asdict(self.fitted),
            "counts": dict(self.counts),
            "dropped": dict(self.dropped),
            "missing": {"count": len(self.missing), "texts": list(self.missing)},
            "samples": [report.to_json() for report in self.samples],
            "warnings": list(self.warnings),
            "name": self.folder.name if self.folder else None,
        }


class TowerEncoder:
    """An `Encoder` over towers in training; the weights are those of the moment.

    Args:
        name: How to call it.
        queries: The query tower.
        premises: The premise tower; None where the base stays in its place.
        base: The base, which then encodes premises.
    """

    def __init__(self, name: str, queries: Tower, premises: Tower | None, base: BiEncoder) -> None:
        self.name, self._queries, self._premises, self._base = name, queries, premises, base
        self.step = 0

    @property
    def revision(self) -> str:
        """Bound to the step, so that no vector of other weights is taken for its own."""
        return f"{self.name}@step-{self.step}"

    @property
    def premise_revision(self) -> str:
        """The base's where the premise tower is frozen."""
        return self._base.revision if self._premises is None else self.revision

    @property
    def dimension(self) -> int:
        """Length of a vector, d."""
        return self._queries.dimension

    @property
    def symmetric(self) -> bool:
        """Whether both towers are one."""
        return self._premises is self._queries

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors, shape (texts, d)."""
        return self._queries.encode(texts)

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors, shape (texts, d)."""
        if self._premises is None:
            return self._base.encode_premises(texts, progress=progress)
        return self._premises.encode(texts)


def train_aeenc(
    corpus: Corpus,
    config: AeencConfig,
    *,
    trees: Sequence[ExplanationTree] = (),
    judgements: Judgements | None = None,
    dev: Sequence[ExplanationTree] = (),
    dev_corpus: Corpus | None = None,
    out: Path | None = None,
    work: Path | None = None,
    resume: bool = True,
    device: str | None = None,
    cache_dir: Path | None = None,
    progress: ProgressCallback | None = None,
    watch: Watch | None = None,
    stop: Callable[[], bool] | None = None,
) -> AeencTraining:
    """Train an encoder from gold trees, or from what authors accepted and rejected.

    Args:
        corpus: The premises.
        config: The settings.
        trees: Gold trees, which also are the oracle of ACS.
        judgements: What a team judged, instead of trees.
        dev: Trees to choose the best weights on (MAP, query excluded); without them the last are kept.
        dev_corpus: Candidates for `dev`; default: `corpus`.
        out: Folder for the encoder; None keeps nothing.
        work: Folder for checkpoints; default: `out`'s name with `.training`.
        resume: Whether to go on from a checkpoint that is there.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.
        cache_dir: Where premise vectors are cached; default: the settings' folder.
        progress: Told how far it is.
        watch: Told of every step, evaluation and warning.
        stop: Asked after every step whether to stop there.

    Raises:
        TrainingError: If there is nothing to learn from, the loss is not finite, or it was stopped.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If the base cannot be loaded.
    """
    import torch

    if bool(trees) == (judgements is not None):
        raise TrainingError("expected either trees or judgements to learn from")
    known = Judgements.of_trees(trees) if judgements is None else judgements
    first = _first_pairs(corpus, config, trees, known)
    base = fetch(resolve(config.base))
    frozen = BiEncoder(base, device=device)
    cache = load_settings().vectors_dir if cache_dir is None else cache_dir
    base_premises = premise_vectors(corpus, frozen, cache_dir=cache, progress=progress)

    torch.manual_seed(config.seed)
    place = training_device(device)
    towers = _towers(config, base, place)
    queries = towers["queries"]
    premises = towers.get("premises", queries if config.towers == "siamese" else None)
    encoder = TowerEncoder(out.name if out else "training", queries, premises, frozen)
    samples: list[SampleReport] = []
    complaints: list[str] = []

    def index(of: Corpus) -> DenseIndex:
        encoder.step += 1
        vectors = (
            premise_vectors(of, frozen, cache_dir=cache, progress=progress)
            if premises is None
            else encoder.encode_premises(of.texts)
        )
        return DenseIndex(encoder, of, vectors)

    def resample(round_: int) -> TrainingPairs:
        found = sample(
            corpus,
            known,
            index(corpus),
            k=config.k,
            start=known.roots if config.start == "hypotheses" and known.roots else None,
        )
        samples.append(found.report)
        return sampled_pairs(corpus, found)

    def evaluate() -> tuple[float, dict[str, float]] | None:
        if not dev:
            return None
        measured = evaluate_premises(dev_corpus or corpus, dev, index(dev_corpus or corpus))
        return dev_figures(measured)

    def watched(event: Event) -> None:
        if event.terms.get("variance", 1.0) < COLLAPSED and not complaints:
            complaints.append(
                f"at step {event.step} the queries of a batch have collapsed into nearly one vector "
                f"(variance {event.terms['variance']:.3f}, expected above {COLLAPSED}); lower the learning "
                "rate or raise alpha"
            )
            event = Event(
                event.step, event.steps, event.epoch, event.terms, event.learning_rate, None, complaints[0]
            )
        if watch is not None:
            watch(event)

    task = AeencTask(
        config,
        corpus,
        first,
        known,
        queries=queries,
        premises=premises,
        base_premises=base_premises,
        base_queries=lambda texts: frozen.encode_queries(list(texts)),
        resample=resample,
        evaluate=evaluate,
    )
    fitted = fit(
        task,
        {f"{name}.{key}": p for name, tower in towers.items() for key, p in tower.parameters.items()},
        Schedule(
            epochs=config.epochs_in_all,
            learning_rate=config.learning_rate,
            weight_decay=config.weight_decay,
            seed=config.seed,
        ),
        folder=work or (out.with_name(f"{out.name}.training") if out else None),
        fingerprint={
            "base": str(base.revision),
            "corpus": corpus.hash[:12],
            "data": _digest(first, known),
            "config": _config_digest(config),
        },
        resume=resume,
        patience=config.patience or None,
        progress=progress,
        watch=watched,
        stop=stop,
    )
    training = AeencTraining(
        config=config,
        fitted=fitted,
        counts=task.pairs.counts,
        dropped=dict(task.pairs.dropped),
        missing=task.pairs.missing,
        samples=tuple(samples),
        warnings=tuple(complaints),
        folder=out,
    )
    if out is not None:
        save_aeenc(out, training, towers, base)
    return training


def dev_figures(measured: PremiseEvaluation) -> tuple[float, dict[str, float]]:
    """Return what the best weights are chosen by, MAP with the query excluded, and the main figures."""
    figures = measured.figures()
    names = ("MAP", "NDCG", "Hit@10", "Hit@50")
    chosen = {
        f"{protocol}.{n}": figures[protocol][n] for protocol in ("query_excluded", "paper") for n in names
    }
    return chosen["query_excluded.MAP"], chosen


def save_aeenc(out: Path, training: AeencTraining, towers: Mapping[str, Tower], base: EncoderEntry) -> None:
    """Write the query tower, `entail.json`, and for dual the premise tower beside it."""
    config, best = training.config, training.fitted.best
    about = {
        "method": METHOD,
        "base": base.name,
        "base_revision": base.revision,
        "towers": config.towers,
        "licence": base.licence or "apache-2.0",
        "config": asdict(config),
        "trained_on": {**training.counts, "missing": len(training.missing)},
        "dev": dict(best.figures) if best else None,
        "epoch": best.epoch if best else None,
    }
    towers["queries"].save(out, card=about)
    if "premises" in towers:
        towers["premises"].save(out / "premise_tower", card=about)


def _towers(config: AeencConfig, base: EncoderEntry, device: str) -> dict[str, Tower]:
    lora = Lora(rank=config.rank, alpha=2 * config.rank) if config.tuning == "lora" else None
    precision = cast_precision(config.precision, device)
    names = ("queries", "premises") if config.towers == "dual" else ("queries",)
    return {name: Tower(base, lora=lora, device=device, precision=precision) for name in names}


def _first_pairs(
    corpus: Corpus, config: AeencConfig, trees: Sequence[ExplanationTree], known: Judgements
) -> TrainingPairs:
    pairs = gold_pairs(corpus, trees) if trees else judged_pairs(corpus, known)
    if trees and not config.gold:
        nothing = tuple(np.empty(0, dtype=np.int64) for _ in pairs.queries)
        pairs = TrainingPairs(
            pairs.corpus_hash, pairs.queries, pairs.positives, nothing, pairs.dropped, pairs.missing
        )
    require_both_classes(pairs, negatives_follow=bool(config.rounds or config.live_k or config.in_batch))
    if pairs.missing:
        warnings.warn(
            f"{len(pairs.missing)} gold premises are not in corpus {corpus.name!r}; "
            f"the first: {pairs.missing[0]!r}",
            stacklevel=3,
        )
    return pairs


def _digest(pairs: TrainingPairs, known: Judgements) -> str:
    said = json.dumps(
        [pairs.digest, known.closed, [[q, list(p)] for q, p in {**known.accepted}.items()]],
        ensure_ascii=False,
    )
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def _config_digest(config: AeencConfig) -> str:
    return hashlib.sha256(json.dumps(asdict(config), sort_keys=True).encode()).hexdigest()[:12]


__all__ = ["AeencTraining", "Evaluated", "TowerEncoder", "dev_figures", "save_aeenc", "train_aeenc"]
