"""Towers of both stages: passage encoders, with or without a masked-language-model head."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.encoders import weights
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.row_batches import token_batches
from entail.encoders.stock import silent, without_head
from entail.errors import TrainingError
from entail.training.adapters.tower import Lora, Precision, Tower
from entail.tuning.config import Pooled

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from torch import Tensor


_AT_ONCE = 2048
"""Masked tokens whose scores over the vocabulary are in memory at once: 250 MB of a vocabulary of 30,000."""

WHOLE, PIECE = 8_192, 2_048
"""Tokens of a step that a processor reads at once, and those of a piece where there are more.

What a transformer keeps for the gradient is 250 KB a token of MiniLM: 8 GB for 128 questions with two
passages each. In pieces, each read once more in the backward pass, it is half a GB, in about the same time.
"""


class PassageTower(Tower):
    """A tower that reads no more than so many tokens while it learns, many texts piece by piece.

    Args:
        base: A whole model, the start.
        lora: Train an adapter of this form; None trains every weight.
        device: A torch device.
        max_length: Tokens that are read while training, at most what the base reads.
        precision: bf16 computes under autocast; the weights stay fp32.
        dropout: Of hidden states and attention while training; None leaves it as the base has it.
        initial: Folder of an adapter on this base to start from, cut to the rank of `lora`.
        pooling: How a text's vector is made; `base` leaves what stands behind the base's transformer.

    Raises:
        EncoderError: If the base cannot be loaded, or with a pooling of its own begins with no transformer.
        TrainingError: As `Tower`.
    """

    def __init__(
        self,
        base: EncoderEntry,
        *,
        lora: Lora | None,
        device: str,
        max_length: int,
        precision: Precision = "fp32",
        dropout: float | None = None,
        initial: Path | None = None,
        pooling: Pooled = "base",
    ) -> None:
        super().__init__(
            base, lora=lora, device=device, precision=precision, dropout=dropout, initial=initial
        )
        if pooling != "base":
            from sentence_transformers.sentence_transformer.modules import Normalize

            self.model = without_head(self.model, pooling=pooling)
            self.model.append(Normalize())
            self.model.train()
            left = {name for name, _ in self.model.named_parameters()}
            self.parameters = {name: one for name, one in self.parameters.items() if name in left}
        self._reads = self.model.max_seq_length
        self.model.max_seq_length = min(max_length, self._reads or max_length)

    @property
    def max_length(self) -> int:
        """Tokens that are read while training."""
        found = self.model.max_seq_length
        assert found is not None
        return int(found)

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Return unit vectors with their gradient, shape (texts, d), fp32."""
        import torch
        from torch.utils.checkpoint import checkpoint

        lengths = self.lengths(texts) if torch.is_grad_enabled() else []
        if not self.in_pieces(sum(lengths)):
            return super().vectors(texts)
        order = token_batches(lengths, budget=PIECE)
        read = super().vectors
        parts = [checkpoint(read, [texts[i] for i in some], use_reentrant=False) for some in order]
        back = torch.from_numpy(np.argsort(np.concatenate(order))).to(self.device)
        return torch.cat(parts)[back]

    def in_pieces(self, tokens: int) -> bool:
        """Return whether a step of so many tokens is read in pieces."""
        return self.device == "cpu" and tokens > WHOLE

    def save(self, folder: Path) -> None:
        """Write the adapter (fp16), or the whole model, which reads as much as the base.

        Raises:
            OSError: If the folder cannot be written.
        """
        self.model.max_seq_length, max_length = self._reads, self.model.max_seq_length
        try:
            super().save(folder)
        finally:
            self.model.max_seq_length = max_length


class MaskedTower(PassageTower):
    """A tower that predicts masked tokens, by a head that is not kept.

    Args:
        base: A whole model that begins with a transformer which can have a masked-LM head.
        lora: Train an adapter of this form, and the head; None trains every weight.
        device: A torch device.
        max_length: Tokens that are read while training, at most what the base reads.
        precision: bf16 computes under autocast; loss and weights stay fp32.
        dropout: Of hidden states and attention while training; None leaves it as the base has it.
        hastened: How many times as fast as the rest a new head learns.
        seed: Of a new head.

    Raises:
        EncoderError: If the base cannot be loaded.
        TrainingError: As `Tower`; if the base cannot have such a head.
    """

    def __init__(
        self,
        base: EncoderEntry,
        *,
        lora: Lora | None,
        device: str,
        max_length: int,
        precision: Precision = "fp32",
        dropout: float | None = None,
        hastened: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__(
            base, lora=lora, device=device, max_length=max_length, precision=precision, dropout=dropout
        )
        first: Any = next(iter(self.model.children()))
        if not hasattr(first, "auto_model") or not hasattr(first.auto_model, "get_input_embeddings"):
            raise TrainingError(
                f"{base.name}: expected a base that begins with a transformer, found {type(first).__name__}; "
                "pass one that can have a masked-LM head, such as minilm or google-bert/bert-base-uncased"
            )
        self._transformer: Any = first.auto_model
        self.tokenizer: Any = first.tokenizer
        self.head, self.new_head = masked_head(base, self._transformer, seed=seed)
        if self.new_head and hastened != 1:
            hasten(self.head, hastened)
        self.head.to(device)
        self.head.train()
        embeddings = self._transformer.get_input_embeddings().weight
        self.parameters |= {
            f"masked_head.{name}": parameter
            for name, parameter in self.head.named_parameters()
            if parameter is not embeddings
        }

    def expect(self, frequencies: NDArray[Any]) -> None:
        """Let a new head begin with how often tokens occur, so that no step is spent on learning that.

        Args:
            frequencies: Of each token, above 0, shape (vocabulary,).
        """
        import torch

        bias = self.head.get_output_embeddings().bias
        if self.new_head and bias is not None:
            with torch.no_grad():
                known = torch.from_numpy(frequencies).log().to(bias)
                bias[: len(known)] = known - known.mean()

    def surprise(self, ids: Tensor, there: Tensor, hidden: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return -log P of each hidden token with its gradient, and whether it was the likeliest.

        Scores over the vocabulary are computed of hidden tokens alone.

        Args:
            ids: Tokens as they are read, shape (rows, tokens).
            there: Which of them are no padding, likewise.
            hidden: Which of them are to be predicted, likewise.
            labels: What these were, shape (hidden tokens,), row by row.
        """
        import torch
        from torch.utils.checkpoint import checkpoint

        rows = max(1, PIECE // ids.shape[1]) if self.in_pieces(ids.numel()) else len(ids)
        if torch.is_grad_enabled() and rows < len(ids):
            pieces = zip(*(torch.split(part, rows) for part in (ids, there, hidden)), strict=True)
            read = [checkpoint(self._hidden, *piece, use_reentrant=False) for piece in pieces]
            vectors = torch.cat(read)  # (hidden tokens, d)
        else:
            vectors = self._hidden(ids, there, hidden)
        if len(vectors) <= _AT_ONCE:
            return self._surprise(vectors, labels)
        # More are computed once more in the backward pass, so that one piece is in memory at a time.
        parts = [
            checkpoint(self._surprise, some, expected, use_reentrant=False)
            for some, expected in _pieces(vectors, labels)
        ]
        return torch.cat([one for one, _ in parts]), torch.cat([right for _, right in parts])

    def _hidden(self, ids: Tensor, there: Tensor, hidden: Tensor) -> Tensor:
        with self._autocast():
            found: Tensor = self._transformer(input_ids=ids, attention_mask=there.long()).last_hidden_state
        return found[hidden]

    def _surprise(self, vectors: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        from torch.nn.functional import cross_entropy

        with self._autocast():
            scores: Tensor = self.head(vectors).float()
        return cross_entropy(scores, labels, reduction="none"), scores.detach().argmax(dim=1) == labels


def _pieces(vectors: Tensor, labels: Tensor) -> list[tuple[Tensor, Tensor]]:
    starts = range(0, len(vectors), _AT_ONCE)
    return [(vectors[at : at + _AT_ONCE], labels[at : at + _AT_ONCE]) for at in starts]


def masked_head(base: EncoderEntry, transformer: Any, *, seed: int) -> tuple[Any, bool]:  # noqa: ANN401 - of transformers, not typed
    """Return a module that makes scores over the vocabulary, (tokens, d) -> (tokens, vocabulary).

    Args:
        base: The whole model.
        transformer: Its first module as it learns, whose word embeddings the head shares.
        seed: Of a new head's weights.

    Returns:
        The head, and whether it is new: the checkpoint has none, or not all of one.

    Raises:
        TrainingError: If the base's architecture has no masked-LM form.
    """
    import torch
    from transformers import AutoModelForMaskedLM

    assert base.path is not None
    stages = weights.modules(base.path)
    folder = base.path / str(stages[0].get("path", "")) if stages else base.path
    with torch.random.fork_rng(devices=[]), silent():
        torch.manual_seed(seed)
        try:
            model, told = AutoModelForMaskedLM.from_pretrained(
                str(folder),
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
        except Exception as error:  # whatever a foreign folder brings about, its user gets one kind of error
            raise _no_head(base, transformer) from error
    inner = getattr(model, "base_model_prefix", "")
    decoder = model.get_output_embeddings()
    if not inner or not hasattr(model, inner) or decoder is None:
        raise _no_head(base, transformer)
    new = any(not name.startswith(f"{inner}.") for name in told["missing_keys"])
    if getattr(model.config, "tie_word_embeddings", True):
        decoder.weight = transformer.get_input_embeddings().weight
    setattr(model, inner, _handing_on())
    return _head(model), new


def _no_head(base: EncoderEntry, transformer: Any) -> TrainingError:  # noqa: ANN401 - of transformers, not typed
    return TrainingError(
        f"{base.name}: expected a base that can predict masked tokens, found a model of the kind "
        f"{transformer.config.model_type}, which has no masked-LM head; pass an encoder that was trained by "
        "masking, such as minilm, google-bert/bert-base-uncased or FacebookAI/roberta-base"
    )


def _handing_on() -> torch.nn.Module:
    """Return what stands in the transformer's place: its output is its input."""
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    class HandingOn(torch.nn.Module):
        def forward(self, *_: Any, inputs_embeds: torch.Tensor, **__: Any) -> BaseModelOutput:  # noqa: ANN401 - whatever an architecture hands down
            return BaseModelOutput(last_hidden_state=inputs_embeds)

    return HandingOn()


def _head(model: Any) -> Any:  # noqa: ANN401 - of transformers, not typed
    """Return a module around a masked-LM model without a transformer that takes vectors."""
    import torch

    class Head(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, vectors: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.model(inputs_embeds=vectors[None]).logits
            return scores[0]

        def get_output_embeddings(self) -> Any:  # noqa: ANN401 - a linear layer as the architecture has it
            return self.model.get_output_embeddings()

    return Head()


def hasten(head: Any, factor: float) -> None:  # noqa: ANN401 - what `masked_head` returned
    """Let a head learn so many times as fast as the rest, but for what it shares with the word embeddings.

    AdamW's steps are of one length whatever the size of a weight, so a weight that is kept divided by the
    factor, and multiplied where it is used, moves by the factor times the learning rate.
    """
    import torch
    from torch.nn.utils.parametrize import register_parametrization

    class Times(torch.nn.Module):
        def forward(self, kept: torch.Tensor) -> torch.Tensor:
            return kept * factor

        def right_inverse(self, weight: torch.Tensor) -> torch.Tensor:
            return weight / factor

    shared = {id(parameter) for parameter in head.get_output_embeddings().parameters()}
    for module in list(head.modules()):
        for name, parameter in list(module.named_parameters(recurse=False)):
            if id(parameter) not in shared:
                register_parametrization(module, name, Times())
