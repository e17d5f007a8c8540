"""A scorer in training whose prefix never reads the candidate, see `entail.arcf.split`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from entail.arcf.inputs import by_prefix
from entail.arcf.split import (
    Head,
    candidate_rows,
    candidate_tokens,
    prefix_row,
    read_alone,
    read_onto,
    read_prefix,
    scores_of,
)
from entail.arcf.split_layers import ModuleLayers
from entail.arcf.tower import ScorerTower
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.pairs import Pair
from entail.encoders.row_batches import token_batches
from entail.training.cross_tower import AT_ONCE
from entail.training.tower import Lora, Precision

if TYPE_CHECKING:
    from torch import Tensor

_SCALE = 5.0
"""g at the start: before anything is learnt, what resembles the prefix ranks first."""


class SplitTower(ScorerTower):
    """Learns to score candidates that read a prefix in the upper layers alone.

    Args:
        base: A whole model built as BERT is, the start.
        lora: Train an adapter of this form, and the head; None trains every weight.
        device: A torch device.
        longest: Tokens that are read, at most what the base reads.
        alone: Layers in which a candidate reads itself alone, below the base's depth.
        precision: As `ScorerTower`.
        dropout: Of hidden states; None leaves it as the base has it. Attention has none.
        seed: Of the head.

    Raises:
        EncoderError: If the base cannot be loaded, or is built otherwise.
        TrainingError: As `Tower`.
    """

    def __init__(
        self,
        base: EncoderEntry,
        *,
        lora: Lora | None,
        device: str,
        longest: int,
        alone: int,
        precision: Precision = "fp32",
        dropout: float | None = None,
        seed: int = 0,
    ) -> None:
        import torch

        super().__init__(
            base,
            lora=lora,
            device=device,
            longest=longest,
            precision=precision,
            dropout=dropout,
            seed=seed,
        )
        self._layers = ModuleLayers(self._transformer, name=base.name)
        self.alone = min(alone, self._layers.depth - 1)
        scale = torch.nn.Parameter(torch.full((1,), _SCALE, device=device))
        self.head.register_parameter("scale", scale)
        self.parameters["head.scale"] = scale

    def outputs(self, pairs: Sequence[Pair]) -> Tensor:
        """Return a score a pair with its gradient, shape (pairs, 1), fp32."""
        import torch

        head = Head(self.head.weight, self.head.bias, self.head.get_parameter("scale"))
        parts: list[Tensor] = []
        order: list[int] = []
        for ids, places in by_prefix(pairs).items():
            candidates = [pairs[place][1] for place in places]
            row = torch.tensor([prefix_row(ids, self.frame)], device=self.device)
            with self._autocast():
                prefix = read_prefix(self._layers, row, alone=self.alone)
            self.spent.add(1, row.numel(), row.numel())
            lengths = [candidate_tokens(one, self.frame) for one in candidates]
            for some in token_batches(lengths, budget=AT_ONCE if self.device == "cpu" else 1 << 20):
                rows, known = candidate_rows([candidates[i] for i in some], self.frame)
                mask = None if known.all() else torch.from_numpy(known).to(self.device)
                tokens = torch.from_numpy(rows).to(self.device)
                with self._autocast():
                    x = read_alone(self._layers, tokens, mask, alone=self.alone)
                    mean = read_onto(self._layers, x, mask, prefix, alone=self.alone)
                parts.append(scores_of(mean, prefix, head))  # (some,)
                order.extend(places[i] for i in some)
                self.spent.add(len(some), int(known.sum()), rows.size)
        back = torch.empty(len(order), dtype=torch.long, device=self.device)
        back[torch.tensor(order, device=self.device)] = torch.arange(len(order), device=self.device)
        return torch.cat(parts)[back][:, None]
