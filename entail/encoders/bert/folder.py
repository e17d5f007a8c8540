"""Detection of plain `Transformer(bert) -> Pooling -> [Normalize]` folders, and their sizes.

`read_bert` accepts only folders whose vectors are exactly those of sentence-transformers. It returns None for
other architectures, activations, poolings and positions, prompts, routes, further modules, tokenizers other
than BERT's own, and weights in several files.
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
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
}
_TRANSFORMER: Mapping[str, object] = {
    "transformer_task": "feature-extraction",
    "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
    "module_output_name": "token_embeddings",
}
_SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "sep", "pad", "cls", "mask")}
_FLAGS = ("lstrip", "rstrip", "normalized", "single_word")


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """A BERT and its pooling.

    Attributes:
        folder: Folder of `model.safetensors` and `tokenizer.json`.
        layers: Number of layers.
        heads: Attention heads a layer.
        dimension: Length of a token's and of a text's vector, d.
        inner: Width of the feed-forward layer.
        vocabulary: Number of tokens in the vocabulary.
        positions: Number of positions.
        padding: Id of the padding token.
        max_length: Maximum tokens of a text, `[CLS]` and `[SEP]` included.
        epsilon: Epsilon of the layer norms.
        pooling: `mean` of the tokens' vectors, or that of `[CLS]`.
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
    parts = [
        (str(module.get("type", "")), folder / str(module.get("path", ""))) for module in modules(folder)
    ]
    kinds = [kind.rpartition(".")[2] for kind, _ in parts if kind.startswith("sentence_transformers.")]
    if len(kinds) != len(parts) or kinds not in (
        ["Transformer", "Pooling"],
        ["Transformer", "Pooling", "Normalize"],
    ):
        return None
    transformer_folder = parts[0][1]
    config = read_object(transformer_folder / "config.json")
    sizes: dict[str, Any] = {name: config.get(key) for name, key in _SIZES.items()}
    epsilon = config.get("layer_norm_eps", 1e-12)
    plain = (
        all(type(size) is int and size > 0 for size in sizes.values())
        and isinstance(epsilon, float)
        and (transformer_folder / "model.safetensors").is_file()
        and config.get("model_type") == "bert"
        and _agrees(config, _ARCHITECTURE)
        and not any(config.get(key) for key in ("pruned_heads", "quantization_config", "embedding_size"))
        and sizes["dimension"] % sizes["heads"] == 0
        and _has_no_prompts(read_object(folder / "config_sentence_transformers.json"))
        and all(
            set(read_object(path / "config.json").values()) <= {"sentence_embedding"} for _, path in parts[2:]
        )
    )
    if not plain:
        return None
    max_length = _max_length(transformer_folder, sizes["positions"])
    pooling = _pooling(read_object(parts[1][1] / "config.json"), sizes["dimension"])
    padding = _padding(transformer_folder, sizes["vocabulary"])
    if max_length is None or pooling is None or padding is None:
        return None
    return BertConfig(
        folder=transformer_folder,
        padding=padding,
        max_length=max_length,
        epsilon=epsilon,
        pooling=pooling,
        **sizes,
    )


def _agrees(config: Mapping[str, Any], expected: Mapping[str, object]) -> bool:
    return all(config.get(key, value) == value for key, value in expected.items())


def _has_no_prompts(config: Mapping[str, Any]) -> bool:
    """Return whether texts are encoded unchanged; unknown settings might change them."""
    prompts = config.get("prompts") or {}
    neutral = {"__version__", "model_type", "prompts", "similarity_fn_name"}
    customised = any(value for key, value in config.items() if key not in neutral)
    whole = config.get("model_type", "SentenceTransformer") == "SentenceTransformer"
    return whole and not customised and isinstance(prompts, dict) and not any(prompts.values())


def _pooling(config: Mapping[str, Any], dimension: int) -> Literal["mean", "cls"] | None:
    size = config.get("embedding_dimension", config.get("word_embedding_dimension"))
    # Files before sentence-transformers 5 have one flag a mode.
    flags = {key for key, value in config.items() if key.startswith("pooling_mode_") and value}
    modes: dict[Literal["mean", "cls"], set[str]] = {
        "mean": {"pooling_mode_mean_tokens"},
        "cls": {"pooling_mode_cls_token"},
    }
    named = config.get("pooling_mode")
    matches = [mode for mode, flag in modes.items() if (flags == flag if named is None else mode == named)]
    return matches[0] if matches and size == dimension else None


def _max_length(transformer_folder: Path, positions: int) -> int | None:
    """Return the maximum length in tokens; None if the transformer has unknown options."""
    if not (transformer_folder / "sentence_bert_config.json").is_file():
        return None
    config = read_object(transformer_folder / "sentence_bert_config.json")
    neutral = {*_TRANSFORMER, "max_seq_length"}
    if not _agrees(config, _TRANSFORMER) or any(v for key, v in config.items() if key not in neutral):
        return None
    max_length = config.get("max_seq_length")
    if max_length is None:
        limit = read_object(transformer_folder / "tokenizer_config.json").get("model_max_length", positions)
        max_length = min(limit, positions) if isinstance(limit, int | float) else None
    return int(max_length) if isinstance(max_length, int) and 2 < max_length <= positions else None


def _padding(transformer_folder: Path, vocabulary: int) -> int | None:
    """Return the padding token's id, None for a tokenizer that may not be BERT's own."""
    tokenizer, config = (
        read_object(transformer_folder / "tokenizer.json"),
        read_object(transformer_folder / "tokenizer_config.json"),
    )
    mapped = read_object(transformer_folder / "special_tokens_map.json")
    try:
        names = {key: _token(config.get(key, default)) for key, default in _SPECIAL.items()}
        vocab = tokenizer["model"]["vocab"]
        plain = (
            _is_plain(tokenizer, config, names)
            and all(names.get(key) == _token(value) for key, value in mapped.items())
            and all(name in vocab for name in names.values())
            and max(vocab.values()) < vocabulary
        )
        return int(vocab[names["pad_token"]]) if plain else None
    except (AttributeError, IndexError, KeyError, TypeError):  # not the types that a tokenizer writes
        return None


def _is_plain(
    tokenizer: Mapping[str, Any], config: Mapping[str, Any], names: Mapping[str, str | None]
) -> bool:
    """Return whether `tokenizer.json` is what transformers makes of the folder.

    It builds BERT's tokenizer again, from the vocabulary there and the settings in `tokenizer_config.json`.
    """
    model = {
        "type": "WordPiece",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "unk_token": names["unk_token"],
    }
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": config.get("tokenize_chinese_chars", True),
        "strip_accents": config.get("strip_accents"),
        "lowercase": config.get("do_lower_case", True),
    }
    unusual = ("extra_special_tokens", "additional_special_tokens", "split_special_tokens", "never_split")
    added = [*tokenizer["added_tokens"], *(config.get("added_tokens_decoder") or {}).values()]
    return (
        config.get("tokenizer_class", "BertTokenizer") in ("BertTokenizer", "BertTokenizerFast")
        and model.items() <= tokenizer["model"].items()
        and normalizer.items() <= tokenizer["normalizer"].items()
        and tokenizer["pre_tokenizer"] == {"type": "BertPreTokenizer"}
        and _frame(tokenizer["post_processor"]) == [names["cls_token"], None, names["sep_token"]]
        and all(token["special"] and _token(token) in names.values() for token in added)
        and config.get("padding_side", "right") == config.get("truncation_side", "right") == "right"
        and not any(config.get(key) for key in unusual)
    )


def _token(value: object) -> str | None:
    """Return the text of a special token, None if it matches more than itself."""
    if isinstance(value, dict):
        value = None if any(value.get(flag) for flag in _FLAGS) else value.get("content")
    return value if isinstance(value, str) else None


def _frame(processor: Mapping[str, Any]) -> list[str | None] | None:
    """Return the special tokens around a single text; None if they differ from BERT's."""
    if processor["type"] == "BertProcessing":
        return [processor["cls"][0], None, processor["sep"][0]]
    if processor["type"] != "TemplateProcessing":
        return None
    pieces = [next(iter(piece.items())) for piece in processor["single"]]
    if any(piece["type_id"] for _, piece in pieces):
        return None
    return [piece["id"] if kind == "SpecialToken" else None for kind, piece in pieces]
