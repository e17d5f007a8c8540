"""A scorer whose prefix never reads the candidate, and whose candidate reads it only in the upper layers.

A cross-encoder computes question and chosen facts anew for every candidate. Here the prefix is read once, by
itself, and so is each candidate through the lower layers, once a corpus (after PreTTR, MacAvaney et al.
2020). In the layers above them a candidate's tokens attend to the prefix's and to its own,

    x' = softmax([q K_p, q K_c] / sqrt(d_h)) [V_p; V_c],

where K_p, V_p are the same for every candidate. The score is that of the mean m of the candidate's last
states, and of its cosine to the mean p of the prefix's,

    s = w m + b + g cos(m, p).

A step then costs a candidate's own tokens in the upper layers alone.

Where no layer is left above, the two are read *apart*: candidates by the base as it is, once a corpus, the
prefix by an adapter on it, and a step costs one prefix, however many candidates there are (a bi-encoder of
chains, as in SCAR, Valentino et al. 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from entail.encoders.pairs import Frame, Ids

if TYPE_CHECKING:
    from torch import Tensor


class Layers(Protocol):
    """The maps of a BERT, by the number of the layer."""

    @property
    def depth(self) -> int:
        """Number of layers."""
        ...

    def embed(self, ids: Tensor) -> Tensor:
        """Token ids -> the states below the first layer, (rows, tokens, d)."""
        ...

    def attention(self, at: int, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """States -> queries, keys and values, each (rows, heads, tokens, d / heads)."""
        ...

    def above(self, at: int, x: Tensor, mixed: Tensor) -> Tensor:
        """States and what attention brought to them -> the states of the next layer, (rows, tokens, d)."""
        ...


class Head(NamedTuple):
    """What makes a score of a candidate.

    Attributes:
        weight: w, (1, d).
        bias: b, (1,).
        scale: g, (1,).
    """

    weight: Tensor
    bias: Tensor
    scale: Tensor


@dataclass(frozen=True)
class PrefixStates:
    """What candidates read of a prefix.

    Attributes:
        keys: K_p of every upper layer, (heads, tokens, d / heads).
        values: V_p, same shapes.
        mean: p, (d,).
        tokens: How many tokens it has.
    """

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    mean: Tensor
    tokens: int


def prefix_row(ids: Ids, frame: Frame) -> list[int]:
    """Return a prefix with the tokens around it."""
    return [*frame.head, *ids, *frame.tail]


def candidate_rows(candidates: Sequence[Ids], frame: Frame) -> tuple[Any, Any]:
    """Return candidates with the tokens around them, and which are no padding, both (rows, tokens)."""
    lengths = [candidate_tokens(ids, frame) for ids in candidates]
    rows = np.full((len(candidates), max(lengths)), frame.padding, dtype=np.int64)
    for row, ids in zip(rows, candidates, strict=True):
        row[: candidate_tokens(ids, frame)] = prefix_row(ids, frame)
    return rows, np.arange(rows.shape[1]) < np.array(lengths)[:, None]


def candidate_tokens(ids: Ids, frame: Frame) -> int:
    """Return how many tokens a candidate's own row has."""
    return len(frame.head) + len(ids) + len(frame.tail)


def read_prefix(layers: Layers, row: Tensor, *, alone: int) -> PrefixStates:
    """Read a prefix by itself.

    Args:
        layers: The maps.
        row: Its token ids, (1, tokens).
        alone: Layers in which candidates do not read it.
    """
    x, keys, values = layers.embed(row), [], []
    for at in range(layers.depth):
        query, key, value = layers.attention(at, x)
        if at >= alone:
            keys.append(key[0])
            values.append(value[0])
        x = layers.above(at, x, _attend(query, key, value, None))
    return PrefixStates(tuple(keys), tuple(values), x[0].float().mean(0), row.shape[1])


def read_alone(layers: Layers, rows: Tensor, known: Tensor | None, *, alone: int) -> Tensor:
    """Read candidates by themselves through the lower layers, (rows, tokens, d).

    Args:
        layers: The maps.
        rows: Token ids, (rows, tokens).
        known: Which are no padding, same shape; None: all.
        alone: Number of those layers.
    """
    x = layers.embed(rows)
    for at in range(alone):
        x = layers.above(at, x, _attend(*layers.attention(at, x), known))
    return x


def read_onto(layers: Layers, x: Tensor, known: Tensor | None, prefix: PrefixStates, *, alone: int) -> Tensor:
    """Read candidates on through the upper layers, after a prefix; the mean m of their states, (rows, d).

    Args:
        layers: The maps.
        x: What `read_alone` returned.
        known: Which tokens are no padding; None: all.
        prefix: What `read_prefix` returned.
        alone: As there.
    """
    for at in range(alone, layers.depth):
        onto = prefix.keys[at - alone], prefix.values[at - alone]
        x = layers.above(at, x, _attend(*layers.attention(at, x), known, onto))
    return mean_of(x, known)


def mean_of(x: Tensor, known: Tensor | None) -> Tensor:
    """Return the means of rows of states, fp32, (rows, d).

    Args:
        x: The states, (rows, tokens, d).
        known: Which tokens are no padding; None: all.
    """
    if known is None:
        return x.float().mean(1)
    kept = known[:, :, None].float()  # (rows, tokens, 1)
    return (x.float() * kept).sum(1) / kept.sum(1)


def scores_of(mean: Tensor, prefix: PrefixStates, head: Head) -> Tensor:
    """Return w m + b + g cos(m, p) of candidates, shape (rows,).

    Args:
        mean: m, (rows, d).
        prefix: Whose mean p is.
        head: w, b and g.
    """
    from torch.nn.functional import cosine_similarity, linear

    plain = linear(mean, head.weight, head.bias)[:, 0]  # (rows,)
    return plain + head.scale * cosine_similarity(mean, prefix.mean[None], dim=-1)


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    known: Tensor | None,
    onto: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """Attend to one's own tokens, and to a prefix's that all rows share; (rows, tokens, d)."""
    import torch

    rows, heads, tokens, size = query.shape
    query = query * size**-0.5
    marks = query @ key.transpose(2, 3)  # (rows, heads, tokens, tokens)
    if known is not None:
        marks = marks.masked_fill(~known[:, None, None, :], float("-inf"))
    if onto is None:
        mixed = torch.softmax(marks, dim=-1).to(value.dtype) @ value
        return mixed.transpose(1, 2).reshape(rows, tokens, heads * size)
    keys, values = onto  # (heads, prefix, size)
    flat = query.transpose(0, 1).reshape(heads, rows * tokens, size)
    ahead = (flat @ keys.transpose(1, 2)).view(heads, rows, tokens, -1).transpose(0, 1)
    shares = torch.softmax(torch.cat([ahead, marks], dim=-1), dim=-1).to(value.dtype)
    length = keys.shape[1]
    of_prefix = shares[..., :length].transpose(0, 1).reshape(heads, rows * tokens, length)
    mixed = (of_prefix @ values).view(heads, rows, tokens, size).transpose(0, 1)
    mixed = mixed + shares[..., length:] @ value
    return mixed.transpose(1, 2).reshape(rows, tokens, heads * size)
