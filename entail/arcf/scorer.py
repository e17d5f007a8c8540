"""A trained scorer: what says how well a fact goes on an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from entail.arcf.batching import Spent
from entail.arcf.bert_scorer import BertScorer
from entail.arcf.config import Precision
from entail.arcf.inputs import Frame, Inputs, Pair, Tokenize, read_tokenizer
from entail.arcf.scorer_form import ADAPTER, HEAD, METHOD, WHOLE, ScorerForm
from entail.arcf.split import Head
from entail.arcf.split_layers import BertLayers, ModuleLayers
from entail.arcf.split_scorer import SplitScorer
from entail.arcf.stock_scorer import StockScorer
from entail.encoders.bert import shared_bert
from entail.encoders.bert_folder import read_bert
from entail.encoders.card import read_card
from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.encoders.device import device_name
from entail.encoders.lora import read_lora, read_lora_config
from entail.encoders.tensors import open_tensors
from entail.encoders.weights import check_safe, file_sha256, folder_digest
from entail.errors import EncoderError, EvaluationError
from entail.index.protocol import Floats
from entail.settings import load_settings

if TYPE_CHECKING:
    import torch
    from torch import Tensor

SHIPPED = "arcf-minilm"
"""Name of the scorer that commands take where none is named."""


class PairScorer(Protocol):
    """What scores pairs of a prefix and a candidate."""

    @property
    def tokenize(self) -> Tokenize:
        """Texts to token ids."""
        ...

    @property
    def frame(self) -> Frame:
        """The tokens around a pair."""
        ...

    @property
    def longest(self) -> int:
        """Tokens of a row that are read."""
        ...

    @property
    def spent(self) -> Spent:
        """Passes and tokens so far."""
        ...

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return a score a pair, shape (pairs,)."""
        ...


@dataclass(frozen=True)
class Scorer:
    """A scorer with all that is known of it.

    Attributes:
        name: How a person calls it.
        revision: Identity of its weights and of its base's.
        form: How it was trained.
        pairs: What scores.
    """

    name: str
    revision: str
    form: ScorerForm
    pairs: PairScorer

    def inputs(self, facts: Sequence[str]) -> Inputs:
        """Tokenise facts, once."""
        return Inputs(self.pairs.tokenize, self.pairs.frame, longest=self.pairs.longest, facts=facts)


def load_scorer(
    name: str | Path,
    *,
    device: str | None = None,
    precision: Precision = "fp32",
    budget: int | None = None,
    stock: bool = False,
) -> Scorer:
    """Bring a trained scorer into memory.

    Args:
        name: A folder under `models/`, or another folder.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.
        precision: `fp32`, `bf16`, or `auto`: bf16 where it is the faster one.
        budget: Tokens of a forward pass; default: by device.
        stock: Whether to run it by transformers in any case.

    Raises:
        EncoderError: If the name leads nowhere, to no scorer, or to weights that are damaged or of another
            base.
        SettingsError: If the device is not there.
    """
    import torch

    from entail.training.tower import cast_precision

    folder = scorer_folder(name)
    called = folder.name
    card = read_card(folder, called)
    if card is None or card.method != METHOD or not card.scorer:
        raise EncoderError(
            f"{called}: expected a scorer of facts, found an encoder or something else; take one that "
            "`entail train arcf` made"
        )
    check_safe(folder, called)
    form = ScorerForm.read(card.scorer, name=called)
    place = device_name(device)
    dtype = torch.bfloat16 if cast_precision(precision, place) == "bf16" else torch.float32
    whole, adapter = _parts(folder, called, card.base, card.base_revision)
    d = _dimension(folder / HEAD, called)
    with open_tensors(folder / HEAD, name=called, device=place, dtype=torch.float32) as tensors:
        head = [tensors.get("weight", 1, d), tensors.get("bias", 1)]
        if form.reading == "split":
            head.append(tensors.get("scale", 1))
    revision = f"{called}@{folder_digest(folder)}" + (f"+{whole.revision}" if adapter else "")
    found = None if stock else _bert_scorer(whole, adapter, head, form, called, place, dtype, budget)
    pairs = found or _stock_scorer(whole, adapter, head, form, called, place, dtype, budget)
    return Scorer(called, revision, form, pairs)


def scorer_folder(name: str | Path) -> Path:
    """Return where a scorer of this name is.

    Raises:
        EncoderError: If there is none; names those there are.
    """
    models = load_settings().models_dir
    given = Path(name).expanduser()
    bare = models / str(name).removeprefix(f"{models.name}/")
    plain = isinstance(name, str) and Path(bare).parent == models
    for place in ((bare,) if plain else ()) + ((given,) if isinstance(name, Path) or "/" in name else ()):
        if (place / HEAD).is_file():
            return place
    here = sorted(path.parent.name for path in models.glob(f"*/{HEAD}")) if models.is_dir() else []
    raise EncoderError(
        f"no scorer of facts is called {str(name)!r}; here are: {', '.join(here) or 'none'}. Train one: "
        "entail train arcf"
    )


def _parts(
    folder: Path, name: str, base: str | None, trained_on: str | None
) -> tuple[EncoderEntry, Path | None]:
    """Return the whole model a scorer stands on, and the folder of its adapter, None without one."""
    if not (folder / ADAPTER).is_dir():
        return resolve(folder / WHOLE), None
    if not base:
        raise EncoderError(f"{name}: expected the adapter's base in entail.json ('base'), found none")
    whole = fetch(resolve(base))
    if trained_on and whole.revision and trained_on.rpartition("@")[2] != whole.revision.rpartition("@")[2]:
        raise EncoderError(
            f"{name}: expected its base to be {trained_on}, which it was trained on, found {whole.revision}; "
            "name the right one as 'base' in entail.json, or train it anew"
        )
    return whole, folder / ADAPTER


def _bert_scorer(
    whole: EncoderEntry,
    adapter: Path | None,
    head: Sequence[Tensor],
    form: ScorerForm,
    name: str,
    device: str,
    dtype: torch.dtype,
    budget: int | None,
) -> PairScorer | None:
    config = read_bert(whole.path) if whole.path is not None else None
    lora = read_lora_config(adapter) if adapter is not None else None
    if config is None or (adapter is not None and lora is None):
        return None
    revision = whole.revision or file_sha256(config.folder / "model.safetensors")
    bert = shared_bert(config, name=whole.name, revision=revision, device=device, dtype=dtype)
    added = read_lora(lora, bert, name=name) if lora is not None else {}
    if added is None:
        return None
    told = (config.folder / "tokenizer.json").read_text(encoding="utf-8")
    tokenize, frame = read_tokenizer(told, name=whole.name, padding=config.padding)
    if form.reading == "split":
        return SplitScorer(
            BertLayers(bert, added),
            Head(*head),
            alone=form.alone,
            tokenize=tokenize,
            frame=frame,
            longest=min(form.longest, config.positions),
            device=device,
            budget=budget,
        )
    path = config.folder / "model.safetensors"
    with open_tensors(path, name=whole.name, device=device, dtype=dtype, prefix="bert.") as tensors:
        kinds = tensors.get("embeddings.token_type_embeddings.weight", None, config.dimension)
    return BertScorer(
        bert,
        added,
        kinds=kinds,
        head=(head[0], head[1]),
        tokenize=tokenize,
        frame=frame,
        longest=form.longest,
        budget=budget,
    )


def _stock_scorer(
    whole: EncoderEntry,
    adapter: Path | None,
    head: Sequence[Tensor],
    form: ScorerForm,
    name: str,
    device: str,
    dtype: torch.dtype,
    budget: int | None,
) -> PairScorer:
    from entail.encoders.stock import sentence_transformer, without_head

    model = without_head(sentence_transformer(whole, device=device), pooling="cls")
    if adapter is not None:
        model.load_adapter(str(adapter))
    model = model.float().to(dtype)
    if form.reading == "split":
        first: Any = next(iter(model.children()))
        told, padding = first.tokenizer.backend_tokenizer.to_str(), first.tokenizer.pad_token_id
        tokenize, frame = read_tokenizer(told, name=name, padding=padding)
        return SplitScorer(
            ModuleLayers(first.auto_model.eval(), name=name),
            Head(*head),
            alone=form.alone,
            tokenize=tokenize,
            frame=frame,
            longest=form.longest,
            device=device,
            budget=budget,
        )
    return StockScorer(model, (head[0], head[1]), name=name, longest=form.longest, budget=budget)


def _dimension(head: Path, name: str) -> int:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(head, framework="pt") as opened:
            return int(opened.get_slice("weight").get_shape()[1])
    except (SafetensorError, OSError, IndexError) as error:
        raise EncoderError(f"{name}: expected a linear map in {head.name}, found {error}") from error


def check_finite(scores: Floats, *, of: str) -> Floats:
    """Return scores that are numbers.

    Raises:
        EvaluationError: If one is not.
    """
    if not np.isfinite(scores).all():
        count = int((~np.isfinite(scores)).sum())
        raise EvaluationError(
            f"{of}: {count} of {len(scores)} scores are no numbers (NaN or infinite); the weights are "
            "damaged, or the precision too low: load the scorer in fp32"
        )
    return scores
