"""Both stages: masked hypothesis prediction (Dai et al. 2024), then dense passage retrieval (DPR)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.errors import TrainingError
from entail.index.protocol import Ints
from entail.training.adapters.tower import Tower
from entail.training.loop.batches import BatchTask
from entail.training.method import Run
from entail.training.run import Setup, Training, digest, prepare, sample_rows
from entail.tuning.config import DprConfig, TuningConfig
from entail.tuning.examples import EntailedPair, Example, Examples, answer_position, excerpt
from entail.tuning.masking import MaskedPrompt, Prompt, Prompts
from entail.tuning.tower import MaskedTower, PassageTower

if TYPE_CHECKING:
    from torch import Tensor

METHOD, DPR_METHOD = "tuning", "dpr"


class MaskedTask(BatchTask):
    r"""Masked hypothesis prediction, the first stage.

    .. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log P(t_i \mid \text{prompt without } M)

    M are the masked tokens of a batch, which depend only on seed, epoch and pair.
    """

    def __init__(
        self,
        config: TuningConfig,
        form: Prompts,
        prompts: Sequence[Prompt],
        tower: MaskedTower,
        *,
        dev: Sequence[Prompt] = (),
    ) -> None:
        super().__init__(config, [len(prompt.ids) for prompt in prompts])
        self.config, self.form, self.prompts, self.tower = config, form, prompts, tower
        # Masked once, the same for every seed, so that evaluations and seeds can be compared.
        rows = [self._mask(prompt, 0, row) for row, prompt in enumerate(dev)]
        self._dev = sorted(rows, key=lambda row: len(row.ids))

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the mean loss of the masked tokens, and its diagnostics."""
        seed = self.config.seed
        losses, correct, tokens = self._losses(
            [self._mask(self.prompts[row], seed, self._epoch, row) for row in batch.tolist()]
        )
        count = len(losses)
        terms = {
            "accuracy": float(correct.float().mean()) if count else 0.0,
            "hidden": float(count),
            "tokens": float(tokens),
        }
        # Short hypotheses and a small beta may leave nothing masked.
        return losses.mean() if count else losses.sum(), terms

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Return the negative loss of the masked dev tokens as score; None without any."""
        total, count, hits = 0.0, 0, 0
        with self.tower.inference():
            for at in range(0, len(self._dev), self.config.batch_size):
                losses, correct, _ = self._losses(self._dev[at : at + self.config.batch_size])
                total += float(losses.sum())
                count, hits = count + len(losses), hits + int(correct.sum())
        return (-total / count, {"loss": total / count, "accuracy": hits / count}) if count else None

    def _mask(self, prompt: Prompt, *seed: int) -> MaskedPrompt:
        return self.form.mask(prompt, beta=self.config.beta, draw=np.random.default_rng(seed))

    def _losses(self, rows: Sequence[MaskedPrompt]) -> tuple[Tensor, Tensor, int]:
        """Return -log P of each masked token, whether it was the likeliest, and the number of tokens."""
        import torch

        ids, attended, masked, labels = (
            torch.from_numpy(part).to(self.tower.device) for part in self.form.pad(rows)
        )
        return *self.tower.token_losses(ids, attended, masked, labels), int(attended.sum())


class DprTask(BatchTask):
    r"""Dense passage retrieval (Karpukhin et al. 2020), the second stage.

    .. math:: L_q = -\log \frac{e^{s(q, p^+)/t}}{e^{s(q, p^+)/t} + \sum_{p^-} e^{s(q, p^-)/t}}

    The similarity s is the cosine, or the inner product as in the paper, which has the temperature t = 1.
    Negatives of a question are its hard ones and every other passage of the batch that is not gold for it. A
    passage that several questions share is encoded once. `passages` is a tower of its own for passages.
    """

    def __init__(
        self,
        config: DprConfig,
        examples: Examples,
        tower: Tower,
        *,
        passages: Tower | None = None,
        dev: Examples | None = None,
    ) -> None:
        self.config, self.examples, self.dev = config, examples, dev
        self.tower, self.passage_tower = tower, passages or tower
        super().__init__(config, tower.lengths([self._gold_text(example) for example in examples.examples]))

    def passages_of(self, batch: Ints) -> tuple[list[Example], dict[int, str]]:
        """Return the questions of a batch, and position -> text of their passages."""
        questions = [self.examples.examples[row] for row in batch.tolist()]
        texts: dict[int, str] = {}
        for question in questions:
            texts.setdefault(question.gold[0], self._gold_text(question))
        store, words = self.examples.store, self.config.words
        for question in questions:
            share = answer_position(store[question.gold[0]].whole, question.answers)
            # The hardest first, as in DPR; every epoch takes the next ones.
            count = min(self.config.negatives, len(question.negatives))
            for i in range(count):
                at = question.negatives[(self._epoch * count + i) % len(question.negatives)]
                texts.setdefault(at, excerpt(store[at].whole, words=words, share=share))
        return questions, texts

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the mean loss of some questions, and its diagnostics."""
        import torch

        examples, texts = self.passages_of(batch)
        column = {position: number for number, position in enumerate(texts)}
        questions = self.tower.vectors([example.question for example in examples])  # (n, d)
        passages = self.passage_tower.vectors(list(texts.values()))  # (m, d)
        scores = questions @ passages.T / self.config.temperature
        gold = torch.tensor([column[example.gold[0]] for example in examples], device=scores.device)
        excluded = torch.zeros(scores.shape, dtype=torch.bool)
        for row, example in enumerate(examples):
            further = set(example.gold[1:]) & column.keys() - {example.gold[0]}
            excluded[row, [column[at] for at in further]] = True
        scores = scores.masked_fill(excluded.to(scores.device), float("-inf"))
        with torch.no_grad():
            first = (scores.argmax(dim=1) == gold).float().mean()
        terms = {"first": float(first), "passages": float(len(texts))}
        return torch.nn.functional.cross_entropy(scores, gold), terms

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Return MRR and R@1 of dev questions over the gold passages and negatives of all of them.

        This is DPR's validation by average rank, over a small pool. Passages are whole, as
        `entail evaluate passages` reads them; training reads excerpts (`words`).
        """
        if self.dev is None or not len(self.dev):
            return None
        examples = self.dev.examples
        pool = sorted({at for example in examples for at in (*example.gold, *example.negatives)})
        column = {position: number for number, position in enumerate(pool)}
        passages = self.passage_tower.encode([self.dev.store[position].whole for position in pool])
        scores = self.tower.encode([example.question for example in examples]) @ passages.T
        best = [
            row[[column[at] for at in example.gold]].max()
            for row, example in zip(scores, examples, strict=True)
        ]
        ranks = 1 + (scores > np.array(best)[:, None]).sum(axis=1)
        figures = {"MRR": float((1 / ranks).mean()), "R@1": float((ranks == 1).mean())}
        return figures["MRR"], figures

    def _gold_text(self, example: Example) -> str:
        whole = self.examples.store[example.gold[0]].whole
        return excerpt(whole, words=self.config.words, answers=example.answers)


def train_tuning(
    pairs: Sequence[EntailedPair],
    config: TuningConfig,
    *,
    dev: Sequence[EntailedPair] = (),
    run: Run | None = None,
) -> Training[TuningConfig]:
    """Train an encoder to predict masked hypotheses from premises, as a start for `train_dpr`.

    Pairs of dev select the weights by their loss; without them the last weights are kept. The
    result counts pairs, pairs left out, truncated premises and steps;
    `new_head` tells that the base's checkpoint had no masked-LM head.

    Raises:
        TrainingError: If no pair fits, or the base cannot have a masked-LM head; see `prepare`.
    """
    setup = prepare(config, run, method=METHOD)
    tower = MaskedTower(setup.base, **setup.tower, max_length=config.max_length, seed=config.seed)
    form = Prompts(tower.tokenizer, max_length=tower.max_length, name=setup.base.name)
    prompts = form.of(pairs)
    if not prompts:
        raise TrainingError(
            f"expected pairs of a premise and a hypothesis of at most {tower.max_length} tokens, found "
            f"{len(pairs)} pairs, none of which fits; give more pairs, or a higher max_length"
        )
    tower.set_frequencies(form.frequencies(prompts))
    task = MaskedTask(config, form, prompts, tower, dev=form.of(sample_rows(dev, config.dev_pairs)))
    fitted = setup.fit(
        task,
        tower.parameters,
        warmup=min(1.0, config.warmup_steps / task.steps(config.epochs)),
        bound_to={"data": digest(list(map(astuple, pairs))), "dev": digest(list(map(astuple, dev)))},
    )
    counts = {
        "pairs": len(prompts),
        "too_long": len(pairs) - len(prompts),
        "premises_cut": sum(prompt.is_cut for prompt in prompts),
        "steps": fitted.steps,
    }
    training = setup.result(fitted, counts, measure="loss", new_head=tower.new_head)
    _save(training, setup, tower.save)
    return training


def train_dpr(
    examples: Examples,
    config: DprConfig,
    *,
    dev: Examples | None = None,
    run: Run | None = None,
) -> Training[DprConfig]:
    """Train a retriever of passages on in-batch and hard negatives; `with_missing_negatives` finds some.

    Questions of dev select the weights by MRR over their own passages; without them the last weights are
    kept.

    Raises:
        TrainingError: If there are fewer than two questions; see `prepare`.
    """
    if len(examples) < 2:
        raise TrainingError(
            f"expected questions with a gold passage in the pool, at least 2, found {len(examples)} "
            f"({examples.without_gold} without one); are questions and passages of the same release?"
        )
    setup = prepare(config, run, method=DPR_METHOD, initial=config.initial)

    def make_tower() -> PassageTower:
        return PassageTower(
            setup.base,
            **setup.tower,
            max_length=config.max_length,
            pooling=config.pooling,
            similarity=config.similarity,
        )

    tower = make_tower()
    passages = make_tower() if config.towers == "dual" else None
    parameters = dict(tower.parameters)
    if passages:
        parameters |= {f"passages.{name}": parameter for name, parameter in passages.parameters.items()}
    if dev is not None:
        dev = replace(dev, examples=tuple(sample_rows(dev.examples, config.dev_questions)))
    task = DprTask(config, examples, tower, passages=passages, dev=dev)
    fitted = setup.fit(
        task,
        parameters,
        warmup=min(0.1, config.warmup_steps / task.steps(config.epochs)),
        bound_to={"data": examples.digest, "dev": dev.digest if dev else ""},
    )
    has_negatives = any(example.negatives for example in examples.examples)
    warning = "no question has a hard negative, only those of its batch; find some by BM25"
    training = setup.result(
        fitted,
        {**examples.to_json(), "steps": fitted.steps},
        measure="MRR",
        warnings=[warning] if config.negatives and not has_negatives else [],
    )
    _save(training, setup, lambda folder: tower.save(folder, passages=passages))
    return training


def _save(training: Training[Any], setup: Setup, write: Callable[[Path], None]) -> None:
    """Write the model; the settings of a first stage are part of the second one's `entail.json`."""
    start = setup.initial or setup.base
    tuned = {"revision": start.revision, "config": dict(start.card.config if start.card else {})}
    setup.save(
        training,
        write,
        licence="licence",
        towers=getattr(training.config, "towers", "siamese"),
        **({"tuned": tuned} if start.method == METHOD else {}),
    )
