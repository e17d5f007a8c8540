"""Models run by sentence-transformers itself."""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from entail.encoders.bert.lora import NO_EFFECT, PREFIX
from entail.encoders.catalogue import EncoderEntry, Tower, fetch, resolve, verify
from entail.encoders.device import device_name
from entail.encoders.gaussian.form import HEAD, Pooling
from entail.encoders.weights import SETTINGS, modules, require_finite
from entail.errors import EncoderError, EntailError

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

_ADAPTER = "default"
_log = logging.getLogger(__name__)


def sentence_transformer(
    encoder: str | Path | EncoderEntry,
    *,
    tower: Tower = "query",
    device: str | None = None,
    adapted: bool = True,
) -> SentenceTransformer:
    """Return the sentence-transformers model of one tower, in fp32; fetch a Hub model.

    Its adapter and head are loaded if `adapted`.

    Raises:
        EncoderError: If the name is unknown, or the weights cannot be verified or loaded.
        SettingsError: If the device is missing.
    """
    entry = fetch(encoder if isinstance(encoder, EncoderEntry) else resolve(encoder))
    whole = entry.base or entry
    verify(whole)
    location, adapter = device_name(device), entry.adapter(tower) if adapted else None
    import torch

    try:
        with silent(), _whole_folder(entry) as folder:
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(
                str(folder),
                device=location,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            )
            if adapter is not None:
                load_adapter(model, adapter, name=entry.name)
                if entry.gaussian is not None:
                    model = replace_head(model, adapter / HEAD, pooling=entry.gaussian.pooling)
            return model.float()
    except EntailError:
        raise
    except Exception as error:  # foreign folders may raise anything
        raise EncoderError(
            f"{entry.name}: cannot be loaded as a sentence-transformers model: {error}"
        ) from error


@contextlib.contextmanager
def _whole_folder(entry: EncoderEntry) -> Iterator[Path | None]:
    """Yield the folder of a whole model: of an adapter with its own modules, they and the base's weights."""
    base = entry.base.path if entry.base is not None else None
    if not entry.own_modules or base is None or entry.path is None:
        yield base or entry.path
        return
    with tempfile.TemporaryDirectory() as scratch:
        transformer = base / next((str(module.get("path", "")) for module in modules(base)), "")
        files = {file.name: file for file in transformer.iterdir() if file.name != SETTINGS}
        files |= {file.name: file for file in entry.path.iterdir()}
        for name, file in files.items():
            if not name.startswith("adapter_"):
                Path(scratch, name).symlink_to(file.absolute())
        yield Path(scratch)


def load_adapter(model: SentenceTransformer, folder: Path, *, name: str) -> None:
    """Put a PEFT adapter on a model's transformer.

    PEFT initialises what a file lacks at random, so the file must have every tensor, and no other. The loader
    of transformers 5.23 loses the magnitudes of DoRA, so PEFT's own is used.

    Raises:
        EncoderError: If a tensor is missing, on no layer of the configuration, or of another shape or type.
    """
    from peft import PeftConfig, get_peft_model_state_dict, set_peft_model_state_dict
    from peft.tuners.lora import LoraLayer
    from safetensors.torch import load_file

    path = folder / "adapter_model.safetensors"
    require_finite(path, name=name)
    transformer: Any = model.transformers_model
    tensors = {key.removeprefix(PREFIX): tensor for key, tensor in load_file(path).items()}
    if integers := [key for key, tensor in tensors.items() if not tensor.is_floating_point()]:
        raise EncoderError(f"{name}: {path.name}: expected floats in the tensor {min(integers)!r}")
    try:
        transformer.add_adapter(PeftConfig.from_pretrained(str(folder)), adapter_name=_ADAPTER)
        # A copy: loading may rename its keys.
        set_peft_model_state_dict(transformer, dict(tensors), adapter_name=_ADAPTER)
        state = get_peft_model_state_dict(transformer, adapter_name=_ADAPTER, save_embedding_layers=False)
    except (RuntimeError, ValueError, TypeError, KeyError) as error:
        raise EncoderError(f"{name}: {path.name} does not fit its configuration and base: {error}") from error
    missing, unknown = sorted(state.keys() - tensors.keys()), sorted(tensors.keys() - state.keys())
    if missing or unknown:
        raise EncoderError(
            f"{name}: {path.name}: expected the tensors of the layers in adapter_config.json, found "
            f"{unknown[:1] or 'none'} in place of {missing[:1] or 'none'}"
        )
    layers = [layer for layer in transformer.modules() if isinstance(layer, LoraLayer)]
    scales = any(scale for layer in layers for scale in layer.scaling.values())
    outputs = (part for layer in layers for part in (layer.lora_B, layer.lora_embedding_B))
    changes = scales and any(tensor.any() for part in outputs for tensor in part.parameters())
    if layers and not changes:
        _log.warning(NO_EFFECT, name)


def replace_head(
    model: SentenceTransformer, head: Path | None = None, *, pooling: Pooling
) -> SentenceTransformer:
    """Return the transformer of a model with a pooling, and with the linear map in a folder if there is one.

    Raises:
        EncoderError: If the model does not begin with a transformer.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling as PoolingModule

    first = next(iter(model.children()), None)
    if not isinstance(first, Transformer):
        raise EncoderError(f"expected a base that begins with a transformer, found {type(first).__name__}")
    modules: list[torch.nn.Module] = [first, PoolingModule(first.get_embedding_dimension(), pooling)]
    if head is not None:
        modules.append(Dense.load(str(head)))
    return SentenceTransformer(modules=modules, device=str(model.device))


class StockTowers:
    """Towers by sentence-transformers and PEFT: the query and the document route of one model.

    Towers with different adapters are two models: switching off an adapter does not always restore the base.
    """

    def __init__(self, entry: EncoderEntry, *, device: str, dtype: torch.dtype) -> None:
        self._query = sentence_transformer(entry, device=device).to(dtype).eval()
        self._premise = self._query
        if entry.adapter("query") != entry.adapter("premise"):
            self._premise = sentence_transformer(entry, tower="premise", device=device).to(dtype).eval()
        dimension = self._query.get_embedding_dimension()
        if dimension is None:
            raise EncoderError(f"{entry.name}: the model does not say how long its vectors are")
        self.dimension = int(dimension)

    def tokens(self, texts: Sequence[str]) -> list[tuple[int, ...] | str]:
        """Return the texts: routes may have tokenizers of their own."""
        return list(texts)

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is truncated."""
        limit = self._query.max_seq_length
        if limit is None or not texts:
            return [False] * len(texts)
        tokens = self._query.tokenizer(list(texts), truncation=False, verbose=False)
        return [len(ids) > limit for ids in tokens["input_ids"]]

    def encode(self, texts: Sequence[str], tower: Tower) -> NDArray[np.float32]:
        """Return vectors of any length, shape (texts, d)."""
        encode = self._query.encode_query if tower == "query" else self._premise.encode_document
        vectors = encode(list(texts), batch_size=len(texts), show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(vectors, dtype=np.float32)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Silence progress bars and reports of transformers while weights are loaded."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # not typed there
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # not typed there
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]  # not typed there
