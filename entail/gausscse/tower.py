"""Encoder of Gaussians in training: hidden vectors, and a linear head to means and log variances."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from entail.encoders.catalogue import EncoderEntry
from entail.encoders.gaussian.form import HEAD, Pooling
from entail.encoders.stock import replace_head
from entail.training.adapters.tower import Tower, TowerOptions, save_whole

if TYPE_CHECKING:
    from torch import Tensor

_LOG_VARIANCE_SCALE = 0.1
"""Share of a random projection in the initial log variances: near 0, but different."""


class GaussianTower(Tower):
    """Encoder of Gaussians in training.

    Initial means are hidden vectors scaled to a length of about sqrt(d), initial variances are near 1:
    training starts from the geometry of the base. The arguments are those of `CrossTower`, and the pooling of
    hidden vectors.

    Raises:
        EncoderError: If the base cannot be loaded, or has no transformer first.
        TrainingError: See `Tower`.
    """

    def __init__(
        self,
        base: EncoderEntry,
        *,
        pooling: Pooling = "mean",
        max_length: int | None = None,
        seed: int = 0,
        **options: Unpack[TowerOptions],
    ) -> None:
        import torch
        from sentence_transformers.sentence_transformer.modules import Dense

        super().__init__(base, **options)
        self.model = replace_head(self.model, pooling=pooling)
        self._reads = self.model.max_seq_length
        if max_length is not None:
            self.model.max_seq_length = min(max_length, self._reads or max_length)
        d = self.model.get_embedding_dimension()
        assert d is not None
        self.head = Dense(d, 2 * d, activation_function=None)
        draw = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            self.model.eval()
            length = float(self._embed(_PROBES).norm(dim=1).mean())
            self.head.linear.weight[:d] = torch.eye(d) * (d**0.5 / max(length, 1e-6))
            noise = torch.randn(d, d, generator=draw) / d**0.5
            self.head.linear.weight[d:] = noise * (_LOG_VARIANCE_SCALE / max(length / d**0.5, 1e-6))
            self.head.linear.bias.zero_()
        self.head.to(self.device)
        self.model.train()
        self.parameters |= {f"{HEAD}.{name}": p for name, p in self.head.named_parameters()}

    @property
    def dimension(self) -> int:
        """Outputs per sentence, 2 d."""
        return int(self.head.out_features)

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Return the outputs of the head with their gradient, shape (texts, 2 d), fp32."""
        values: Tensor = self.head.linear(self._embed(texts))
        return values

    def save(self, folder: Path) -> None:
        """Write adapter and head (fp16), or the whole model, into a new or empty folder."""
        import copy

        import torch
        from sentence_transformers import SentenceTransformer

        self.model.max_seq_length = self._reads
        if self.lora is None:
            modules = [*self.model.children(), self.head]
            save_whole(folder, SentenceTransformer(modules=modules, device="cpu"))
        else:
            super().save(folder)
            (folder / HEAD).mkdir()
            copy.deepcopy(self.head).to("cpu", torch.float16).save(str(folder / HEAD))


_PROBES = ("a man is playing a guitar on a stage", "the company did not say why it had changed its plans")
