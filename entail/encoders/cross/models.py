"""Cross-encoders in memory: a plain BERT by torch alone, any other transformer by transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from entail.encoders.bert.lora import merge_adapter
from entail.encoders.bert.model import Bert, LowRank
from entail.encoders.cross.pairs import Frame, Pair, Tokenize, read_tokenizer
from entail.encoders.row_batches import Spent, budget_of, pad_rows, token_batches

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float32]


class CrossBert:
    """A cross-encoder on a plain BERT, adapter merged, the last layer for the first token only.

    `kinds` has the vectors of the two token types, (2, d), `head` weight (outputs, d) and bias (outputs,) in
    fp32. Any number of threads may use it; the counts of `spent` are then approximate.
    """

    def __init__(
        self,
        bert: Bert,
        adapter: LowRank,
        *,
        kinds: Tensor,
        head: tuple[Tensor, Tensor],
        tokenize: Tokenize,
        frame: Frame,
        max_length: int,
        budget: int | None = None,
    ) -> None:
        self._bert, self._head = bert, head
        self._second = kinds[1] - kinds[0]  # the base's positions include the first type's vector
        self._linears = merge_adapter(bert, adapter)
        self.tokenize, self.frame = tokenize, frame
        self.max_length = min(max_length, bert.config.positions)
        self.budget = budget or budget_of(bert.device)
        self.spent = Spent()

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return the first output of each pair, shape (pairs,)."""
        return self.values(pairs)[:, 0]

    def values(self, pairs: Sequence[Pair]) -> Floats:
        """Return all outputs of each pair, shape (pairs, outputs)."""
        import torch
        from torch.nn.functional import linear

        device, frame = self._bert.device, self.frame
        rows = [frame.row(pair) for pair in pairs]
        outputs: Floats = np.empty((len(rows), len(self._head[1])), dtype=np.float32)
        with torch.inference_mode():
            for batch in token_batches([len(row) for row in rows], budget=self.budget):
                ids, real = pad_rows([rows[i] for i in batch], frame.padding)
                mask = None if real.all() else torch.from_numpy(real).to(device)
                kinds = None
                if frame.typed:
                    first = torch.tensor([[frame.first(pairs[i])] for i in batch], device=device)
                    place = torch.arange(ids.shape[1], device=device)
                    kinds = (place >= first)[:, :, None] * self._second
                tokens = torch.from_numpy(ids).to(device)
                x = self._bert.states(tokens, mask, linears=self._linears, kinds=kinds, first_only=True)
                outputs[batch] = linear(x[:, 0].float(), *self._head).cpu().numpy()  # (rows, outputs)
                self.spent.add(len(batch), int(real.sum()), ids.size)
        return outputs


class CrossStock:
    """A cross-encoder on any other model of sentence-transformers, its adapter loaded."""

    def __init__(
        self,
        model: Any,  # noqa: ANN401 - of sentence-transformers, which is imported late
        head: tuple[Tensor, Tensor],
        *,
        name: str,
        max_length: int,
        budget: int | None = None,
    ) -> None:
        import torch

        first = next(iter(model.children()))
        self._transformer = first.auto_model.eval()
        self.tokenize, self.frame = read_tokenizer(
            first.tokenizer.backend_tokenizer.to_str(), name=name, padding=first.tokenizer.pad_token_id
        )
        self._head = torch.nn.Linear(head[0].shape[1], len(head[0]))
        self._head.load_state_dict({"weight": head[0], "bias": head[1]})
        self._head.to(model.device)
        self.max_length = max_length
        self.budget = budget or budget_of(model.device.type)
        self.spent = Spent()

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return the first output of each pair, shape (pairs,)."""
        return self.values(pairs)[:, 0]

    def values(self, pairs: Sequence[Pair]) -> Floats:
        """Return all outputs of each pair, shape (pairs, outputs)."""
        import torch

        if not pairs:
            return np.empty((0, self._head.out_features), dtype=np.float32)
        with torch.inference_mode():
            outputs = cross_encode(
                self._transformer, self._head, pairs, frame=self.frame, budget=self.budget, spent=self.spent
            )
            values: Floats = outputs.float().cpu().numpy()
            return values


def cross_encode(
    transformer: Any,  # noqa: ANN401 - any model of transformers
    head: Any,  # noqa: ANN401 - a linear layer
    pairs: Sequence[Pair],
    *,
    frame: Frame,
    budget: int,
    spent: Spent,
    autocast: Any = None,  # noqa: ANN401 - a torch dtype
) -> Tensor:
    """Return the outputs of one pair or more by a model of transformers, shape (pairs, outputs), in fp32."""
    import torch

    device = head.weight.device
    rows = [frame.row(pair) for pair in pairs]
    batches = token_batches([len(row) for row in rows], budget=budget)
    parts = []
    for batch in batches:
        ids, mask = pad_rows([rows[i] for i in batch], frame.padding)
        inputs = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
        if frame.typed:
            first = np.array([[frame.first(pairs[i])] for i in batch])
            inputs["token_type_ids"] = (mask & (np.arange(ids.shape[1]) >= first)).astype(np.int64)
        with torch.autocast(device.type, dtype=autocast, enabled=autocast is not None):
            states = transformer(
                **{name: torch.from_numpy(array).to(device) for name, array in inputs.items()}
            )
        parts.append(head(states.last_hidden_state[:, 0].float()))  # (rows, outputs)
        spent.add(len(batch), int(mask.sum()), ids.size)
    order = np.argsort(np.concatenate(batches))
    return torch.cat(parts)[torch.from_numpy(order).to(device)]
