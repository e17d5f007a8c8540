"""Training of AE-Enc: a bi-encoder that ranks explanations above similar premises (Bogatu et al. 2022)."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from entail.aeenc.config import AeencConfig
from entail.aeenc.pairs import TrainingPairs, gold_pairs, judged_pairs
from entail.aeenc.sampling import sample
from entail.aeenc.task import AeencTask, require_both_classes
from entail.data.judgements import Judgements
from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.data.text import premise_key
from entail.encoders.card import PREMISE_TOWER, read_training_queries, write_training_queries
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.encoder import BiEncoder
from entail.encoders.stock import sentence_transformer
from entail.errors import TrainingError
from entail.evaluation.retrieval.premises import PremiseEvaluation, evaluate_premises
from entail.index.dense import DenseIndex
from entail.index.vectors import QueryVectors, premise_vectors
from entail.settings import load_settings
from entail.training.adapters.saving import name_of
from entail.training.adapters.tower import Tower, TowerEncoder, save_both, save_routes
from entail.training.distillation import DistillationTask, Teaching
from entail.training.loop.task import Task
from entail.training.method import Run
from entail.training.run import Setup, Training, digest, prepare

METHOD = "aeenc"


def train_aeenc(
    corpus: Corpus,
    config: AeencConfig,
    *,
    trees: Sequence[ExplanationTree] = (),
    judgements: Judgements | None = None,
    dev: Sequence[ExplanationTree] = (),
    dev_corpus: Corpus | None = None,
    teaching: Teaching | None = None,
    premise_teaching: Teaching | None = None,
    cache_dir: Path | None = None,
    run: Run | None = None,
) -> Training[AeencConfig]:
    """Train an encoder on gold trees, or on what authors accepted and rejected.

    The result
    counts queries, positives, negatives and triplets of all rounds; `further` has the rules by which pairs
    were left out (`TrainingPairs`), gold premises that the corpus lacks, and the counts of each ACS pass.

    Args:
        corpus: Premises, the candidates of ACS; see `training_corpus`.
        config: Settings.
        trees: Gold trees, also the oracle of ACS.
        judgements: Judgements of a team, instead of trees.
        dev: Trees that select the weights (MAP, query excluded); without them the last weights are kept.
        dev_corpus: Candidates for `dev`; default: `corpus`.
        teaching: Sentences with the targets of teachers, for `config.distil`; without judged queries.
        premise_teaching: The same for the premise tower of `towers=dual`.
        cache_dir: Cache of premise vectors; default: the settings' folder.
        run: Output folder, device and callbacks.

    Raises:
        TrainingError: If positives or negatives are lacking, arguments exclude each other; see `prepare`.
    """
    if bool(trees) == (judgements is not None):
        raise TrainingError("expected either trees or judgements to learn from")
    oracle = Judgements.of_trees(trees) if judgements is None else judgements
    if config.complete:
        oracle = replace(oracle, closed=True)
    if premise_teaching is not None and config.towers != "dual":
        raise TrainingError(
            f"expected towers=dual to teach a tower for premises, found towers={config.towers}"
        )
    if (config.distil > 0) != (teaching is not None or premise_teaching is not None):
        raise TrainingError(
            "expected both a teaching (teachers and sentences) and distil above 0, or neither"
        )
    pairs = gold_pairs(corpus, trees) if trees else judged_pairs(corpus, oracle)
    if trees and not config.gold:
        pairs = replace(pairs, negatives=tuple(np.empty(0, dtype=np.int64) for _ in pairs.queries))
    require_both_classes(pairs, config, closed=oracle.closed)
    setup = prepare(config, run, method=METHOD, initial=config.initial)
    run, progress, initial = setup.run, setup.run.progress, setup.initial
    frozen = BiEncoder(_premises_of(setup), device=setup.tower["device"])
    start = frozen if initial is None else BiEncoder(initial, device=setup.tower["device"])
    cache = load_settings().vectors_dir if cache_dir is None else cache_dir
    towers = {"queries": Tower(setup.base, **setup.tower)}
    if config.towers == "dual":
        of_premises = setup.tower.copy()
        of_premises["initial"] = initial.adapter("premise") if initial else None
        towers["premises"] = Tower(setup.base, **of_premises)
    queries = towers["queries"]
    premises = towers.get("premises", queries if config.towers == "siamese" else None)
    encoder = TowerEncoder(run.out.name if run.out else "training", queries, premises, frozen)
    indexes: dict[str, DenseIndex] = {}

    def index_of(candidates: Corpus) -> DenseIndex:
        """Return an index with the current weights; the vectors of frozen premises are computed once."""
        encoder.invalidate()
        if premises is not None:
            vectors = encoder.encode_premises(candidates.texts, progress=progress)
            return DenseIndex(encoder, candidates, vectors)
        if candidates.hash not in indexes:
            vectors = premise_vectors(candidates, frozen, cache_dir=cache, progress=progress)
            indexes[candidates.hash] = DenseIndex(frozen, candidates, vectors)
        return indexes[candidates.hash].by(encoder)

    def evaluate() -> tuple[float, dict[str, float]] | None:
        if not dev:
            return None
        return dev_figures(evaluate_premises(dev_corpus or corpus, dev, index_of(dev_corpus or corpus)))

    task = AeencTask(
        config,
        corpus,
        pairs,
        oracle,
        queries=queries,
        premises=premises,
        base_premises=premise_vectors(corpus, frozen, cache_dir=cache, progress=progress),
        base_queries=QueryVectors(start, capacity=1 << 20).encode,
        resample=lambda: sample(corpus, oracle, index_of(corpus), k=config.k, progress=progress),
        evaluate=evaluate,
    )
    taught = cast(Task, task)
    if teaching is not None:
        teaching = teaching.without({*oracle.queries, *gold_children(dev)})
    both = {"queries": teaching, "premises": premise_teaching}
    teachings = {side: sentences for side, sentences in both.items() if sentences is not None}
    for side, sentences in teachings.items():
        taught = DistillationTask(
            taught,
            sentences,
            towers[side],
            weight=config.distil,
            sentences=config.sentences,
            seed=config.seed,
            term="distil" if side == "queries" else f"distil_{side}",
        )
    fitted = setup.fit(
        taught,
        {f"{name}.{key}": p for name, tower in towers.items() for key, p in tower.parameters.items()},
        bound_to={
            "corpus": corpus.hash[:12],
            "data": digest(
                [pairs.digest, oracle.closed, oracle.accepted, oracle.rejected, oracle.roots]
                + ([oracle.weights] if oracle.weights else [])
            ),
            **{f"teaching of {side}": sentences.digest for side, sentences in teachings.items()},
            "dev": digest([(dev_corpus or corpus).hash, *(tree.pairs for tree in dev)]),
        },
        epochs=config.total_epochs,
    )
    lost = task.pairs.missing
    missing = (
        f"{len(lost):,} gold premises are not in corpus {corpus.name!r} and were not trained on (extend=true "
        f"adds them); the first: {next(iter(lost), '')!r}"
    )
    training = setup.result(
        fitted,
        task.pairs.counts,
        measure="MAP",
        warnings=[missing] if lost else [],
        data=initial.card.trained_on.get("data", ()) if initial and initial.card else (),
        dropped=dict(task.pairs.dropped),
        missing=list(lost),
        samples=task.samples,
    )
    names = dict.fromkeys(name for sentences in teachings.values() for name in sentences.teachers)
    count = sum(len(sentences.sentences) for sentences in teachings.values())
    _save(training, towers, setup, task.pairs, {"sentences": count, "teachers": list(names)} if names else {})
    return training


def dev_figures(measured: PremiseEvaluation) -> tuple[float, dict[str, float]]:
    """Return the score that selects the weights, MAP with the query excluded, and the main figures."""
    figures = {
        f"{protocol}.{name}": values[name]
        for protocol, values in measured.figures().items()
        for name in ("MAP", "NDCG", "Hit@10", "Hit@50")
    }
    return figures["query_excluded.MAP"], figures


def _premises_of(setup: Setup) -> EncoderEntry:
    """Return what encodes premises at the start, by cosine: the initial premise tower, else the base."""
    initial = setup.initial
    encoder = initial if initial is not None and initial.towers == "dual" else setup.base
    return replace(encoder, similarity="cosine")


def _save(
    training: Training[AeencConfig],
    towers: Mapping[str, Tower],
    setup: Setup,
    pairs: TrainingPairs,
    taught: Mapping[str, Any],
) -> None:
    """Write the towers: adapters, the premise tower's in `premise_tower/`, trained or that of the start.

    With every weight trained, siamese is a plain model; single and dual are a Router, whose document route is
    the base or the premise tower.
    """
    base, config = setup.base, training.config
    single = config.towers == "single"
    premise_adapter = _premises_of(setup).adapter("premise") if single else None

    def write(folder: Path) -> None:
        queries, premises = towers["queries"], towers.get("premises")
        if premises:
            save_both(folder, queries, premises)
        elif config.tuning == "full" and single:
            save_routes(folder, queries.model, sentence_transformer(base, device="cpu"))
        else:
            queries.save(folder)
            if premise_adapter:
                shutil.copytree(premise_adapter, folder / PREMISE_TOWER)
        before = read_training_queries(setup.initial.path) if setup.initial and setup.initial.path else ()
        write_training_queries(folder, {*before, *map(premise_key, pairs.queries)})

    setup.save(
        training,
        write,
        licence="licence",
        trained_on={"missing": len(pairs.missing), **taught},
        base=name_of(base),
        base_revision=base.revision,
        towers="dual" if premise_adapter else config.towers,
    )
