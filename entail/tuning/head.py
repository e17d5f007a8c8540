"""The masked-LM head of a base: what its checkpoint holds, or a new one tied to its word embeddings.

transformers knows the head of every architecture; it is taken over as it is, with the transformer under it
replaced by one that hands on hidden vectors which somebody else has computed. So a vocabulary's scores are
made of masked tokens alone, and the transformer may wear an adapter. A new head is of the same form, of BERT
and MiniLM: linear, GELU, LayerNorm, word embeddings, bias.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entail.encoders import weights
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.stock import silent
from entail.errors import TrainingError

if TYPE_CHECKING:
    import torch


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
