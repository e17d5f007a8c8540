"""Detection of plain `Transformer(bert) -> Pooling -> [Normalize]` folders, and their sizes.

Only what is known to give the very vectors of sentence-transformers is taken; `read_bert` says None to all
else: other architectures, activations, poolings and positions, prompts, routes, further modules, tokenizers
that are not BERT's own, weights in several files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from entail.encoders.weights import modules, read_json

_SIZES = (
    "num_hidden_layers",
    "num_attention_heads",
    "hidden_size",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
)
_ARCHITECTURE: Mapping[str, object] = {
    "model_type": "bert",
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
_TOKENS = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}
_FLAGS = ("lstrip", "rstrip", "normalized", "single_word")


@dataclass(frozen=True)
class BertConfig:
    """A BERT and its pooling.

    Attributes:
        folder: Where `model.safetensors` and `tokenizer.json` are.
        layers: Number of layers.
        heads: Attention heads a layer.
        dimension: Length of a token's and of a text's vector, d.
        inner: Width of the feed-forward layer.
        vocabulary: Number of tokens known.
        positions: Number of positions known.
        padding: Id of the token that fills a batch up.
        max_length: Tokens of a text that are read, `[CLS]` and `[SEP]` among them.
        epsilon: Of the layer norms.
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
    def places(self) -> tuple[str, ...]:
        """Prefixes of the names of each layer's tensors."""
        return tuple(f"encoder.layer.{layer}." for layer in range(self.layers))


def read_bert(folder: Path) -> BertConfig | None:
    """Return what a folder describes, None if it is, or may be, anything else.

    Raises:
        EncoderError: If one of its files is not JSON.
    """
    parts = [(_kind(module), folder / str(module.get("path", ""))) for module in modules(folder)]
    kinds = [kind for kind, _ in parts]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return None
    place = parts[0][1]
    config = _object(place / "config.json")
    sizes = [config.get(key) for key in _SIZES]
    if not all(type(size) is int and size > 0 for size in sizes):
        return None
    layers, heads, dimension, inner, vocabulary, positions = cast("list[int]", sizes)
    max_length = _longest(place, positions)
    pooling = _pooling(_object(parts[1][1] / "config.json"), dimension)
    padding = _padding(place, vocabulary)
    epsilon = config.get("layer_norm_eps", 1e-12)
    plain = (
        (place / "model.safetensors").is_file()
        and config.get("model_type") == "bert"
        and _agrees(config, _ARCHITECTURE)
        and not any(config.get(key) for key in ("pruned_heads", "quantization_config", "embedding_size"))
        and dimension % heads == 0
        and _unprompted(_object(folder / "config_sentence_transformers.json"))
        and all(
            set(_object(path / "config.json").values()) <= {"sentence_embedding"} for _, path in parts[2:]
        )
    )
    if (
        not plain
        or max_length is None
        or pooling is None
        or padding is None
        or not isinstance(epsilon, float)
    ):
        return None
    return BertConfig(
        folder=place,
        layers=layers,
        heads=heads,
        dimension=dimension,
        inner=inner,
        vocabulary=vocabulary,
        positions=positions,
        padding=padding,
        max_length=max_length,
        epsilon=epsilon,
        pooling=pooling,
    )


def _object(path: Path) -> dict[str, Any]:
    content = read_json(path)
    return content if isinstance(content, dict) else {}


def _kind(module: Mapping[str, Any]) -> str:
    package, _, kind = str(module.get("type", "")).rpartition(".")
    return kind if package.startswith("sentence_transformers.") else ""


def _agrees(config: Mapping[str, Any], expected: Mapping[str, object]) -> bool:
    return all(config.get(key, value) == value for key, value in expected.items())


def _unprompted(config: Mapping[str, Any]) -> bool:
    """Whether texts are encoded as they come; what is not known here may change them."""
    prompts = config.get("prompts") or {}
    known = {"__version__", "model_type", "prompts", "similarity_fn_name"}
    others = any(value for key, value in config.items() if key not in known)
    whole = config.get("model_type", "SentenceTransformer") == "SentenceTransformer"
    return whole and not others and isinstance(prompts, dict) and not any(prompts.values())


def _pooling(config: Mapping[str, Any], dimension: int) -> Literal["mean", "cls"] | None:
    size = config.get("embedding_dimension", config.get("word_embedding_dimension"))
    mode = config.get("pooling_mode")
    if mode is None:  # files before sentence-transformers 5 have one flag a mode
        flags = {key for key, value in config.items() if key.startswith("pooling_mode_") and value}
        if flags not in ({"pooling_mode_mean_tokens"}, {"pooling_mode_cls_token"}):
            return None
        mode = "mean" if "pooling_mode_mean_tokens" in flags else "cls"
    if size != dimension or mode not in ("mean", "cls"):
        return None
    return "mean" if mode == "mean" else "cls"


def _longest(place: Path, positions: int) -> int | None:
    """Return the maximum length in tokens; None if the transformer has unknown options."""
    if not (place / "sentence_bert_config.json").is_file():
        return None
    config = _object(place / "sentence_bert_config.json")
    known = {*_TRANSFORMER, "max_seq_length"}
    if not _agrees(config, _TRANSFORMER) or any(value for key, value in config.items() if key not in known):
        return None
    max_length = config.get("max_seq_length")
    if max_length is None:
        limit = _object(place / "tokenizer_config.json").get("model_max_length", positions)
        max_length = min(limit, positions) if isinstance(limit, int | float) else None
    return int(max_length) if isinstance(max_length, int) and 2 < max_length <= positions else None


def _padding(place: Path, vocabulary: int) -> int | None:
    """The padding token's id, None where the tokenizer may be anything but BERT's own."""
    told, config = _object(place / "tokenizer.json"), _object(place / "tokenizer_config.json")
    mapped = _object(place / "special_tokens_map.json")
    try:
        names = {key: _token(config.get(key, usual)) for key, usual in _TOKENS.items()}
        if not _plain_tokenizer(told, config, names):
            return None
        if any(names.get(key) != _token(value) for key, value in mapped.items()):
            return None
        vocab = told["model"]["vocab"]
        whole = all(name in vocab for name in names.values()) and max(vocab.values()) < vocabulary
        return int(vocab[names["pad_token"]]) if whole else None
    except (AttributeError, IndexError, KeyError, TypeError):  # not the types that a tokenizer writes
        return None


def _plain_tokenizer(
    told: Mapping[str, Any], config: Mapping[str, Any], names: Mapping[str, str | None]
) -> bool:
    """Whether `tokenizer.json` is what transformers makes of the folder.

    It builds BERT's tokenizer anew, from the vocabulary there and the settings in `tokenizer_config.json`.
    """
    model, normalizer = told["model"], told["normalizer"]
    unusual = ("extra_special_tokens", "additional_special_tokens", "split_special_tokens", "never_split")
    added = [*told["added_tokens"], *(config.get("added_tokens_decoder") or {}).values()]
    return (
        config.get("tokenizer_class", "BertTokenizer") in ("BertTokenizer", "BertTokenizerFast")
        and model["type"] == "WordPiece"
        and model["continuing_subword_prefix"] == "##"
        and model["max_input_chars_per_word"] == 100
        and model["unk_token"] == names["unk_token"]
        and normalizer["type"] == "BertNormalizer"
        and normalizer["clean_text"] is True
        and normalizer["handle_chinese_chars"] == config.get("tokenize_chinese_chars", True)
        and normalizer["strip_accents"] == config.get("strip_accents")
        and normalizer["lowercase"] == config.get("do_lower_case", True)
        and told["pre_tokenizer"] == {"type": "BertPreTokenizer"}
        and _frame(told["post_processor"]) == [names["cls_token"], None, names["sep_token"]]
        and all(token["special"] and _token(token) in names.values() for token in added)
        and config.get("padding_side", "right") == config.get("truncation_side", "right") == "right"
        and not any(config.get(key) for key in unusual)
    )


def _token(value: object) -> str | None:
    """The text of a special token that stands for nothing but itself."""
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
