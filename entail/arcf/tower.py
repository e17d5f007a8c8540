"""Scorers in training: cross-encoder and bi-encoder, with further terms of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.arcf.scoring.bi_encoder import Head, RowEncoder, VectorCache, transformer_forward
from entail.arcf.scoring.inputs import by_prefix
from entail.arcf.scoring.terms import Terms
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.cross.pairs import Pair
from entail.encoders.stock import sentence_transformer
from entail.index.protocol import Floats
from entail.training.adapters.tower import AT_ONCE, CrossTower

if TYPE_CHECKING:
    from torch import Tensor


class ScorerTower(CrossTower):
    """Cross-encoder of premises in training, see `CrossTower`, with further terms of its scores."""

    terms = Terms()

    def add_terms(self, terms: Terms, weights: Sequence[float]) -> None:
        """Add terms to all scores, and save them; their weights are learnt."""
        import torch

        self.terms = terms
        for name, weight in zip(terms.names, weights, strict=True):
            parameter = torch.nn.Parameter(torch.full((1,), float(np.log(weight)), device=self.device))
            self.head.register_parameter(name, parameter)
            self.parameters[f"head.{name}"] = parameter

    def scores(self, pairs: Sequence[Pair], terms: Floats | None = None) -> Tensor:
        """Return the score of each pair with its gradient, shape (pairs,), fp32; terms: (pairs, terms)."""
        import torch

        scores = self.outputs(pairs)[:, 0]
        if terms is None:
            return scores
        weights = torch.cat([self.head.get_parameter(name).exp() for name in self.terms.names])
        return scores + torch.from_numpy(terms).to(self.device) @ weights

    def score(self, pairs: Sequence[Pair], terms: Floats | None = None) -> Floats:
        """Return the score of each pair without gradient and dropout, shape (pairs,)."""
        with self.inference():
            scores: Floats = self.scores(pairs, terms).cpu().numpy()
            return scores

    def save(self, folder: Path) -> None:
        """Write weights and terms into a new or empty folder.

        Raises:
            OSError: If the folder cannot be written.
        """
        super().save(folder)
        self.terms.save(folder)


_SCALE = 20.0
"""Initial g. Cosines differ by tenths: with a smaller g every pair is nearly a tie to the loss."""


class BiEncoderTower(ScorerTower):
    """Bi-encoder in training: the adapter moves the prefix among the base's vectors of candidates.

    A candidate is encoded once per training. The arguments are those of `CrossTower`; attention has no
    dropout.
    """

    def __init__(self, base: EncoderEntry, *, device: str, **options: Any) -> None:
        import torch

        super().__init__(base, device=device, **options)
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
            for batch, means in self._prefixes.batches(prefixes):
                for i, mean in zip(batch, means, strict=True):
                    positions = groups[prefixes[i]]
                    candidates = self._candidates.vectors([pairs[at][1] for at in positions])
                    with torch.autocast(torch.device(self.device).type, enabled=False):
                        parts.append(head.scores(candidates, mean))
                    order.extend(positions)
        back = torch.empty(len(order), dtype=torch.long, device=self.device)
        back[torch.tensor(order, device=self.device)] = torch.arange(len(order), device=self.device)
        return torch.cat(parts)[back][:, None]

    def _encoder(self, transformer: Any) -> RowEncoder:
        return RowEncoder(
            transformer_forward(transformer),
            frame=self.frame,
            device=self.device,
            budget=AT_ONCE if self.device == "cpu" else 1 << 20,
        )
