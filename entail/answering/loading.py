"""Any reader or generator of transformers, by name or Hub id: which of the two it is, brought into memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from entail.answering.records import Kind
from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.encoders.device import device_name
from entail.encoders.weights import read_json
from entail.errors import EncoderError, UnknownEncoderError
from entail.training.adapters.tower import cast_precision

Precision = Literal["fp32", "bf16", "auto"]

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
_USUAL = 2048
"""Tokens that a model reads which does not say how many."""

_BOUNDLESS = 1_000_000
"""Tokenizers that know no limit name a number far above this."""


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory.

    Attributes:
        name: How a person calls it.
        revision: Which weights.
        kind: What it is.
        model: Of transformers.
        tokenizer: Its own.
        max_length: Tokens that it reads.
        device: Where it is.
        precision: What it computes in.
    """

    name: str
    revision: str
    kind: Kind
    model: Any
    tokenizer: Any
    max_length: int
    device: str
    precision: str


def kind_of(folder: Path, name: str) -> Kind:
    """Return the kind of reader or generator that a folder holds.

    Raises:
        EncoderError: If its `config.json` names neither.
    """
    config = read_json(folder / "config.json")
    told = config.get("architectures") if isinstance(config, dict) else None
    named = [str(one) for one in told] if isinstance(told, list) else []
    for architecture in named:
        for suffix, kind in _SUFFIXES:
            if architecture.endswith(suffix):
                return kind
    raise EncoderError(
        f"{name}: expected a model that answers questions (…ForQuestionAnswering) or writes text "
        "(…ForCausalLM, …ForConditionalGeneration), found "
        f"{', '.join(named) or 'no architecture in config.json'}: it has no head for either; take one such "
        "as deepset/minilm-uncased-squad2 or google/flan-t5-small"
    )


def load_model(
    name: str | Path,
    *,
    device: str | None = None,
    precision: Precision = "fp32",
    max_length: int | None = None,
) -> LoadedModel:
    """Bring a reader or generator into memory: safetensors only, no code of its own.

    Args:
        name: A folder, a name under `models/`, or a Hub id.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.
        precision: `fp32`, `bf16`, or `auto`: bf16 where it is the faster one.
        max_length: Tokens that are read, at most what the model reads.

    Raises:
        EncoderError: If it cannot be found or loaded safely, or lacks the head.
        SettingsError: If the device is not there.
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
    kind, place = kind_of(entry.path, entry.name), device_name(device)
    chosen = cast_precision(precision, place)
    told: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    auto: Any = getattr(transformers, _AUTO[kind])
    try:
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(str(entry.path), **told)
        model, info = auto.from_pretrained(
            str(entry.path),
            **told,
            use_safetensors=True,
            dtype=torch.bfloat16 if chosen == "bf16" else torch.float32,
            output_loading_info=True,
        )
    except Exception as error:  # whatever a foreign folder brings about, its user gets one kind of error
        raise EncoderError(f"{entry.name}: cannot be loaded by transformers: {error}") from error
    _require_whole(entry, info)
    reads = _longest(model.config, tokenizer)
    if max_length is not None:
        reads = min(reads, max_length)
    return LoadedModel(
        entry.name, str(entry.revision), kind, model.to(place).eval(), tokenizer, reads, place, chosen
    )


def _require_whole(entry: EncoderEntry, info: Any) -> None:  # noqa: ANN401 - of transformers
    """Check that no weights are missing: transformers would draw them at random and only warn."""
    missing = sorted(map(str, info.get("missing_keys") or ()))
    if missing:
        raise EncoderError(
            f"{entry.name}: expected all weights of the model that its config.json names, found "
            f"{len(missing)} missing, such as {missing[0]}: it was saved without its head; take another"
        )


def _longest(config: Any, tokenizer: Any) -> int:  # noqa: ANN401 - of transformers
    names = ("max_position_embeddings", "n_positions", "max_sequence_length")
    told = [getattr(config, name, None) for name in names]
    told.append(getattr(tokenizer, "model_max_length", None))
    known = [int(one) for one in told if isinstance(one, int) and 0 < one < _BOUNDLESS]
    return min(known, default=_USUAL)
