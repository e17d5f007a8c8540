"""Training of an encoder of Gaussians on natural language inference (Yoda et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.data.nli.triplets import NliTriplets
from entail.encoders.gaussian.distributions import Floats64, Gaussians, encode_pairs, similarity
from entail.encoders.gaussian.encoder import squash_means
from entail.encoders.gaussian.form import GaussianForm
from entail.errors import TrainingError
from entail.gausscse.config import GausscseConfig
from entail.gausscse.losses import (
    Teachers,
    contrastive_loss,
    direction_loss,
    distillation_loss,
    parameters_of,
    ranking_loss,
    similarities,
)
from entail.gausscse.tower import GaussianTower
from entail.gausscse.verdict import fit_form, is_one_way
from entail.index.protocol import Ints
from entail.statistics.classification import auprc, best_threshold
from entail.training.loop.batches import BatchTask, match_lengths
from entail.training.method import Run
from entail.training.run import Training, digest, prepare, sample_rows

if TYPE_CHECKING:
    from torch import Tensor

METHOD = "gausscse"


class GausscseTask(BatchTask):
    """Task of the training loop: batches of triplets, each distinct sentence encoded once."""

    def __init__(
        self,
        config: GausscseConfig,
        triplets: NliTriplets,
        tower: GaussianTower,
        *,
        dev: Sequence[NliPair] = (),
        teachers: Teachers | None = None,
    ) -> None:
        self.config, self.triplets, self.tower, self.teachers = config, triplets, tower, teachers
        self._dev = dev
        self._rows: list[tuple[str, str, str | None]] = []
        self._unentailed: list[int] = []
        pairs = [(triplet.premise, triplet.entailed) for triplet in triplets.triplets]
        super().__init__(config, _lengths(tower, pairs))
        self._other_lengths = _lengths(tower, triplets.unentailed if config.ranking else ())

    def batches(self, epoch: int) -> list[Ints]:
        """Return batches of similar length; every epoch draws other contradictions and unentailed pairs."""
        if not self._rows or epoch != self._epoch:
            seed = self.config.seed
            self._rows = list(self.triplets.draw(seed=seed, epoch=epoch))
            if self._other_lengths:  # for each triplet a pair of similar length
                rows = self.triplets.draw_unentailed(seed=seed, epoch=epoch)
                matched = match_lengths(self._lengths, [self._other_lengths[row] for row in rows])
                self._unentailed = [rows[position] for position in matched]
        return super().batches(epoch)

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the loss of triplets (eq. 3 and the further terms of the settings), and diagnostics."""
        import torch

        config, temperature = self.config, self.config.temperature
        examples = [self._rows[i] for i in batch]
        unentailed = (
            [self.triplets.unentailed[self._unentailed[i]] for i in batch] if self._unentailed else []
        )
        parts = [
            [premise for premise, _, _ in examples],
            [entailed for _, entailed, _ in examples],
            [text for _, _, text in examples if text is not None] if "con" in config.sets else [],
            [premise for premise, _ in unentailed],
            [hypothesis for _, hypothesis in unentailed],
        ]
        texts = list(dict.fromkeys(text for part in parts for text in part))
        row = {text: number for number, text in enumerate(texts)}
        mean, log_variance = parameters_of(self.tower.vectors(texts), tanh=config.tanh)
        p, e, c, other_p, other_h = (
            torch.tensor([row[text] for text in part], dtype=torch.long, device=mean.device) for part in parts
        )
        sim = similarities(mean, log_variance, kind=config.similarity)  # sim(a || b) at (a, b)
        forward, backward = sim[e, p], sim[p, e]
        sets = [sim[c[None], p[:, None]]]
        if "rev" in config.sets:
            sets.append(sim[p[None], e[:, None]])
        longer = [len(entailed) > len(premise) for premise, entailed, _ in examples]
        weights = 1 + (config.longer - 1) * torch.tensor(longer, dtype=mean.dtype, device=mean.device)
        same = (p[:, None] == p[None]) | (e[:, None] == e[None])
        loss = contrastive_loss(
            sim[e[None], p[:, None]], sets, same=same, temperature=temperature, weights=weights
        )
        terms = {
            "similarity": forward.mean(),
            "similarity reversed": backward.mean(),
            "direction": (forward > backward).float().mean(),
        }
        if unentailed:
            below = [sim[other_h, other_p], *([backward] if "rev" in config.sets else [])]
            terms["ranking"] = ranking_loss(forward, torch.cat(below), temperature=temperature)
            loss = loss + config.ranking * terms["ranking"]
        if config.direction:
            terms["directed"] = direction_loss(forward, backward, temperature=temperature, weights=weights)
            loss = loss + config.direction * terms["directed"]
        if self.teachers is not None:
            taught = self.teachers.similarities(texts, turn=int(batch[0])).to(mean.device)
            first, second = torch.cat([p, other_p]), torch.cat([e, other_h])
            terms["taught"] = distillation_loss(sim, taught, first, second)
            loss = (1 - config.distillation) * loss + config.distillation * terms["taught"]
        return loss, {name: float(value.detach()) for name, value in terms.items()}

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Return the AUPRC of NLI on dev by the current weights, and the main figures.

        Pairs that entail both ways have no direction.

        Raises:
            TrainingError: If no pair of dev is an entailment.
        """
        if not self._dev:
            return None
        forward, backward = _similarities(self.tower, self.config, self._dev)
        entailed = np.array([pair.label == "entailment" for pair in self._dev])
        score = auprc(forward, entailed)
        if score is None:
            raise TrainingError("expected entailments among the dev pairs, found none; give another dev file")
        directed = entailed & is_one_way(self._dev)
        figures = {"AUPRC": score, "accuracy": best_threshold(forward, entailed).accuracy}
        if directed.any():
            figures["direction"] = float((forward > backward)[directed].mean())
        return score, figures


def train_gausscse(
    triplets: NliTriplets,
    config: GausscseConfig,
    *,
    dev: Sequence[NliPair] = (),
    run: Run | None = None,
) -> Training[GausscseConfig]:
    """Train an encoder of Gaussians on triplets of premise, entailed and contradicted hypotheses.

    The best weights are those of the highest AUPRC on dev, where threshold and curves are fitted, too;
    without dev the last are kept, and there is no threshold. The result counts as `NliTriplets` does;
    `further["gaussian"]` is the form of the encoder.

    Raises:
        TrainingError: If there are fewer than two triplets, or no contradiction where `sets` needs some, or a
            teacher has another similarity; see `prepare`.
    """
    if len(triplets) < 2:
        raise TrainingError(
            f"expected entailments to learn from, at least 2, found {len(triplets)}; give a file with some"
        )
    if "con" in config.sets and not triplets.premises_with_both:
        raise TrainingError(
            f"expected contradictions of some premises, for sets={config.sets}, found none; take sets=ent or "
            "sets=ent+rev"
        )
    setup = prepare(config, run, method=METHOD)
    device, kind = setup.run.device, config.similarity
    teachers = Teachers(config.teachers, kind=kind, device=device) if config.teachers else None
    tower = GaussianTower(
        setup.base, pooling=config.pooling, max_length=config.max_length, seed=config.seed, **setup.tower
    )
    dev_sample = sample_rows(dev, config.dev_pairs)
    fitted = setup.fit(
        GausscseTask(config, triplets, tower, dev=dev_sample, teachers=teachers),
        tower.parameters,
        bound_to={
            **({"teachers": teachers.revision} if teachers else {}),
            "data": triplets.digest,
            "dev": digest([(p.premise, p.hypothesis, p.label) for p in dev_sample]),
        },
    )
    form = GaussianForm(similarity=config.similarity, pooling=config.pooling, tanh=config.tanh)
    if dev:
        form = fit_form(form, _similarities(tower, config, dev), dev)
    used = {name: n for name, n in triplets.to_json().items() if config.ranking or name != "unentailed"}
    training = setup.result(fitted, used, measure="AUPRC", gaussian=form.to_json())
    setup.save(training, tower.save, licence="licence", towers="siamese", gaussian=form.to_json())
    return training


def _similarities(
    tower: GaussianTower, config: GausscseConfig, pairs: Sequence[NliPair]
) -> tuple[Floats64, Floats64]:
    """Return sim(h || p) and sim(p || h) of each pair by the current weights."""

    def encode(texts: list[str]) -> Gaussians:
        gaussians = Gaussians.of(tower.encode(texts))
        return squash_means(gaussians) if config.tanh else gaussians

    texts = [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs]
    premises, hypotheses = encode_pairs(encode, *texts)
    kind = config.similarity
    return similarity(hypotheses, premises, kind=kind), similarity(premises, hypotheses, kind=kind)


def _lengths(tower: GaussianTower, pairs: Sequence[tuple[str, str]]) -> list[int]:
    """Return the number of tokens of the longer text of each pair."""
    sides = [tower.lengths([pair[side] for pair in pairs]) for side in (0, 1)]
    return [max(pair) for pair in zip(*sides, strict=True)]
