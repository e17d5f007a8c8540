"""Any sentence-transformers model, run by sentence-transformers itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from entail.encoders.catalogue import EncoderEntry, Tower, fetch, resolve, verify
from entail.encoders.device import Memory, device_name
from entail.encoders.gaussian.form import HEAD, Pooling
from entail.errors import EncoderError, EntailError

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer


LONGEST = 512
"""Tokens that are read by a model which does not say how many it can."""

_BOUNDLESS = 1_000_000


def sentence_transformer(
    encoder: str | Path | EncoderEntry, *, tower: Tower = "query", device: str | None = None
) -> SentenceTransformer:
    """Return the real model of one tower, in fp32, its adapter loaded: to train or to export it.

    Args:
        encoder: A catalogue name, a folder, or an entry; a Hub model is fetched first.
        tower: Which one, where an adapter is on one of them only or each has its own.
        device: `auto`, `cpu`, `cuda`, `cuda:1`; default: `ENTAIL_DEVICE`.

    Raises:
        EncoderError: If the name leads nowhere, or the weights cannot be verified or loaded.
        SettingsError: If the device is not there.
    """
    entry = fetch(encoder if isinstance(encoder, EncoderEntry) else resolve(encoder))
    verify(entry)
    whole = entry.base or entry
    verify(whole)
    place = device_name(device)
    adapter = entry.adapter(tower)
    import torch

    try:
        with silent():
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(
                str(whole.path),
                device=place,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            )
            _limit(model)
            if adapter is not None:
                model.load_adapter(str(adapter))
                if entry.gaussian is not None:
                    model = with_head(model, adapter / HEAD, pooling=entry.gaussian.pooling)
            return model.float()
    except EntailError:
        raise
    except Exception as error:  # whatever a foreign folder brings about, its user gets one kind of error
        raise EncoderError(
            f"{entry.name}: cannot be loaded as a sentence-transformers model: {error}"
        ) from error


def _limit(model: SentenceTransformer) -> None:
    """Let a model whose tokenizer knows no limit, as T5's may, read `LONGEST` tokens: 10^30 is no length."""
    longest = model.max_seq_length
    if longest is not None and longest > _BOUNDLESS:
        with contextlib.suppress(AttributeError):  # word vectors alone are of any length, and have no setter
            model.max_seq_length = LONGEST


def without_head(model: SentenceTransformer, *, pooling: Pooling) -> SentenceTransformer:
    """Return what makes hidden vectors: the transformer and a pooling, of whatever stands behind it nothing.

    Raises:
        EncoderError: If the model does not begin with a transformer.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling as PoolingModule
    from sentence_transformers.sentence_transformer.modules import Transformer

    first = next(iter(model.children()), None)
    if not isinstance(first, Transformer):
        raise EncoderError(f"expected a base that begins with a transformer, found {type(first).__name__}")
    pooled = PoolingModule(first.get_embedding_dimension(), pooling)
    return SentenceTransformer(modules=[first, pooled], device=str(model.device))


def with_head(model: SentenceTransformer, head: Path, *, pooling: Pooling) -> SentenceTransformer:
    """Return a model that makes Gaussians: transformer, pooling, and the linear map in a folder.

    Raises:
        EncoderError: If the model does not begin with a transformer.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense

    hidden = without_head(model, pooling=pooling)
    modules: list[torch.nn.Module] = [*hidden.children(), Dense.load(str(head))]
    return SentenceTransformer(modules=modules, device=str(model.device))


class StockTowers:
    """Towers by sentence-transformers and PEFT: the query route of one model, the document route of the same.

    Where the towers have different adapters there are two models: what an adapter of an unusual kind does to
    its base is not always undone by switching it off.
    """

    def __init__(self, entry: EncoderEntry, *, device: str, dtype: torch.dtype) -> None:
        self._query = sentence_transformer(entry, device=device).to(dtype).eval()
        self._premise = self._query
        if entry.adapter("query") != entry.adapter("premise"):
            self._premise = sentence_transformer(entry, tower="premise", device=device).to(dtype).eval()
        found = self._query.get_embedding_dimension()
        if found is None:
            raise EncoderError(f"{entry.name}: the model does not say how long its vectors are")
        self.dimension = int(found)

    @property
    def memory(self) -> Memory:
        """Memory of both models, or of the one that serves as both."""
        models = (self._query, self._premise)
        held = {t.data_ptr(): t for model in models for t in model.state_dict().values()}
        return Memory(own=sum(tensor.nbytes for tensor in held.values()))

    def tokens(self, texts: Sequence[str]) -> list[tuple[int, ...] | str]:
        """Return the texts: routes may have tokenizers of their own."""
        return list(texts)

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is truncated."""
        longest = self._query.max_seq_length
        if longest is None or not texts:
            return [False] * len(texts)
        tokens = self._query.tokenizer(list(texts), truncation=False, verbose=False)
        return [len(ids) > longest for ids in tokens["input_ids"]]

    def encode(self, texts: Sequence[str], tower: Tower) -> NDArray[np.float32]:
        """Return vectors of any length, shape (texts, d)."""
        encode = self._query.encode_query if tower == "query" else self._premise.encode_document
        found = encode(list(texts), batch_size=len(texts), show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(found, dtype=np.float32)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Keep transformers from drawing bars and reporting while weights are loaded."""
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
