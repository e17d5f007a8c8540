"""Cross-encoder in training: a transformer, by adapter or whole, and a linear head."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from entail.encoders.catalogue import EncoderEntry
from entail.encoders.cross.encoder import ADAPTER, HEAD, WHOLE, cross_outputs, transformer_forward
from entail.encoders.cross.pairs import Pair, wrap_tokenizer
from entail.encoders.row_batches import Spent
from entail.encoders.stock import replace_head
from entail.index.protocol import Floats
from entail.training.adapters.tower import Tower, TowerOptions, save_whole

if TYPE_CHECKING:
    from torch import Tensor

AT_ONCE = 4096
"""Tokens per forward pass; a loss spans several passes."""


class CrossTower(Tower):
    """Trainable cross-encoder: a linear head, fp32, on the first token's vector; the options are of `Tower`.

    Raises:
        EncoderError: If the base cannot be loaded, has no transformer first, or a slow tokenizer.
        TrainingError: See `Tower`.
    """

    def __init__(
        self,
        base: EncoderEntry,
        *,
        max_length: int,
        outputs: int = 1,
        seed: int = 0,
        **options: Unpack[TowerOptions],
    ) -> None:
        import torch

        super().__init__(base, **options)
        self.model = replace_head(self.model, pooling="cls")
        first: Any = next(iter(self.model.children()))
        self._transformer: Any = first.auto_model
        self.max_length = min(max_length, self.model.max_seq_length or max_length)
        self.tokenize, self.frame = wrap_tokenizer(first.tokenizer, name=base.name)
        draw = torch.Generator().manual_seed(seed)
        d = int(self._transformer.config.hidden_size)
        self.head = torch.nn.Linear(d, outputs)
        with torch.no_grad():
            self.head.weight.copy_(torch.randn(outputs, d, generator=draw) * 0.02)
            self.head.bias.zero_()
        self.head.to(self.device)
        self.spent = Spent()
        self.model.train()
        self.parameters |= {f"head.{name}": p for name, p in self.head.named_parameters()}

    def outputs(self, pairs: Sequence[Pair]) -> Tensor:
        """Return the outputs of pairs with their gradient, shape (pairs, outputs), fp32."""
        import torch

        autocast = torch.bfloat16 if self.precision == "bf16" else None
        forward = transformer_forward(self._transformer, typed=self.frame.typed, autocast=autocast)
        return cross_outputs(
            lambda ids, mask, second: self.head(forward(ids, mask, second)),
            pairs,
            frame=self.frame,
            budget=AT_ONCE if self.device == "cpu" else 1 << 20,
            spent=self.spent,
        )

    def values(self, pairs: Sequence[Pair]) -> Floats:
        """Return the outputs of pairs without gradient and dropout, shape (pairs, outputs)."""
        with self.inference():
            outputs: Floats = self.outputs(pairs).cpu().numpy()
            return outputs

    def save(self, folder: Path) -> None:
        """Write adapter (fp16) and head, or the whole model and head, into a new or empty folder."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        if self.lora is None:
            save_whole(folder / WHOLE, self.model)
        else:
            super().save(folder / ADAPTER)
        head = {name: p.detach().cpu().contiguous().clone() for name, p in self.head.named_parameters()}
        save_file(head, str(folder / HEAD))
