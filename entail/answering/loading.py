"""Loading of readers and generators of transformers, by name or Hub id."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from entail.encoders.catalogue import fetch, resolve
from entail.encoders.device import device_name
from entail.encoders.stock import silent
from entail.encoders.weights import read_json
from entail.errors import EncoderError, UnknownEncoderError

Kind = Literal["reader", "causal", "seq2seq"]

_SUFFIXES: tuple[tuple[str, Kind], ...] = (
    ("ForQuestionAnswering", "reader"),
    ("QuestionAnsweringSimple", "reader"),
    ("ForConditionalGeneration", "seq2seq"),
    ("ForCausalLM", "causal"),
    ("LMHeadModel", "causal"),
)
_AUTO: dict[Kind, str] = {
    "reader": "AutoModelForQuestionAnswering",
    "causal": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
}
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
        return self.model.generate(
            **inputs,
            max_new_tokens=tokens,
            do_sample=False,
            num_beams=1,
            temperature=None,
            top_p=None,
            top_k=None,
            pad_token_id=self.tokenizer.pad_token_id,
        )


def kind_of(folder: Path, name: str) -> Kind:
    """Return the kind of reader or generator that a folder holds.

    Raises:
        EncoderError: If its `config.json` names neither.
    """
    config = read_json(folder / "config.json")
    names = config.get("architectures") if isinstance(config, dict) else None
    architectures = [str(class_name) for class_name in names] if isinstance(names, list) else []
    for architecture in architectures:
        for suffix, kind in _SUFFIXES:
            if architecture.endswith(suffix):
                return kind
    raise EncoderError(
        f"{name}: expected a model that answers questions (…ForQuestionAnswering) or writes text "
        "(…ForCausalLM, …ForConditionalGeneration), found "
        f"{', '.join(architectures) or 'no architecture in config.json'}: it has no head for either; take "
        "one such as deepset/minilm-uncased-squad2 or google/flan-t5-small"
    )


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
    kind, torch_device = kind_of(entry.path, entry.name), device_name(device)
    safe: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    auto: Any = getattr(transformers, _AUTO[kind])
    try:
        with silent():
            tokenizer: Any = transformers.AutoTokenizer.from_pretrained(str(entry.path), **safe)
            model, info = auto.from_pretrained(
                str(entry.path),
                **safe,
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
    except Exception as error:  # a foreign folder may raise anything
        raise EncoderError(f"{entry.name}: cannot be loaded by transformers: {error}") from error
    # Transformers would draw missing weights at random and only warn.
    if missing := sorted(map(str, info.get("missing_keys") or ())):
        raise EncoderError(
            f"{entry.name}: expected all weights of the model that its config.json names, found "
            f"{len(missing)} missing, such as {missing[0]}: it was saved without its head; take another"
        )
    return LoadedModel(
        entry.name,
        str(entry.revision),
        kind,
        model.to(torch_device).eval(),
        tokenizer,
        _max_length(model.config, tokenizer),
        torch_device,
    )


def _max_length(config: Any, tokenizer: Any) -> int:  # noqa: ANN401 - of transformers
    names = ("max_position_embeddings", "n_positions", "max_sequence_length")
    lengths = [*(getattr(config, name, None) for name in names), getattr(tokenizer, "model_max_length", None)]
    limits = [int(length) for length in lengths if isinstance(length, int) and 0 < length < _NO_LIMIT]
    return min(limits, default=_DEFAULT_LENGTH)
