"""AE-Enc: train a bi-encoder on what explains and what only looks alike (Algorithms 1 and 2, equation 2)."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Unpack

import numpy as np

from entail.aeenc.config import AeencConfig
from entail.aeenc.pairs import TrainingPairs, gold_pairs, judged_pairs, sampled_pairs
from entail.aeenc.result import METHOD, AeencTraining, save_aeenc
from entail.aeenc.sampling import SampleReport, sample
from entail.aeenc.task import AeencTask, require_both_classes
from entail.data.judgements import Judgements
from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.data.text import premise_key
from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.encoders.encoder import BiEncoder
from entail.errors import TrainingError
from entail.evaluation.retrieval.premises import PremiseEvaluation, evaluate_premises
from entail.index.flat import DenseIndex
from entail.index.protocol import Floats
from entail.index.queries import QueryVectors
from entail.index.vectors import premise_vectors
from entail.progress import ProgressCallback
from entail.settings import load_settings
from entail.training.adapters.saving import require_place
from entail.training.adapters.tower import (
    Tower,
    TowerEncoder,
    cast_precision,
    require_base,
    training_device,
)
from entail.training.cards.sources import TEAM
from entail.training.distillation.cross_encoder import CrossEncoderTeacher
from entail.training.distillation.task import Distilling
from entail.training.distillation.teachers import Teaching
from entail.training.loop.distributed import from_first, world
from entail.training.loop.fit import Fitted
from entail.training.loop.task import Event, Task
from entail.training.method import Run, RunOptions
from entail.training.run import fit_method, lora_of


def train_aeenc(
    corpus: Corpus,
    config: AeencConfig,
    *,
    trees: Sequence[ExplanationTree] = (),
    judgements: Judgements | None = None,
    dev: Sequence[ExplanationTree] = (),
    dev_corpus: Corpus | None = None,
    teaching: Teaching | CrossEncoderTeacher | None = None,
    cache_dir: Path | None = None,
    run: Run | None = None,
    **options: Unpack[RunOptions],
) -> AeencTraining:
    """Train an encoder from gold trees, or from what authors accepted and rejected.

    Called in each of several processes that `torchrun` started it trains one encoder on all of them; the
    first alone evaluates, writes, and tells `progress` and `watch`.

    Args:
        corpus: The premises, candidates of ACS; see `training_corpus`.
        config: The settings.
        trees: Gold trees, which also are the oracle of ACS.
        judgements: What a team judged, instead of trees.
        dev: Trees to choose the best weights on (MAP, query excluded); without them the last are kept.
        dev_corpus: Candidates for `dev`; default: `corpus`.
        teaching: Sentences that nobody judged and what teachers, or a reader of pairs, make of them, for
            `config.distil`; queries of `trees`, `judgements` and `dev` among them are left out.
        cache_dir: Where premise vectors are cached; default: the settings' folder.
        run: Output folder, device and callbacks.
        options: Fields of `run` as keywords.

    Raises:
        TrainingError: If there is nothing to learn from, one class only, a loss that is not finite, a folder
            that holds something else, another process at work in it, or it was stopped.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If the base cannot be loaded.
    """
    import torch

    run = dataclasses.replace(run or Run(), **options)
    out = run.out
    if bool(trees) == (judgements is not None):
        raise TrainingError("expected either trees or judgements to learn from")
    if out is not None:
        require_place(out, method=METHOD)
    if (config.distil > 0) != (teaching is not None):
        raise TrainingError(
            "expected both a teaching (teachers and sentences) and distil above 0, or neither"
        )
    if isinstance(teaching, CrossEncoderTeacher) and (config.contrast or config.towers != "single"):
        raise TrainingError(
            "what a reader says is learnt as a ranking of frozen premises: expected towers=single and "
            f"contrast=0, found towers={config.towers} and contrast={config.contrast:g}"
        )
    rank, _ = world()
    progress = None if rank else run.progress
    known = Judgements.of_trees(trees) if judgements is None else judgements
    if config.restart and not known.closed:
        raise TrainingError(
            "a restart on the positives alone takes the other premises of a batch as negatives, which "
            "authors did not judge; train from gold trees, or without restart"
        )
    first = _first_pairs(corpus, config, trees, known)
    base = fetch(resolve(config.base))
    require_base(base)
    initial = resolve(config.initial) if config.initial else None
    if initial is not None and (initial.base is None or initial.base.revision != base.revision):
        raise TrainingError(f"expected an adapter on {base.name!r} to go on from, found {initial.name!r}")
    place = training_device(run.device)
    frozen = BiEncoder(base, device=place)
    cache = load_settings().vectors_dir if cache_dir is None else cache_dir
    base_premises = premise_vectors(corpus, frozen, cache_dir=cache, progress=progress)

    torch.manual_seed(config.seed)
    towers = _towers(config, base, place, initial.path if initial else None)
    queries = towers["queries"]
    premises = towers.get("premises", queries if config.towers == "siamese" else None)
    encoder = TowerEncoder(out.name if out else "training", queries, premises, frozen)
    indexes = _Indexes(encoder, frozen, cache, progress)

    def resample() -> tuple[TrainingPairs, SampleReport]:
        start = known.roots if config.start == "hypotheses" and known.roots else None
        found = sample(corpus, known, indexes.of(corpus), k=config.k, start=start, progress=progress)
        return sampled_pairs(corpus, found), found.report

    def evaluate() -> tuple[float, dict[str, float]] | None:
        if not dev:
            return None
        return dev_figures(evaluate_premises(dev_corpus or corpus, dev, indexes.of(dev_corpus or corpus)))

    task = AeencTask(
        config,
        corpus,
        first,
        known,
        queries=queries,
        premises=premises,
        base_premises=base_premises,
        base_queries=_base_queries(frozen, corpus, base_premises),
        resample=resample,
        evaluate=evaluate,
    )
    whole: Task = task
    if teaching is not None:
        teaching = teaching.without({*known.queries, *gold_children(dev)})
        if config.contrast and isinstance(teaching, Teaching):
            teaching = teaching.apart(base_premises, weight=config.contrast)
        whole = Distilling(
            task,
            teaching,
            queries,
            premises=task.base_premises,
            weight=config.distil,
            sentences=config.sentences,
            seed=config.seed,
        )
    told = 0

    def watched(event: Event) -> None:
        nonlocal told
        if len(task.warnings) > told:
            told = len(task.warnings)
            event = dataclasses.replace(event, warning=task.warnings[-1])
        if run.watch is not None:
            run.watch(event)

    fitted = fit_method(
        whole,
        {f"{name}.{key}": p for name, tower in towers.items() for key, p in tower.parameters.items()},
        config,
        base=base,
        bound_to={
            "corpus": corpus.hash[:12],
            "data": _digest(first.digest, known.closed, known.accepted, known.rejected, known.roots),
            **({"initial": str(initial.revision)} if initial else {}),
            **({"teaching": teaching.digest} if teaching else {}),
            "dev": _digest((dev_corpus or corpus).hash, [tree.pairs for tree in dev]),
        },
        epochs=config.epochs_in_all,
        patience=config.patience or None,
        run=dataclasses.replace(run, watch=watched),
    )
    training = AeencTraining(
        config=config,
        fitted=fitted,
        counts=task.pairs.counts,
        pairs=task.pairs,
        samples=tuple(task.samples),
        warnings=(*task.warnings, *_warnings(fitted)),
        folder=out,
        teachers=teaching.teachers if teaching else (),
        sentences=len(teaching.sentences) if teaching else 0,
        data=tuple(run.data) or ((TEAM,) if judgements is not None else ()),
    )
    if out is not None:
        from_first(lambda: save_aeenc(out, training, towers, base))
    return training


def dev_figures(measured: PremiseEvaluation) -> tuple[float, dict[str, float]]:
    """Return what the best weights are chosen by, MAP with the query excluded, and the main figures."""
    figures = measured.figures()
    names = ("MAP", "NDCG", "Hit@10", "Hit@50")
    chosen = {
        f"{protocol}.{n}": figures[protocol][n] for protocol in ("query_excluded", "paper") for n in names
    }
    return chosen["query_excluded.MAP"], chosen


def _warnings(fitted: Fitted) -> tuple[str, ...]:
    if fitted.best is None or fitted.best.score > fitted.evaluations[0].score:
        return ()
    return (
        f"no weights did better on dev than those at the start (MAP {fitted.best.score:.4f} against "
        f"{fitted.evaluations[0].score:.4f}), and the best of them were kept all the same; lower the "
        "learning rate, raise alpha, or sample more rounds",
    )


class _Indexes:
    """Indexes over the towers as they are; with frozen premises one set of vectors a corpus serves always."""

    def __init__(
        self, encoder: TowerEncoder, frozen: BiEncoder, cache: Path, progress: ProgressCallback | None
    ) -> None:
        self._encoder, self._frozen, self._cache, self._progress = encoder, frozen, cache, progress
        self._kept: dict[str, DenseIndex] = {}

    def of(self, corpus: Corpus) -> DenseIndex:
        """Return an index that ranks by the weights of this moment."""
        self._encoder.moved()
        if self._encoder.premise_revision != self._frozen.premise_revision:
            vectors = self._encoder.encode_premises(corpus.texts, progress=self._progress)
            return DenseIndex(self._encoder, corpus, vectors)
        if corpus.hash not in self._kept:
            vectors = premise_vectors(corpus, self._frozen, cache_dir=self._cache, progress=self._progress)
            self._kept[corpus.hash] = DenseIndex(self._frozen, corpus, vectors)
        return self._kept[corpus.hash].by(self._encoder)


def _base_queries(
    frozen: BiEncoder, corpus: Corpus, base_premises: Floats
) -> Callable[[Sequence[str]], Floats]:
    """Return what gives the base's query vectors: those of premises are known, others encoded once."""
    remembered = QueryVectors(frozen, capacity=1 << 20)

    def encode(texts: Sequence[str]) -> Floats:
        places = ((text, corpus.position(text)) for text in texts)
        also = {premise_key(text): base_premises[place] for text, place in places if place is not None}
        return remembered.encode(texts, also=also)

    return encode


def _towers(config: AeencConfig, base: EncoderEntry, device: str, initial: Path | None) -> dict[str, Tower]:
    lora = lora_of(config)
    precision = cast_precision(config.precision, device)
    names = ("queries", "premises") if config.towers == "dual" else ("queries",)
    return {
        name: Tower(
            base, lora=lora, device=device, precision=precision, dropout=config.dropout, initial=initial
        )
        for name in names
    }


def _first_pairs(
    corpus: Corpus, config: AeencConfig, trees: Sequence[ExplanationTree], known: Judgements
) -> TrainingPairs:
    pairs = gold_pairs(corpus, trees) if trees else judged_pairs(corpus, known)
    if trees and not config.gold:
        nothing = tuple(np.empty(0, dtype=np.int64) for _ in pairs.queries)
        pairs = dataclasses.replace(pairs, negatives=nothing)
    require_both_classes(pairs, config, closed=known.closed)
    if pairs.missing:
        warnings.warn(
            f"{len(pairs.missing)} gold premises are not in corpus {corpus.name!r} and are not learnt from; "
            f"the first: {pairs.missing[0]!r}; training_corpus() adds them",
            stacklevel=3,
        )
    return pairs


def _digest(*parts: object) -> str:
    def plain(value: object) -> object:
        return dict(value) if isinstance(value, Mapping) else str(value)

    said = json.dumps(parts, default=plain, ensure_ascii=False)
    return hashlib.sha256(said.encode()).hexdigest()[:12]
