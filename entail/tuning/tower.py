"""Towers of both stages: passage encoders, with or without a masked-language-model head."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from entail.encoders import weights
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.row_batches import token_batches
from entail.encoders.stock import replace_head, silent
from entail.encoders.weights import Similarity
from entail.errors import TrainingError
from entail.training.adapters.tower import Tower, TowerOptions, save_both
from entail.tuning.config import Pooled

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer
    from torch import Tensor


_AT_ONCE = 2048
"""Masked tokens whose scores over the vocabulary are in memory at once: 250 MB of a vocabulary of 30,000."""

WHOLE, PIECE = 8_192, 2_048
"""Most tokens of a step that a CPU reads at once, and tokens of a piece of longer steps.

A transformer stores 250 KB a token of MiniLM for the gradient: 8 GB for 128 questions with two passages each.
In pieces, each read again in the backward pass, it is half a GB, in about the same time.
"""


class PassageTower(Tower):
    """Trainable passage encoder; it reads many texts in pieces.

    `max_length` is the maximum number of tokens in training; the base's is saved. A `pooling` other than
    `base` replaces all modules behind the base's transformer. Vectors that are compared by `dot` keep their
    lengths. The options and errors are those of `Tower`.
    """

    def __init__(
        self,
        base: EncoderEntry,
        *,
        max_length: int,
        pooling: Pooled = "base",
        similarity: Similarity = "cosine",
        **options: Unpack[TowerOptions],
    ) -> None:
        super().__init__(base, **options)
        if pooling != "base" or similarity == "dot":
            self.model = _with_end(self.model, pooling=pooling, similarity=similarity)
            self.model.train()
            left = {name for name, _ in self.model.named_parameters()}
            self.parameters = {name: parameter for name, parameter in self.parameters.items() if name in left}
        self._reads = self.model.max_seq_length
        self.max_length = self.model.max_seq_length = min(max_length, self._reads or max_length)

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Return vectors with their gradient, shape (texts, d), fp32; of length 1 if compared by cosine."""
        import torch
        from torch.utils.checkpoint import checkpoint

        lengths = self.lengths(texts) if torch.is_grad_enabled() else []
        if not self.in_pieces(sum(lengths)):
            return super().vectors(texts)
        order = token_batches(lengths, budget=PIECE)
        read = super().vectors
        parts = [checkpoint(read, [texts[i] for i in batch], use_reentrant=False) for batch in order]
        back = torch.from_numpy(np.argsort(np.concatenate(order))).to(self.device)
        return torch.cat(parts)[back]

    def in_pieces(self, tokens: int) -> bool:
        """Return whether a step of this many tokens is read in pieces."""
        return self.device == "cpu" and tokens > WHOLE

    def save(self, folder: Path, *, passages: PassageTower | None = None) -> None:
        """Write adapter (fp16) or whole model into a new folder, and that of passages, if it is another."""
        for tower in (self, passages):
            if tower is not None:
                tower.model.max_seq_length = tower._reads
        if passages is None:
            super().save(folder)
        else:
            save_both(folder, self, passages)


def _with_end(model: SentenceTransformer, *, pooling: Pooled, similarity: Similarity) -> SentenceTransformer:
    """Return a model with another pooling and similarity; vectors compared by cosine have length 1."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize

    pooled = model if pooling == "base" else replace_head(model, pooling=pooling)
    modules = [module for module in pooled.children() if not isinstance(module, Normalize)]
    if similarity == "cosine":
        modules.append(Normalize())
    return SentenceTransformer(modules=modules, device=str(model.device), similarity_fn_name=similarity)


class MaskedTower(PassageTower):
    """Trainable predictor of masked tokens: a passage encoder with a masked-LM head, which is not saved.

    `seed` initialises a new head. The options and errors are those of `Tower`, and those of `masked_head`.
    """

    def __init__(
        self,
        base: EncoderEntry,
        *,
        max_length: int,
        seed: int = 0,
        **options: Unpack[TowerOptions],
    ) -> None:
        super().__init__(base, max_length=max_length, **options)
        first: Any = next(iter(self.model.children()))
        if not hasattr(first, "auto_model"):
            raise TrainingError(
                f"{base.name}: expected a base that begins with a transformer, found {type(first).__name__}"
            )
        self._transformer: Any = first.auto_model
        self.tokenizer: Any = first.tokenizer
        self.head, self.new_head = masked_head(base, self._transformer, seed=seed)
        self.head.to(self.device)
        self.head.train()
        words = self._transformer.get_input_embeddings()
        self.parameters |= {
            f"masked_head.{name}": parameter
            for name, parameter in self.head.named_parameters()
            if parameter is not words.weight
        }

    @contextlib.contextmanager
    def inference(self) -> Iterator[None]:
        """Compute without gradient and dropout meanwhile, the head too."""
        self.head.eval()
        try:
            with super().inference():
                yield
        finally:
            self.head.train()

    def set_frequencies(self, frequencies: NDArray[Any]) -> None:
        """Initialise the bias of a new head by the frequencies of tokens, above 0, shape (vocabulary,)."""
        import torch

        bias = self.head.get_output_embeddings().bias
        if self.new_head and bias is not None:
            with torch.no_grad():
                logs = torch.from_numpy(frequencies).log().to(bias)
                bias[: len(logs)] = logs - logs.mean()

    def token_losses(
        self, ids: Tensor, attended: Tensor, masked: Tensor, labels: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return -log P of each masked token with its gradient, and whether it was the likeliest.

        Tokens and masks are of shape (rows, tokens), labels are original tokens of the masked ones.
        Scores over the vocabulary are computed for masked tokens only.
        """
        import torch
        from torch.utils.checkpoint import checkpoint

        rows = max(1, PIECE // ids.shape[1]) if self.in_pieces(ids.numel()) else len(ids)
        if torch.is_grad_enabled() and rows < len(ids):
            pieces = zip(*(torch.split(part, rows) for part in (ids, attended, masked)), strict=True)
            read = [checkpoint(self._hidden_vectors, *piece, use_reentrant=False) for piece in pieces]
            vectors = torch.cat(read)  # (masked tokens, d)
        else:
            vectors = self._hidden_vectors(ids, attended, masked)
        if len(vectors) <= _AT_ONCE:
            return self._predict(vectors, labels)
        # Longer ones are computed again in the backward pass, so that one piece is in memory at a time.
        parts = [
            checkpoint(self._predict, *piece, use_reentrant=False)
            for piece in zip(torch.split(vectors, _AT_ONCE), torch.split(labels, _AT_ONCE), strict=True)
        ]
        return torch.cat([losses for losses, _ in parts]), torch.cat([correct for _, correct in parts])

    def _hidden_vectors(self, ids: Tensor, attended: Tensor, masked: Tensor) -> Tensor:
        with self._autocast():
            states: Tensor = self._transformer(
                input_ids=ids, attention_mask=attended.long()
            ).last_hidden_state
        return states[masked]

    def _predict(self, vectors: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        from torch.nn.functional import cross_entropy

        with self._autocast():
            scores: Tensor = self.head(inputs_embeds=vectors[None]).logits[0].float()
        return cross_entropy(scores, labels, reduction="none"), scores.detach().argmax(dim=1) == labels


def masked_head(base: EncoderEntry, transformer: Any, *, seed: int) -> tuple[Any, bool]:
    """Return a masked-LM model whose transformer passes `inputs_embeds` on, and whether its head is new.

    It shares the word embeddings of the trained transformer. The base's checkpoint may have no head.

    Raises:
        TrainingError: If the base's architecture has no masked-LM form.
    """
    import torch
    from transformers import AutoModelForMaskedLM
    from transformers.modeling_outputs import BaseModelOutput

    refusal = TrainingError(
        f"{base.name}: expected a base that can predict masked tokens, found a model of the kind "
        f"{transformer.config.model_type}, which has no masked-LM head; pass an encoder that was trained by "
        "masking, such as minilm, google-bert/bert-base-uncased or FacebookAI/roberta-base"
    )
    assert base.path is not None
    stages = weights.modules(base.path)
    folder = base.path / str(stages[0].get("path", "")) if stages else base.path
    with torch.random.fork_rng(devices=[]), silent():
        torch.manual_seed(seed)
        try:
            model, report = AutoModelForMaskedLM.from_pretrained(
                str(folder),
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
        except Exception as error:  # a foreign folder may raise anything
            raise refusal from error
    inner = getattr(model, "base_model_prefix", "")
    decoder = model.get_output_embeddings()
    if not inner or not hasattr(model, inner) or decoder is None:
        raise refusal
    new = any(not name.startswith(f"{inner}.") for name in report["missing_keys"])
    if getattr(model.config, "tie_word_embeddings", True):
        decoder.weight = transformer.get_input_embeddings().weight

    class Identity(torch.nn.Module):
        def forward(self, *_: Any, inputs_embeds: torch.Tensor, **__: Any) -> BaseModelOutput:
            return BaseModelOutput(last_hidden_state=inputs_embeds)

    setattr(model, inner, Identity())
    return model, new
