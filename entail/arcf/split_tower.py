"""A scorer in training whose prefix never reads the candidate, see `entail.arcf.split`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from entail.arcf.inputs import by_prefix
from entail.arcf.split import (
    Head,
    Layers,
    candidate_rows,
    candidate_tokens,
    prefix_row,
    read_alone,
    read_onto,
    read_prefix,
    scores_of,
)
from entail.arcf.split_layers import ModuleLayers
from entail.arcf.split_store import LowerStates
from entail.arcf.tower import ScorerTower
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.pairs import Ids, Pair
from entail.encoders.row_batches import token_batches
from entail.training.cross_tower import AT_ONCE
from entail.training.tower import Lora, Precision

if TYPE_CHECKING:
    from torch import Tensor

_SCALE = 20.0
"""g at the start: before anything is learnt, what resembles the prefix ranks first.

Cosines differ by tenths: with a smaller g every pair is nearly a tie to the loss, and the many that are easy
outweigh the few at the top that make the MAP.
"""


class SplitTower(ScorerTower):
    """Learns to score candidates that read a prefix in the upper layers alone.

    Args:
        base: A whole model built as BERT is, the start.
        lora: Train an adapter of this form, and the head; None trains every weight.
        device: A torch device.
        longest: Tokens that are read, at most what the base reads.
        alone: Layers in which a candidate reads itself alone, below the base's depth.
        frozen: Those layers, and what is below them, stay the base's; what they make of a candidate is
            computed once.
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
        frozen: bool = False,
        precision: Precision = "fp32",
        dropout: float | None = None,
        seed: int = 0,
    ) -> None:
        import torch

        super().__init__(
            base,
            lora=replace(lora, lowest=alone) if lora and frozen else lora,
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
        self._lower: LowerStates | None = None
        if frozen:
            self._freeze()
            self._lower = self.lower_states(self._layers)

    @property
    def score_head(self) -> Head:
        """What makes a score of states."""
        return Head(self.head.weight, self.head.bias, self.head.get_parameter("scale"))

    def lower_states(self, layers: Layers) -> LowerStates:
        """Return what keeps candidates as the layers in which they read themselves alone make them."""
        return LowerStates(
            layers,
            alone=self.alone,
            frame=self.frame,
            device=self.device,
            budget=AT_ONCE if self.device == "cpu" else 1 << 20,
            spent=self.spent,
        )

    def outputs(self, pairs: Sequence[Pair]) -> Tensor:
        """Return a score a pair with its gradient, shape (pairs, 1), fp32."""
        import torch

        with self._autocast():  # one for all batches: what is cast once is cast for all of them
            parts, order = self._parts(pairs)
        back = torch.empty(len(order), dtype=torch.long, device=self.device)
        back[torch.tensor(order, device=self.device)] = torch.arange(len(order), device=self.device)
        return torch.cat(parts)[back][:, None]

    def _parts(self, pairs: Sequence[Pair]) -> tuple[list[Tensor], list[int]]:
        """Return the scores in the order in which they were computed, and whose they are."""
        import torch

        parts: list[Tensor] = []
        order: list[int] = []
        for ids, places in by_prefix(pairs).items():
            candidates = [pairs[place][1] for place in places]
            row = torch.tensor([prefix_row(ids, self.frame)], device=self.device)
            prefix = read_prefix(self._layers, row, alone=self.alone)
            self.spent.add(1, row.numel(), row.numel())
            lengths = [candidate_tokens(one, self.frame) for one in candidates]
            for some in token_batches(lengths, budget=AT_ONCE if self.device == "cpu" else 1 << 20):
                rows, known = candidate_rows([candidates[i] for i in some], self.frame)
                mask = None if known.all() else torch.from_numpy(known).to(self.device)
                tokens = torch.from_numpy(rows).to(self.device)
                x = self._read_alone([candidates[i] for i in some], tokens, mask)
                mean = read_onto(self._layers, x, mask, prefix, alone=self.alone)
                with torch.autocast(torch.device(self.device).type, enabled=False):
                    parts.append(scores_of(mean, prefix, self.score_head))  # (some,)
                order.extend(places[i] for i in some)
                self.spent.add(len(some), int(known.sum()), rows.size)
        return parts, order

    def _read_alone(self, candidates: Sequence[Ids], tokens: Tensor, mask: Tensor | None) -> Tensor:
        import torch

        if self._lower is None:
            return read_alone(self._layers, tokens, mask, alone=self.alone)
        return torch.nn.utils.rnn.pad_sequence(self._lower.of(candidates), batch_first=True)

    def _freeze(self) -> None:
        """Let neither the embeddings nor the lower layers learn, nor drop anything."""
        import torch

        lower = re.compile(r"embeddings\.|layer\.(\d+)\.")
        for name in list(self.parameters):
            found = lower.search(name)
            if found and int(found[1] or -1) < self.alone:
                self.parameters.pop(name).requires_grad_(False)
        for module in self._layers.lowest(self.alone):
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
