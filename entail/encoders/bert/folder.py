"""Detection of plain `Transformer(bert) -> Pooling -> [Normalize]` folders, and their sizes.

`read_bert` accepts folders whose vectors are those of sentence-transformers. It returns None for other
architectures, activations, poolings and positions, prompts, routes, further modules, tokenizers other than
BERT's own, and weights in several files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from entail.encoders.weights import modules, read_object

_SIZES = {
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "dimension": "hidden_size",
    "inner": "intermediate_size",
    "vocabulary": "vocab_size",
    "positions": "max_position_embeddings",
}
_ARCHITECTURE: Mapping[str, object] = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "quantization_config": None,
}
_TRANSFORMER: Mapping[str, object] = {
    "transformer_task": "feature-extraction",
    "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
    "module_output_name": "token_embeddings",
}
_TOKENIZER: Mapping[str, object] = {
    "padding_side": "right",
    "truncation_side": "right",
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """A BERT of dimension d and its pooling.

    `folder` holds `model.safetensors` and `tokenizer.json`; `max_length` counts `[CLS]` and `[SEP]`, too.
    """

    folder: Path
    layers: int
    heads: int
    dimension: int
    inner: int
    vocabulary: int
    positions: int
    padding: int
    max_length: int
    epsilon: float
    pooling: Literal["mean", "cls"]

    @property
    def layer_prefixes(self) -> tuple[str, ...]:
        """Prefixes of the names of each layer's tensors."""
        return tuple(f"encoder.layer.{layer}." for layer in range(self.layers))


def read_bert(folder: Path) -> BertConfig | None:
    """Return the configuration of a plain BERT, None for any other folder.

    Raises:
        EncoderError: If one of its files is not JSON.
    """
    stages = modules(folder)
    kinds = [str(stage.get("type", "")).rpartition(".")[2] for stage in stages]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return None
    transformer, pooling = (folder / str(stage.get("path", "")) for stage in stages[:2])
    config = read_object(transformer / "config.json")
    settings = read_object(transformer / "sentence_bert_config.json")
    whole = read_object(folder / "config_sentence_transformers.json")
    customised = {key for key, value in whole.items() if value} - {
        *("__version__", "model_type", "similarity_fn_name", "prompts")
    }
    sizes = {name: config.get(key) for name, key in _SIZES.items()}
    if (
        not (transformer / "model.safetensors").is_file()
        or not all(type(size) is int for size in sizes.values())
        or not _agrees(config, _ARCHITECTURE)
        or not _agrees(settings, _TRANSFORMER)
        or any(value for key, value in settings.items() if key not in {*_TRANSFORMER, "max_seq_length"})
        or customised
        or any((whole.get("prompts") or {}).values())
    ):
        return None
    positions: Any = sizes["positions"]
    limit = read_object(transformer / "tokenizer_config.json").get("model_max_length", positions)
    max_length = settings.get("max_seq_length") or min(limit, positions)
    mode, padding = _pooling(read_object(pooling / "config.json")), _padding(transformer)
    if mode is None or padding is None or max_length > positions:
        return None
    values: dict[str, Any] = {**sizes, "epsilon": config.get("layer_norm_eps", 1e-12)}
    return BertConfig(folder=transformer, padding=padding, max_length=max_length, pooling=mode, **values)


def _agrees(config: Mapping[str, Any], expected: Mapping[str, object]) -> bool:
    return all(config.get(key, value) == value for key, value in expected.items())


def _pooling(config: Mapping[str, Any]) -> Literal["mean", "cls"] | None:
    # Files before sentence-transformers 5 have one flag a mode.
    flags = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    mode = config.get("pooling_mode", flags[0] if len(flags) == 1 else None)
    if mode in ("mean", "pooling_mode_mean_tokens"):
        return "mean"
    return "cls" if mode in ("cls", "pooling_mode_cls_token") else None


def _padding(transformer: Path) -> int | None:
    """Return the padding token's id, None for a tokenizer that may not be BERT's own.

    Transformers builds it again from the vocabulary and `tokenizer_config.json`, which must agree with
    `tokenizer.json`.
    """
    config = read_object(transformer / "tokenizer_config.json")
    tokenizer = read_object(transformer / "tokenizer.json")
    try:
        normalizer, vocabulary = tokenizer["normalizer"], tokenizer["model"]["vocab"]
        plain = (
            config.get("tokenizer_class", "BertTokenizer") in ("BertTokenizer", "BertTokenizerFast")
            and _agrees(config, _TOKENIZER)
            and not config.get("extra_special_tokens")
            and normalizer["type"] == "BertNormalizer"
            and normalizer["lowercase"] == config.get("do_lower_case", True)
            and normalizer["strip_accents"] == config.get("strip_accents")
            and tokenizer["pre_tokenizer"]["type"] == "BertPreTokenizer"
            and all(token["special"] for token in tokenizer["added_tokens"])
        )
        return int(vocabulary["[PAD]"]) if plain else None
    except (KeyError, TypeError):  # not what a tokenizer writes
        return None
