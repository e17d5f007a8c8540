"""Training of AE-Enc: a bi-encoder that ranks explanations above similar premises (Bogatu et al. 2022)."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from entail.aeenc.config import AeencConfig
from entail.aeenc.pairs import TrainingPairs, gold_pairs, judged_pairs, sampled_pairs
from entail.aeenc.sampling import SampleReport, sample
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
from entail.index.flat import DenseIndex
from entail.index.protocol import Floats
from entail.index.vectors import QueryVectors, premise_vectors
from entail.progress import ProgressCallback
from entail.settings import load_settings
from entail.training.adapters.saving import name_of
from entail.training.adapters.tower import Tower, TowerEncoder, save_both, save_routes
from entail.training.distillation.task import DistillationTask
from entail.training.distillation.teachers import Teaching
from entail.training.loop.task import Event, Task, Watch
from entail.training.method import Run
from entail.training.run import Setup, Training, prepare

METHOD = "aeenc"


@dataclass(frozen=True, kw_only=True)
class AeencTraining(Training[AeencConfig]):
    """Result of a training, with the final counts of queries, positives, negatives and triplets.

    Attributes:
        pairs: Training pairs of all rounds.
        samples: Report of each round's ACS pass.
        teachers: Names of the teachers.
        sentences: Number of distilled sentences.
    """

    pairs: TrainingPairs
    samples: tuple[SampleReport, ...]
    teachers: tuple[str, ...] = ()
    sentences: int = 0

    @property
    def dropped(self) -> Mapping[str, int]:
        """Rule -> number of pairs left out, see `TrainingPairs`."""
        return self.pairs.dropped

    @property
    def missing(self) -> tuple[str, ...]:
        """Gold premises that the corpus lacks."""
        return self.pairs.missing

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, without the pairs and the path of the folder."""
        return {
            **super().to_json(),
            "dropped": dict(self.dropped),
            "missing": {"count": len(self.missing), "texts": list(self.missing)},
            "samples": [report.to_json() for report in self.samples],
        }


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
) -> AeencTraining:
    """Train an encoder on gold trees, or on what authors accepted and rejected.

    Under `torchrun` all processes train one encoder; only the first evaluates, writes and reports.

    Args:
        corpus: Premises, the candidates of ACS; see `training_corpus`.
        config: Settings.
        trees: Gold trees, also the oracle of ACS.
        judgements: Judgements of a team, instead of trees.
        dev: Trees that select the weights (MAP, query excluded); without them the last weights are kept.
        dev_corpus: Candidates for `dev`; default: `corpus`.
        teaching: Unlabelled sentences with the targets of teachers, for `config.distil`; queries of `trees`,
            `judgements` and `dev` are left out.
        premise_teaching: The same for the premise tower of `towers=dual`.
        cache_dir: Cache of premise vectors; default: the settings' folder.
        run: Output folder, device and callbacks.

    Raises:
        TrainingError: If positives or negatives are lacking, arguments exclude each other, the loss is not
            finite, the folder holds something else or is in use, or `stop` returned True.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If the base cannot be loaded.
    """
    if bool(trees) == (judgements is not None):
        raise TrainingError("expected either trees or judgements to learn from")
    oracle = Judgements.of_trees(trees) if judgements is None else judgements
    if config.complete:
        oracle = replace(oracle, closed=True)
    _require_compatible(config, teaching, premise_teaching)
    pairs = _first_pairs(corpus, config, trees, oracle)
    setup = prepare(config, run, method=METHOD, initial=config.initial)
    run, progress = setup.run, setup.run.progress
    frozen = BiEncoder(_premises_of(setup), device=setup.tower["device"])
    cache = load_settings().vectors_dir if cache_dir is None else cache_dir
    base_premises = premise_vectors(corpus, frozen, cache_dir=cache, progress=progress)
    towers = {"queries": Tower(setup.base, **setup.tower)}
    if config.towers == "dual":
        of_premises = setup.tower.copy()
        of_premises["initial"] = setup.initial.adapter("premise") if setup.initial else None
        towers["premises"] = Tower(setup.base, **of_premises)
    queries = towers["queries"]
    premises = towers.get("premises", queries if config.towers == "siamese" else None)
    encoder = TowerEncoder(run.out.name if run.out else "training", queries, premises, frozen)
    indexes = _Indexes(encoder, frozen, cache, progress)

    def resample() -> tuple[TrainingPairs, SampleReport]:
        acs_sample = sample(corpus, oracle, indexes.of(corpus), k=config.k, progress=progress)
        return sampled_pairs(corpus, acs_sample), acs_sample.report

    def evaluate() -> tuple[float, dict[str, float]] | None:
        if not dev:
            return None
        return dev_figures(evaluate_premises(dev_corpus or corpus, dev, indexes.of(dev_corpus or corpus)))

    task = AeencTask(
        config,
        corpus,
        pairs,
        oracle,
        queries=queries,
        premises=premises,
        base_premises=base_premises,
        base_queries=_initial_queries(setup, frozen, corpus, base_premises),
        resample=resample,
        evaluate=evaluate,
    )
    if teaching is not None:
        teaching = teaching.without({*oracle.queries, *gold_children(dev)})
    teachings = {"queries": teaching, "premises": premise_teaching}
    fitted = setup.fit(
        _with_teachings(task, teachings, towers),
        {f"{name}.{key}": p for name, tower in towers.items() for key, p in tower.parameters.items()},
        bound_to={
            "corpus": corpus.hash[:12],
            "data": _digest(pairs.digest, oracle.closed, oracle.accepted, oracle.rejected, oracle.roots),
            **({"teaching": teaching.digest} if teaching else {}),
            **({"premise teaching": premise_teaching.digest} if premise_teaching else {}),
            "dev": _digest((dev_corpus or corpus).hash, [tree.pairs for tree in dev]),
        },
        epochs=config.total_epochs,
        patience=config.patience or None,
        watch=_with_warnings(run.watch, task),
    )
    teaching_sets = [teaching_set for teaching_set in teachings.values() if teaching_set is not None]
    advice = "lower the learning rate, raise alpha, or sample more rounds"
    card = setup.initial.card if setup.initial else None
    before = card.trained_on.get("data", ()) if card else ()
    training = AeencTraining(
        config=config,
        fitted=fitted,
        counts=task.pairs.counts,
        pairs=task.pairs,
        samples=tuple(task.samples),
        warnings=(*task.warnings, *fitted.warnings("MAP", advice=advice)),
        folder=run.out,
        teachers=tuple(
            dict.fromkeys(name for teaching_set in teaching_sets for name in teaching_set.teachers)
        ),
        sentences=sum(len(teaching_set.sentences) for teaching_set in teaching_sets),
        data=tuple(dict.fromkeys((*before, *run.data))),
    )
    _save(training, towers, setup)
    return training


def dev_figures(measured: PremiseEvaluation) -> tuple[float, dict[str, float]]:
    """Return the score that selects the weights, MAP with the query excluded, and the main figures."""
    figures = measured.figures()
    names = ("MAP", "NDCG", "Hit@10", "Hit@50")
    main_figures = {
        f"{protocol}.{n}": figures[protocol][n] for protocol in ("query_excluded", "paper") for n in names
    }
    return main_figures["query_excluded.MAP"], main_figures


def _premises_of(setup: Setup) -> EncoderEntry:
    """Return what encodes premises at the start, by cosine: the initial premise tower, else the base."""
    initial = setup.initial
    encoder = initial if initial is not None and initial.towers == "dual" else setup.base
    return replace(encoder, similarity="cosine")


class _Indexes:
    """Indexes with the current weights of the towers; the vectors of frozen premises are computed once."""

    def __init__(
        self, encoder: TowerEncoder, frozen: BiEncoder, cache: Path, progress: ProgressCallback | None
    ) -> None:
        self._encoder, self._frozen, self._cache, self._progress = encoder, frozen, cache, progress
        self._of_base: dict[str, DenseIndex] = {}

    def of(self, corpus: Corpus) -> DenseIndex:
        """Return an index of a corpus with the current weights."""
        self._encoder.invalidate()
        if self._encoder.premise_revision != self._frozen.premise_revision:
            vectors = self._encoder.encode_premises(corpus.texts, progress=self._progress)
            return DenseIndex(self._encoder, corpus, vectors)
        if corpus.hash not in self._of_base:
            vectors = premise_vectors(corpus, self._frozen, cache_dir=self._cache, progress=self._progress)
            self._of_base[corpus.hash] = DenseIndex(self._frozen, corpus, vectors)
        return self._of_base[corpus.hash].by(self._encoder)


def _initial_queries(
    setup: Setup, frozen: BiEncoder, corpus: Corpus, base_premises: Floats
) -> Callable[[Sequence[str]], Floats]:
    """Return a cached encoder of queries by the weights that the training starts from."""
    if setup.initial is not None:
        return QueryVectors(BiEncoder(setup.initial, device=setup.tower["device"]), capacity=1 << 20).encode
    cached = QueryVectors(frozen, capacity=1 << 20)

    def encode(texts: Sequence[str]) -> Floats:
        positions = ((text, corpus.position(text)) for text in texts)
        also = {premise_key(text): base_premises[at] for text, at in positions if at is not None}
        return cached.encode(texts, also=also)

    return encode


def _require_compatible(
    config: AeencConfig, teaching: Teaching | None, premise_teaching: Teaching | None
) -> None:
    if premise_teaching is not None and config.towers != "dual":
        raise TrainingError(
            f"expected towers=dual to teach a tower for premises, found towers={config.towers}"
        )
    if (config.distil > 0) != (teaching is not None or premise_teaching is not None):
        raise TrainingError(
            "expected both a teaching (teachers and sentences) and distil above 0, or neither"
        )


def _first_pairs(
    corpus: Corpus, config: AeencConfig, trees: Sequence[ExplanationTree], oracle: Judgements
) -> TrainingPairs:
    pairs = gold_pairs(corpus, trees) if trees else judged_pairs(corpus, oracle)
    if trees and not config.gold:
        none = tuple(np.empty(0, dtype=np.int64) for _ in pairs.queries)
        pairs = replace(pairs, negatives=none)
    require_both_classes(pairs, config, closed=oracle.closed)
    if pairs.missing:
        warnings.warn(
            f"{len(pairs.missing)} gold premises are not in corpus {corpus.name!r} and are not trained on; "
            f"the first: {pairs.missing[0]!r}; training_corpus() adds them",
            stacklevel=3,
        )
    return pairs


def _save(training: AeencTraining, towers: Mapping[str, Tower], setup: Setup) -> None:
    """Write the towers `queries` and, for dual, `premises`.

    Adapters are written as such, the premise tower's into `premise_tower/`: one that was trained, or that of
    the initial encoder, which a training of queries alone leaves as it is. With every weight trained,
    siamese is a plain model; single and dual are a Router, whose document route is the base or the premise
    tower.
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
        write_training_queries(folder, {*before, *map(premise_key, training.pairs.queries)})

    taught = {"sentences": training.sentences, "teachers": list(training.teachers)}
    setup.save(
        training,
        write,
        licence="licence",
        trained_on={"missing": len(training.missing), **(taught if training.teachers else {})},
        base=name_of(base),
        base_revision=base.revision,
        towers="dual" if premise_adapter else config.towers,
    )


def _with_teachings(
    task: AeencTask, teachings: Mapping[str, Teaching | None], towers: Mapping[str, Tower]
) -> Task:
    """Return the task with a distillation of each tower that has a teaching."""
    config, taught = task.config, cast(Task, task)
    for name, teaching in teachings.items():
        if teaching is not None:
            taught = DistillationTask(
                taught,
                teaching,
                towers[name],
                weight=config.distil,
                sentences=config.sentences,
                seed=config.seed,
                term="distil" if name == "queries" else f"distil_{name}",
            )
    return taught


def _with_warnings(watch: Watch | None, task: AeencTask) -> Watch | None:
    """Return a callback whose events bear each warning of the task once."""
    if watch is None:
        return None
    reported = 0

    def report(event: Event) -> None:
        nonlocal reported
        if len(task.warnings) > reported:
            reported = len(task.warnings)
            event = replace(event, warning=task.warnings[-1])
        watch(event)

    return report


def _digest(*parts: object) -> str:
    def plain(value: object) -> object:
        return dict(value) if isinstance(value, Mapping) else str(value)

    text = json.dumps(parts, default=plain, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
