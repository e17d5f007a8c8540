"""Scorers in training: cross-encoder and bi-encoder, with score terms of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.arcf.scoring.bi_encoder import Head, RowEncoder, VectorCache, transformer_forward
from entail.arcf.scoring.explanatory_power import Explanations
from entail.arcf.scoring.form import POWER, SHARED_PIECES, SIMILARITY
from entail.arcf.scoring.inputs import by_prefix
from entail.arcf.scoring.terms import SharedPieces, WordSimilarity
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.cross.pairs import Pair
from entail.encoders.stock import sentence_transformer
from entail.index.protocol import Floats
from entail.training.adapters.cross_tower import AT_ONCE, CrossTower
from entail.training.adapters.tower import Lora, Precision

if TYPE_CHECKING:
    from torch import Tensor


class ScorerTower(CrossTower):
    """A cross-encoder that learns to score; see `CrossTower`.

    What is known of a candidate without reading it may be a term of its score, with a learnt weight: the
    overlap of its word pieces, its explanatory power, its likeness to the question.
    """

    pieces: SharedPieces | None = None
    explanations: Explanations | None = None
    words: WordSimilarity | None = None

    def know_pieces(self, pieces: SharedPieces, *, weight: float) -> None:
        """Add the overlap of prefix and candidate to all scores."""
        self.pieces = pieces
        self._add(SHARED_PIECES, weight)

    def know_explanations(self, explanations: Explanations, *, weight: float) -> None:
        """Let the evidence that scores are asked with count; it is kept where the scorer is."""
        self.explanations = explanations
        self._add(POWER, weight)

    def know_words(self, words: WordSimilarity, *, weight: float) -> None:
        """Let the similarity that scores are asked with count; its weights are kept where the scorer is."""
        self.words = words
        self._add(SIMILARITY, weight)

    def scores(self, pairs: Sequence[Pair], evidence: Floats | None = None) -> Tensor:
        """Return a score a pair with its gradient, shape (pairs,), fp32.

        Args:
            pairs: What is read.
            evidence: What is known of each candidate, (pairs, terms), as `entail.arcf.scoring.priors` has it.
        """
        found = self.outputs(pairs)[:, 0]
        for term in self._known(pairs, evidence):
            found = found + term
        return found

    def score(self, pairs: Sequence[Pair], evidence: Floats | None = None) -> Floats:
        """Return a score a pair without gradient and dropout, shape (pairs,)."""
        found = self.values(pairs)[:, 0]
        for term in self._known(pairs, evidence):
            found = found + term.detach().cpu().numpy()
        return found

    def save(self, folder: Path) -> None:
        """Write all that was learnt, and what is known, into a new or empty folder.

        Raises:
            OSError: If the folder cannot be written.
        """
        super().save(folder)
        for known in (self.pieces, self.explanations, self.words):
            if known is not None:
                known.save(folder)

    def _add(self, name: str, weight: float) -> None:
        import torch

        parameter = torch.nn.Parameter(torch.full((1,), float(np.log(weight)), device=self.device))
        self.head.register_parameter(name, parameter)
        self.parameters[f"head.{name}"] = parameter

    def _known(self, pairs: Sequence[Pair], evidence: Floats | None) -> Iterator[Tensor]:
        if self.pieces is not None:
            yield self._term(SHARED_PIECES, self.pieces(pairs))
        if evidence is not None:
            names = [POWER] * (self.explanations is not None) + [SIMILARITY] * (self.words is not None)
            for name, term in zip(names, evidence.T, strict=True):
                yield self._term(name, np.ascontiguousarray(term))

    def _term(self, name: str, values: Floats) -> Tensor:
        import torch

        return self.head.get_parameter(name).exp() * torch.from_numpy(values).to(self.device)


_SCALE = 20.0
"""g at the start: before anything is learnt, what resembles the prefix ranks first.

Cosines differ by tenths: with a smaller g every pair is nearly a tie to the loss, and the many that are easy
outweigh the few at the top that make the MAP.
"""


class BiEncoderTower(ScorerTower):
    """Bi-encoder in training: the adapter moves the prefix among the base's vectors of candidates.

    A candidate is encoded once per training, so that a prefix is compared with every visible one.

    Args:
        base: A whole model, the start.
        lora: Adapter that encodes prefixes.
        device: A torch device.
        max_length: Tokens that are read, at most as many as the base reads.
        precision: As `CrossTower`.
        dropout: Dropout of a prefix's hidden states; None: as the base. Attention has none.
        seed: Random seed of the head.

    Raises:
        EncoderError: If the base cannot be loaded.
        TrainingError: As `Tower`.
    """

    def __init__(
        self,
        base: EncoderEntry,
        *,
        lora: Lora | None,
        device: str,
        max_length: int,
        precision: Precision = "fp32",
        dropout: float | None = None,
        seed: int = 0,
    ) -> None:
        import torch

        super().__init__(
            base,
            lora=lora,
            device=device,
            max_length=max_length,
            precision=precision,
            dropout=dropout,
            seed=seed,
        )
        for name, module in self._transformer.named_modules():
            if isinstance(module, torch.nn.Dropout) and ".attention.self." in name:
                module.p = 0.0
        scale = torch.nn.Parameter(torch.full((1,), _SCALE, device=device))
        self.head.register_parameter("scale", scale)
        self.parameters["head.scale"] = scale
        first: Any = next(iter(sentence_transformer(base, device=device).children()))
        unchanged = first.auto_model.eval().requires_grad_(requires_grad=False)
        self._prefixes = self._encoder(self._transformer)
        self._candidates = VectorCache(self._encoder(unchanged))

    def outputs(self, pairs: Sequence[Pair]) -> Tensor:
        """Return the score of each pair with its gradient, shape (pairs, 1), fp32."""
        import torch

        groups = by_prefix(pairs)
        prefixes = list(groups)
        head = Head(self.head.weight, self.head.bias, self.head.get_parameter("scale"))
        parts: list[Tensor] = []
        order: list[int] = []
        with self._autocast():  # one for all batches: weights are cast once
            for some, means in self._prefixes.batches(prefixes):
                for i, mean in zip(some, means, strict=True):
                    positions = groups[prefixes[i]]
                    candidates = self._candidates.vectors([pairs[at][1] for at in positions])
                    with torch.autocast(torch.device(self.device).type, enabled=False):
                        parts.append(head.scores(candidates, mean))
                    order.extend(positions)
        back = torch.empty(len(order), dtype=torch.long, device=self.device)
        back[torch.tensor(order, device=self.device)] = torch.arange(len(order), device=self.device)
        return torch.cat(parts)[back][:, None]

    def _encoder(self, transformer: Any) -> RowEncoder:  # noqa: ANN401 - any model of transformers
        return RowEncoder(
            transformer_forward(transformer),
            frame=self.frame,
            device=self.device,
            budget=AT_ONCE if self.device == "cpu" else 1 << 20,
            spent=self.spent,
        )
