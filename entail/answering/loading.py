"""Loading of readers and generators of transformers, by name or Hub id."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from entail.encoders.catalogue import fetch, resolve
from entail.encoders.device import device_name
from entail.encoders.stock import silent
from entail.encoders.weights import read_object
from entail.errors import EncoderError, UnknownEncoderError

Kind = Literal["reader", "causal", "seq2seq"]

_KINDS: dict[str, tuple[Kind, str]] = {
    "ForQuestionAnswering": ("reader", "AutoModelForQuestionAnswering"),
    "ForConditionalGeneration": ("seq2seq", "AutoModelForSeq2SeqLM"),
    "ForCausalLM": ("causal", "AutoModelForCausalLM"),
    "LMHeadModel": ("causal", "AutoModelForCausalLM"),
}
"""End of an architecture's name -> its kind, and the class that loads it."""

_DEFAULT_LENGTH = 2048
"""Maximum number of tokens of a model that gives none."""

_NO_LIMIT = 1_000_000
"""Tokenizers without a limit give a number far above this."""


@dataclass(frozen=True)
class LoadedModel:
    """A model of transformers in memory, with its tokenizer and maximum number of tokens."""

    name: str
    revision: str
    kind: Kind
    model: Any
    tokenizer: Any
    max_length: int
    device: str

    def generate(self, *, tokens: int, **inputs: Any) -> Any:  # noqa: ANN401 - of transformers
        """Return the ids that a generator writes greedily after its inputs, at most so many."""
        greedy = {"do_sample": False, "num_beams": 1, "temperature": None, "top_p": None, "top_k": None}
        padding = self.tokenizer.pad_token_id
        return self.model.generate(**inputs, max_new_tokens=tokens, pad_token_id=padding, **greedy)


def load_model(name: str | Path, *, device: str | None = None) -> LoadedModel:
    """Load a reader or generator: safetensors only, no code of its own.

    Args:
        name: A folder, a name under `models/`, or a Hub id.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.

    Raises:
        EncoderError: If it cannot be found or loaded safely, or lacks the head.
        SettingsError: If the device is not available.
    """
    import torch
    import transformers

    try:
        entry = fetch(resolve(name))
    except UnknownEncoderError as error:
        raise UnknownEncoderError(
            f"no model is called {str(name)!r}; give a folder, or the Hub id of a reader or generator such "
            "as deepset/minilm-uncased-squad2 or google/flan-t5-small"
        ) from error
    if entry.path is None or entry.base is not None:
        raise EncoderError(
            f"{entry.name}: expected a whole model of transformers, found an adapter; give its merged weights"
        )
    architectures = [str(name) for name in read_object(entry.path / "config.json").get("architectures") or ()]
    kinds = (kind for name in architectures for end, kind in _KINDS.items() if name.endswith(end))
    kind, loader = next(kinds, (None, ""))
    if kind is None:
        raise EncoderError(
            f"{entry.name}: expected a model that answers questions (…ForQuestionAnswering) or writes text "
            "(…ForCausalLM, …ForConditionalGeneration), found "
            f"{', '.join(architectures) or 'no architecture in config.json'}; take one such as "
            "deepset/minilm-uncased-squad2 or google/flan-t5-small"
        )
    torch_device = device_name(device)
    safe: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    weights = {"use_safetensors": True, "dtype": torch.float32, "output_loading_info": True}
    auto: Any = getattr(transformers, loader)
    try:
        with silent():
            tokenizer: Any = transformers.AutoTokenizer.from_pretrained(str(entry.path), **safe)
            model, info = auto.from_pretrained(str(entry.path), **safe, **weights)
    except Exception as error:  # a foreign folder may raise anything
        raise EncoderError(f"{entry.name}: cannot be loaded by transformers: {error}") from error
    # Transformers would draw missing weights at random and only warn.
    if missing := sorted(map(str, info.get("missing_keys") or ())):
        raise EncoderError(
            f"{entry.name}: expected all weights of the model that its config.json names, found "
            f"{len(missing)} missing, such as {missing[0]}: it was saved without its head; take another"
        )
    sizes = [getattr(model.config, name, None) for name in ("max_position_embeddings", "n_positions")]
    limits = (size for size in (*sizes, tokenizer.model_max_length) if size and size < _NO_LIMIT)
    max_length = min(limits, default=_DEFAULT_LENGTH)
    model = model.to(torch_device).eval()
    return LoadedModel(entry.name, str(entry.revision), kind, model, tokenizer, max_length, torch_device)
