"""A cross-encoder in training: a transformer whose adapter, or all of it, learns, and a linear head."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.encoders.catalogue import EncoderEntry
from entail.encoders.cross import ADAPTER, HEAD, WHOLE
from entail.encoders.cross_stock import cross_encode
from entail.encoders.pairs import Pair, read_tokenizer
from entail.encoders.row_batches import Spent
from entail.encoders.stock import without_head
from entail.index.protocol import Floats
from entail.training.tower import Lora, Precision, Tower, save_whole

if TYPE_CHECKING:
    from torch import Tensor

AT_ONCE = 4096
"""Tokens of a forward pass; a loss is over several."""


class CrossTower(Tower):
    """A cross-encoder that learns: the first token's vector to so many outputs.

    Args:
        base: A whole model, the start.
        lora: Train an adapter of this form, and the head; None trains every weight.
        device: A torch device.
        longest: Tokens that are read, at most what the base reads.
        outputs: Numbers that a pair becomes.
        precision: bf16 computes hidden vectors under autocast; the head and the loss stay fp32.
        dropout: Of hidden states and attention while training; None leaves it as the base has it.
        seed: Of the head.

    Raises:
        EncoderError: If the base cannot be loaded, has no transformer first, or a slow tokenizer.
        TrainingError: As `Tower`.
    """

    def __init__(
        self,
        base: EncoderEntry,
        *,
        lora: Lora | None,
        device: str,
        longest: int,
        outputs: int = 1,
        precision: Precision = "fp32",
        dropout: float | None = None,
        seed: int = 0,
    ) -> None:
        import torch

        super().__init__(base, lora=lora, device=device, precision=precision, dropout=dropout)
        self.model = without_head(self.model, pooling="cls")
        first: Any = next(iter(self.model.children()))
        self._transformer: Any = first.auto_model
        self.longest = min(longest, self.model.max_seq_length or longest)
        told = first.tokenizer
        self.tokenize, self.frame = read_tokenizer(
            told.backend_tokenizer.to_str(), name=base.name, padding=told.pad_token_id
        )
        draw = torch.Generator().manual_seed(seed)
        d = int(self._transformer.config.hidden_size)
        self.head = torch.nn.Linear(d, outputs)
        with torch.no_grad():
            self.head.weight.copy_(torch.randn(outputs, d, generator=draw) * 0.02)
            self.head.bias.zero_()
        self.head.to(device)
        self.spent = Spent()
        self.model.train()
        self.parameters |= {f"head.{name}": p for name, p in self.head.named_parameters()}

    def outputs(self, pairs: Sequence[Pair]) -> Tensor:
        """Return the outputs of pairs with their gradient, shape (pairs, outputs), fp32."""
        import torch

        return cross_encode(
            self._transformer,
            self.head,
            pairs,
            frame=self.frame,
            budget=AT_ONCE if self.device == "cpu" else 1 << 20,
            spent=self.spent,
            autocast=torch.bfloat16 if self.precision == "bf16" else None,
        )

    def values(self, pairs: Sequence[Pair]) -> Floats:
        """Return the outputs of pairs without gradient and dropout, shape (pairs, outputs)."""
        import torch

        self.model.eval()
        try:
            with torch.inference_mode():
                found: Floats = self.outputs(pairs).cpu().numpy()
                return found
        finally:
            self.model.train()

    def save(self, folder: Path) -> None:
        """Write adapter (fp16) and head, or the whole model and head, into a new or empty folder.

        Raises:
            OSError: If the folder cannot be written.
        """
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        if self.lora is None:
            save_whole(folder / WHOLE, self.model)
        else:
            super().save(folder / ADAPTER)
        head = {name: p.detach().cpu().contiguous().clone() for name, p in self.head.named_parameters()}
        save_file(head, str(folder / HEAD))
