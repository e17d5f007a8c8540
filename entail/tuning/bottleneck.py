r"""Decoder behind a bottleneck: it predicts a masked claim from the pooled vector of a passage alone.

.. math:: x_i = W v + e(t_i) + p_i, \qquad P(t_i) = \mathrm{head}(\mathrm{layer}(x)_i)

v is the passage's vector, e are the encoder's word embeddings of the claim with its masked tokens, p learnt
positions. It sees nothing else of the passage, so that what the passage entails has to go through the vector
that is searched. RetroMAE (Xiao et al. 2022) decodes the passage itself in this way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor

_HEADS = (12, 8, 4, 2)


def bottleneck_decoder(words: torch.nn.Module, *, dimension: int, length: int, seed: int) -> torch.nn.Module:
    """Return a module: vectors (rows, d), ids and attended tokens (rows, tokens) -> (rows, tokens, h).

    Args:
        words: Word embeddings of the encoder, which are shared; their size is h.
        dimension: Length of a vector, d.
        length: Maximum number of tokens of a claim.
        seed: Random seed of the weights.
    """
    import torch

    hidden = int(torch.as_tensor(words.weight).shape[1])
    heads = next((count for count in _HEADS if not hidden % count), 1)

    class Decoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.vector = torch.nn.Linear(dimension, hidden)
            self.positions = torch.nn.Embedding(length, hidden)
            self.norm = torch.nn.LayerNorm(hidden)
            self.layer = torch.nn.TransformerEncoderLayer(
                hidden, heads, 4 * hidden, dropout=0.0, activation="gelu", batch_first=True
            )
            torch.nn.init.normal_(self.positions.weight, std=0.02)

        def forward(self, vectors: Tensor, ids: Tensor, attended: Tensor) -> Tensor:
            positions = torch.arange(ids.shape[1], device=ids.device)
            # A unit vector of d entries is as long as one of word embeddings only by its scale.
            scaled = self.vector(vectors * dimension**0.5)
            read = self.norm(scaled[:, None] + words(ids) + self.positions(positions))
            states: Tensor = self.layer(read, src_key_padding_mask=~attended)
            return states

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Decoder()
