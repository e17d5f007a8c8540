"""The BERT of `entail.encoders.bert.model`, run by OpenVINO on a CPU, in bf16 where the CPU has it.

OpenVINO is an optional dependency of precision `openvino`. The graph is built operation by operation from the
weights in memory: OpenVINO's converter needs torch's deprecated tracer, and reports its use over the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from entail.encoders.bert.lora import merge_adapter
from entail.encoders.bert.model import ATTENTION, INNER, OUTER, OUTPUT, Bert, LowRank
from entail.errors import EncoderError

if TYPE_CHECKING:
    from torch import Tensor

HINT = "bf16"
"""Precision of OpenVINO, where the CPU has it."""

_MASKED = -1e9
"""Added to the attention scores of padding."""


class OpenvinoBert:
    """A BERT and its pooling with one adapter merged into its weights, W + B A, for one thread at a time.

    OpenVINO keeps its own copy of the weights, which must be in fp32 on the processor.

    Raises:
        EncoderError: If OpenVINO is not installed, or cannot compile the model.
    """

    def __init__(self, bert: Bert, adapter: LowRank) -> None:
        try:
            import openvino
        except ImportError as error:
            raise EncoderError(
                "expected OpenVINO for precision openvino, found none that can be imported; install it by "
                "pip install openvino==2026.4.1, or take precision bf16 or fp32"
            ) from error
        import torch

        self._bert = bert
        settings = {
            "INFERENCE_PRECISION_HINT": HINT,
            "INFERENCE_NUM_THREADS": torch.get_num_threads(),  # follows OMP_NUM_THREADS
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,  # a pinned thread waits for others on its core
        }
        try:
            self._compiled: Any = openvino.compile_model(_graph(bert, adapter), "CPU", settings)
        except RuntimeError as error:
            raise EncoderError(f"OpenVINO cannot compile the model: {error}") from error

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the pooled vectors of texts, of any length, shape (texts, d)."""
        tokens, mask = self._bert.tokenize(texts)
        numbers = np.ones(tokens.shape, np.float32) if mask is None else mask.numpy().astype(np.float32)
        vectors: NDArray[np.float32] = self._compiled([tokens.numpy(), numbers])[0]
        return vectors


def _graph(bert: Bert, adapter: LowRank) -> Any:  # noqa: ANN401 - OpenVINO has no types
    """Return the model: token ids and the mask of real tokens, both (texts, tokens), to (texts, d)."""
    import openvino
    from openvino import opset15 as op

    config, linears = bert.config, merge_adapter(bert, adapter)
    d, heads = config.dimension, config.heads
    first, second, third = (np.array([axis], np.int64) for axis in (0, 1, 2))

    def linear(x: Any, name: str) -> Any:  # noqa: ANN401 - as above
        weight, bias = linears[name]
        return op.add(op.matmul(x, _numbers(weight), False, True), _numbers(bias))

    def normed(x: Any, name: str) -> Any:  # noqa: ANN401 - as above
        weight, bias = bert.norms[name]
        unit = op.mvn(x, np.array([-1], np.int64), True, config.epsilon, "inside_sqrt")
        return op.add(op.multiply(unit, _numbers(weight)), _numbers(bias))

    def by_head(x: Any) -> Any:  # noqa: ANN401 - as above
        split = op.reshape(x, np.array([0, 0, heads, d // heads], np.int64), True)
        return op.transpose(split, swapped)  # (texts, heads, tokens, d / heads)

    swapped = np.array([0, 2, 1, 3], np.int64)
    tokens = op.parameter([-1, -1], np.int64)
    mask = op.parameter([-1, -1], np.float32)
    length = op.gather(op.shape_of(tokens), second, np.int64(0))
    positions = op.slice(_numbers(bert.positions), first, length, second, first)
    x = op.add(op.gather(_numbers(bert.words), tokens, np.int64(0)), positions)  # (texts, tokens, d)
    x = normed(x, "embeddings")
    padded = op.subtract(np.float32(1), op.unsqueeze(mask, np.array([1, 2], np.int64)))
    bias = op.multiply(padded, np.float32(_MASKED))  # (texts, 1, 1, tokens)
    for at in config.layer_prefixes:
        parts = op.split(linear(x, at + ATTENTION), np.int64(2), 3).outputs()
        mixed = op.scaled_dot_product_attention(*(by_head(part) for part in parts), bias)
        mixed = op.reshape(op.transpose(mixed, swapped), np.array([0, 0, d], np.int64), True)
        x = normed(op.add(x, linear(mixed, at + OUTPUT)), at + OUTPUT)
        inner = op.gelu(linear(x, at + INNER), "erf")  # (texts, tokens, inner)
        x = normed(op.add(x, linear(inner, at + OUTER)), at + OUTER)
    if config.pooling == "cls":
        pooled = op.gather(x, np.int64(0), np.int64(1))
    else:
        weights = op.unsqueeze(mask, third)  # (texts, tokens, 1)
        total = op.reduce_sum(op.multiply(x, weights), second, False)
        pooled = op.divide(total, op.reduce_sum(weights, second, False))
    return openvino.Model([pooled], [tokens, mask], "bert")


def _numbers(tensor: Tensor) -> Any:  # noqa: ANN401 - OpenVINO's constant
    """Return a tensor as a constant in the same memory."""
    from openvino import opset15 as op

    return op.constant(tensor.contiguous().numpy(), shared_memory=True)
