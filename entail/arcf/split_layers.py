"""The maps that `entail.arcf.split` reads with: of a plain BERT in torch alone, or of a stock transformer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from entail.encoders.bert import ATTENTION, INNER, OUTER, OUTPUT, Bert, LowRank
from entail.encoders.lora import merged
from entail.errors import EncoderError

if TYPE_CHECKING:
    from torch import Tensor


class BertLayers:
    """Of a plain BERT, its adapter merged.

    Args:
        bert: The base.
        adapter: Its LoRA, empty for weights that were tuned themselves.
    """

    def __init__(self, bert: Bert, adapter: LowRank) -> None:
        self._bert, self._linears = bert, merged(bert, adapter)
        self._places = bert.config.places

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self._places)

    def embed(self, ids: Tensor) -> Tensor:
        """Token ids -> states, (rows, tokens, d)."""
        from torch.nn.functional import embedding

        x = embedding(ids, self._bert.words) + self._bert.positions[: ids.shape[1]]
        return self._normed(x, "embeddings")

    def attention(self, at: int, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """States -> queries, keys, values, each (rows, heads, tokens, d / heads)."""
        from torch.nn.functional import linear

        rows, tokens, _ = x.shape
        both = linear(x, *self._linears[self._places[at] + ATTENTION])
        query, key, value = both.view(rows, tokens, 3, self._bert.config.heads, -1).permute(2, 0, 3, 1, 4)
        return query, key, value

    def above(self, at: int, x: Tensor, mixed: Tensor) -> Tensor:
        """States and what attention brought -> the next layer's states, (rows, tokens, d)."""
        from torch.nn.functional import gelu, linear

        place = self._places[at]
        x = self._normed(x + linear(mixed, *self._linears[place + OUTPUT]), place + OUTPUT)
        inner = gelu(linear(x, *self._linears[place + INNER]))
        return self._normed(x + linear(inner, *self._linears[place + OUTER]), place + OUTER)

    def _normed(self, x: Tensor, name: str) -> Tensor:
        from torch.nn.functional import layer_norm

        weight, bias = self._bert.norms[name]
        return layer_norm(x, weight.shape, weight, bias, self._bert.config.epsilon)


class ModuleLayers:
    """Of a transformer's own modules, adapters, dropout and gradient with them.

    Args:
        transformer: A model of transformers that is built as BERT is, such as RoBERTa.
        name: What messages call it.

    Raises:
        EncoderError: If it is built otherwise.
    """

    def __init__(self, transformer: Any, *, name: str) -> None:  # noqa: ANN401 - any model of transformers
        try:
            self._embeddings, self._layers = transformer.embeddings, list(transformer.encoder.layer)
            for layer in self._layers:
                _ = layer.attention.self.query, layer.attention.self.key, layer.attention.self.value
                _ = layer.attention.output, layer.intermediate, layer.output
        except AttributeError as error:
            raise EncoderError(
                f"{name}: expected a transformer built as BERT is, to read prefix and candidate apart, found "
                f"{type(transformer).__name__}; take reading=joint"
            ) from error
        self._heads = int(transformer.config.num_attention_heads)

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self._layers)

    def lowest(self, count: int) -> Iterator[Any]:
        """Yield all modules of the embeddings and of so many layers above them."""
        for part in (self._embeddings, *self._layers[:count]):
            yield from part.modules()

    def embed(self, ids: Tensor) -> Tensor:
        """Token ids -> states, (rows, tokens, d)."""
        found: Tensor = self._embeddings(input_ids=ids)
        return found

    def attention(self, at: int, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """States -> queries, keys, values, each (rows, heads, tokens, d / heads)."""
        rows, tokens, _ = x.shape
        own = self._layers[at].attention.self
        query, key, value = (
            part(x).view(rows, tokens, self._heads, -1).transpose(1, 2)
            for part in (own.query, own.key, own.value)
        )
        return query, key, value

    def above(self, at: int, x: Tensor, mixed: Tensor) -> Tensor:
        """States and what attention brought -> the next layer's states, (rows, tokens, d)."""
        layer = self._layers[at]
        x = layer.attention.output(mixed, x)
        found: Tensor = layer.output(layer.intermediate(x), x)
        return found
