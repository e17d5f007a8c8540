"""A scorer in training whose prefix and candidate never read each other, see `entail.arcf.split`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from entail.arcf.inputs import by_prefix
from entail.arcf.split import (
    PrefixStates,
    candidate_rows,
    candidate_tokens,
    mean_of,
    read_alone,
    scores_of,
)
from entail.arcf.split_layers import ModuleLayers
from entail.arcf.split_tower import SplitTower
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.pairs import Pair
from entail.encoders.row_batches import token_batches
from entail.encoders.stock import sentence_transformer
from entail.training.cross_tower import AT_ONCE
from entail.training.tower import Lora, Precision

if TYPE_CHECKING:
    from torch import Tensor


class ApartTower(SplitTower):
    """Learns where the vector of a prefix should lie among those that the base makes of candidates.

    A candidate costs nothing but the first time it is met: a prefix can be compared with all that is visible.

    Args:
        base: A whole model built as BERT is, the start.
        lora: The adapter that prefixes are read by.
        device: A torch device.
        longest: Tokens that are read, at most what the base reads.
        precision: As `ScorerTower`.
        dropout: Of hidden states of a prefix; None leaves it as the base has it. Attention has none.
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
        precision: Precision = "fp32",
        dropout: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            base,
            lora=lora,
            device=device,
            longest=longest,
            alone=0,
            precision=precision,
            dropout=dropout,
            seed=seed,
        )
        self.alone = self._layers.depth
        as_it_is: Any = next(iter(sentence_transformer(base, device=device).children()))
        below = as_it_is.auto_model.eval().requires_grad_(requires_grad=False)
        self._candidates = self.lower_states(ModuleLayers(below, name=base.name))

    def _parts(self, pairs: Sequence[Pair]) -> tuple[list[Tensor], list[int]]:
        import torch

        behind = by_prefix(pairs)
        prefixes = list(behind)
        parts: list[Tensor] = []
        order: list[int] = []
        lengths = [candidate_tokens(ids, self.frame) for ids in prefixes]
        for some in token_batches(lengths, budget=AT_ONCE if self.device == "cpu" else 1 << 20):
            rows, known = candidate_rows([prefixes[i] for i in some], self.frame)
            mask = None if known.all() else torch.from_numpy(known).to(self.device)
            tokens = torch.from_numpy(rows).to(self.device)
            means = mean_of(read_alone(self._layers, tokens, mask, alone=self.alone), mask)  # (some, d)
            self.spent.add(len(some), int(known.sum()), rows.size)
            for i, mean in zip(some, means, strict=True):
                places = behind[prefixes[i]]
                read = torch.cat(self._candidates.of([pairs[place][1] for place in places]))  # (places, d)
                with torch.autocast(torch.device(self.device).type, enabled=False):
                    parts.append(scores_of(read, PrefixStates((), (), mean, lengths[i]), self.score_head))
                order.extend(places)
        return parts, order
