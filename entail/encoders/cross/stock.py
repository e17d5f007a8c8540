"""Pairs of texts read by any transformer, by transformers itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from entail.encoders.cross.pairs import Frame, Pair, read_tokenizer
from entail.encoders.row_batches import Spent, budget_of, token_batches

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float32]


class CrossStock:
    """A cross-encoder on any other transformer, by transformers itself.

    Args:
        model: Its sentence-transformers model, adapter loaded.
        head: Weight (outputs, d) and bias (outputs,), fp32.
        name: What messages call it.
        max_length: Tokens of a row.
        budget: Tokens of a forward pass; default: by device.
    """

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
        with torch.no_grad():
            self._head.weight.copy_(head[0])
            self._head.bias.copy_(head[1])
        self._head.to(model.device)
        self.max_length = max_length
        self.budget = budget or budget_of(model.device.type)
        self.spent = Spent()

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return the first output of each pair, shape (pairs,): all that a head of one output has."""
        return self.values(pairs)[:, 0]

    def values(self, pairs: Sequence[Pair]) -> Floats:
        """Return what the head makes of each pair, shape (pairs, outputs)."""
        import torch

        if not pairs:
            return np.empty((0, self._head.out_features), dtype=np.float32)
        with torch.inference_mode():
            told = cross_encode(
                self._transformer, self._head, pairs, frame=self.frame, budget=self.budget, spent=self.spent
            )
            found: Floats = told.float().cpu().numpy()
            return found


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
    """Return what a head makes of pairs by a model of transformers, shape (pairs, outputs).

    Rows of like length go together.

    Args:
        transformer: Token ids -> hidden vectors.
        head: The first token's vector -> outputs, in fp32.
        pairs: At least one.
        frame: The tokens around a pair.
        budget: Tokens of a forward pass.
        spent: Where passes and tokens are counted.
        autocast: Precision to compute hidden vectors in; None: that of the weights.
    """
    import torch

    device = head.weight.device
    rows = [frame.row(pair) for pair in pairs]
    lengths = [len(row) for row in rows]
    parts, order = [], []
    for some in token_batches(lengths, budget=budget):
        max_length = max(lengths[i] for i in some)
        ids = np.full((len(some), max_length), frame.padding, dtype=np.int64)
        known, kinds = np.zeros_like(ids), np.zeros_like(ids)
        for at, i in enumerate(some):
            ids[at, : lengths[i]] = rows[i]
            known[at, : lengths[i]] = 1
            kinds[at, frame.first(pairs[i]) : lengths[i]] = 1
        given = {
            "input_ids": ids,
            "attention_mask": known,
            **({"token_type_ids": kinds} if frame.typed else {}),
        }
        with torch.autocast(device.type, dtype=autocast, enabled=autocast is not None):
            told = transformer(**{name: torch.from_numpy(array).to(device) for name, array in given.items()})
        parts.append(head(told.last_hidden_state[:, 0].float()))  # (rows, outputs)
        order.extend(some.tolist())
        spent.add(len(some), int(known.sum()), ids.size)
    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order)] = torch.arange(len(order))
    return torch.cat(parts)[back.to(device)]
