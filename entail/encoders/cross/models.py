"""Cross-encoders in memory: a plain BERT by torch alone, any other transformer by transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from entail.cancellation import cancellable
from entail.encoders.bert.lora import merge_adapter
from entail.encoders.bert.model import Bert, LowRank
from entail.encoders.cross.pairs import Frame, Pair, Tokenize
from entail.encoders.row_batches import Booleans, Ints, Spent, budget_of, pad_rows, token_batches

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Floats = NDArray[np.float32]

CrossForward = Callable[[Ints, Booleans, Booleans], "Tensor"]
"""Token ids, mask of what is not padding, mask of the second text, each (rows, tokens) -> the first token's
vector of each row, or the outputs made from it, in fp32."""


class CrossEncoder:
    """Two texts read together, to one output or more.

    Any number of threads may use it; the counts of `spent` are then approximate.

    Args:
        forward: Forward pass.
        head: Weight (outputs, d) and bias (outputs,) of a linear map, fp32.
        tokenize: Tokenizer.
        frame: Special tokens around a pair.
        max_length: Maximum tokens of a row.
        budget: Tokens per forward pass; default: by device.
    """

    def __init__(
        self,
        forward: CrossForward,
        head: tuple[Tensor, Tensor],
        *,
        tokenize: Tokenize,
        frame: Frame,
        max_length: int,
        budget: int | None = None,
    ) -> None:
        self._forward, self._head = forward, head
        self.tokenize, self.frame, self.max_length = tokenize, frame, max_length
        self.budget = budget or budget_of(head[0].device.type)
        self.spent = Spent()

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return the first output of each pair, shape (pairs,)."""
        return self.values(pairs)[:, 0]

    def values(self, pairs: Sequence[Pair]) -> Floats:
        """Return all outputs of each pair, shape (pairs, outputs)."""
        import torch
        from torch.nn.functional import linear

        if not pairs:
            return np.empty((0, len(self._head[1])), dtype=np.float32)

        def outputs(ids: Ints, mask: Booleans, second: Booleans) -> Tensor:
            return linear(self._forward(ids, mask, second), *self._head)

        with torch.inference_mode():
            logits = cross_outputs(outputs, pairs, frame=self.frame, budget=self.budget, spent=self.spent)
            values: Floats = logits.cpu().numpy()
            return values


def cross_outputs(
    forward: CrossForward, pairs: Sequence[Pair], *, frame: Frame, budget: int, spent: Spent
) -> Tensor:
    """Return what a forward pass makes of one pair or more, in order."""
    import torch

    rows = [frame.row(pair) for pair in pairs]
    batches = token_batches([len(row) for row in rows], budget=budget)
    parts = []
    for batch in cancellable(batches):
        ids, mask = pad_rows([rows[i] for i in batch], frame.padding)
        first = np.array([[frame.first(pairs[i])] for i in batch])
        parts.append(forward(ids, mask, mask & (np.arange(ids.shape[1]) >= first)))
        spent.add(len(batch), int(mask.sum()), ids.size)
    outputs = torch.cat(parts)
    return outputs[torch.from_numpy(np.argsort(np.concatenate(batches))).to(outputs.device)]


def bert_forward(bert: Bert, adapter: LowRank, kinds: Tensor | None) -> CrossForward:
    """Return the forward pass of a plain BERT, its adapter merged, the last layer for the first token only.

    `kinds` has the vectors of the two token types, (2, d); None where texts have no type.
    """
    import torch

    linears = merge_adapter(bert, adapter)
    # The base's positions include the first type's vector.
    change = None if kinds is None else kinds[1] - kinds[0]

    def forward(ids: Ints, mask: Booleans, second: Booleans) -> Tensor:
        tokens, attention, typed = (torch.from_numpy(array).to(bert.device) for array in (ids, mask, second))
        states = bert.states(
            tokens,
            None if mask.all() else attention,
            linears=linears,
            kinds=None if change is None else typed[:, :, None] * change,
            first_only=True,
        )
        return states[:, 0].float()

    return forward


def transformer_forward(
    transformer: Any,  # noqa: ANN401 - any model of transformers
    *,
    typed: bool,
    autocast: torch.dtype | None = None,
) -> CrossForward:
    """Return the forward pass of a model of transformers, which may take token types."""
    import torch

    def forward(ids: Ints, mask: Booleans, second: Booleans) -> Tensor:
        inputs = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
        if typed:
            inputs["token_type_ids"] = second.astype(np.int64)
        device = transformer.device
        with torch.autocast(device.type, dtype=autocast, enabled=autocast is not None):
            states = transformer(
                **{name: torch.from_numpy(array).to(device) for name, array in inputs.items()}
            )
        vectors: Tensor = states.last_hidden_state[:, 0].float()
        return vectors

    return forward
