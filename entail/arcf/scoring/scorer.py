"""Trained scorers of premises: loaded, listed, looked up by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.arcf.config import Architecture
from entail.arcf.scoring.bi_encoder import BiEncoderScorer, Forward, Head, transformer_forward
from entail.arcf.scoring.terms import Terms
from entail.encoders.bert.lora import merge_adapter
from entail.encoders.cross.encoder import (
    HEAD,
    CrossEncoder,
    CrossParts,
    cross_parts,
    list_cross,
    load_cross,
    open_cross,
    plain_parts,
    stock_transformer,
)
from entail.encoders.cross.pairs import wrap_tokenizer
from entail.encoders.device import device_name
from entail.encoders.weights import open_tensors, read_form, require_finite
from entail.errors import EncoderError
from entail.training.config import Precision

if TYPE_CHECKING:
    import torch

METHOD = "arcf"
"""Name of the method in `entail.json`."""

SHIPPED = "arcf-minilm"
"""Packaged scorer of chains, the default."""

_ARCHITECTURES = {"joint": "cross", "apart": "bi"}
"""Values of `reading`, the name of the field in earlier versions, and of `architecture`."""


@dataclass(frozen=True, kw_only=True)
class ScorerForm:
    """Settings that a scorer was trained with and is to be used with, as fields of `ArcfConfig`.

    `stop` tells whether it was trained to stop, as all are since that is no option; `encoder` is that of
    explained questions, where explanatory power is a term of the scores, else empty.
    """

    max_length: int = 256
    metric: str = "tfidf"
    stop: bool = True
    architecture: Architecture = "cross"
    shared_pieces: bool = False
    encoder: str = ""
    similarity: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `entail.json`."""
        return asdict(self)

    @classmethod
    def read(cls, entry: Mapping[str, Any], *, name: str) -> ScorerForm:
        """Read an entry of `entail.json`, of earlier versions too; unknown fields are ignored.

        Raises:
            EncoderError: If a value has another type, or the scorer can no longer be used.
        """
        reading = str(entry.get("reading", "joint"))
        earlier = {"architecture": _ARCHITECTURES.get(reading, reading)}
        earlier |= {"max_length": entry["longest"]} if "longest" in entry else {}
        form = read_form(cls, {**earlier, **entry}, name=name, entry="scorer")
        if entry.get("scheme", METHOD) != METHOD:
            raise EncoderError(
                f"{name}: expected a scorer of chains, found one of single facts, which earlier versions "
                "trained; train it again: entail train arcf"
            )
        return form


@dataclass(frozen=True)
class Scorer:
    """A scorer in memory: of pairs of prefix and candidate, and by further terms with their weights.

    The revision is that of its weights and of its base's.
    """

    name: str
    revision: str
    form: ScorerForm
    pairs: CrossEncoder | BiEncoderScorer
    terms: Terms = field(default_factory=Terms)
    weights: tuple[float, ...] = ()


@dataclass(frozen=True)
class ListedScorer:
    """A scorer under `models/`, not loaded, and the reason, if any, why it cannot be used.

    The revision is None where the base has to be fetched first.
    """

    name: str
    form: ScorerForm
    revision: str | None
    problem: str | None = None


def load_scorer(name: str | Path, *, device: str | None = None, precision: Precision = "fp32") -> Scorer:
    """Load a trained scorer by its name under `models/` or its folder.

    The precision `auto` is bf16 where that is faster, but fp32 for a bi-encoder, whose scores lie too close
    for bf16.

    Raises:
        EncoderError: If the name leads to no scorer, or to weights that are damaged, not finite or of
            another base.
        SettingsError: If the device is not available.
    """
    import torch

    from entail.training.adapters.tower import cast_precision

    parts, card = open_cross(name, METHOD, first=SHIPPED)
    folder, name = parts.folder, parts.name
    form, torch_device = ScorerForm.read(card.scorer, name=name), device_name(device)
    is_bi = form.architecture == "bi"
    fast = not (is_bi and precision == "auto") and cast_precision(precision, torch_device) == "bf16"
    for file in sorted(folder.rglob("*.safetensors")):
        require_finite(file, name=name)
    terms = Terms.read(folder, pieces=form.shared_pieces, encoder=form.encoder, words=form.similarity)
    with open_tensors(folder / HEAD, name=name, device=torch_device, dtype=torch.float32) as tensors:
        weights = tuple(float(tensors.get(term, 1).exp()) for term in terms.names)
    if not np.isfinite(weights).all():
        raise EncoderError(
            f"{name}: {HEAD}: a weight of a score term is too large; download or train it again"
        )
    dtype = torch.bfloat16 if fast else torch.float32
    pairs = (
        load_cross(parts, max_length=form.max_length, device=torch_device, dtype=dtype)
        if not is_bi
        else _load_bi_encoder(parts, form.max_length, torch_device, dtype)
    )
    return Scorer(name, parts.revision, form, pairs, terms, weights)


def _load_bi_encoder(parts: CrossParts, max_length: int, device: str, dtype: torch.dtype) -> BiEncoderScorer:
    import torch

    plain = plain_parts(parts, device=device, dtype=dtype)
    if plain is not None:
        bert, tokenize, frame = plain.bert, plain.tokenize, plain.frame
        prefixes: Forward = partial(bert.states, linears=merge_adapter(bert, plain.added))
        candidates: Forward = bert.states
        d, max_length = bert.config.dimension, min(max_length, bert.config.positions)
    else:
        adapted, unchanged = (
            stock_transformer(variant, device=device, dtype=dtype)
            for variant in (parts, replace(parts, adapter=None))
        )
        tokenize, frame = wrap_tokenizer(adapted.tokenizer, name=parts.name)
        prefixes, candidates = (transformer_forward(first.auto_model) for first in (adapted, unchanged))
        d = adapted.get_embedding_dimension()
    with open_tensors(parts.folder / HEAD, name=parts.name, device=device, dtype=torch.float32) as tensors:
        head = Head(tensors.get("weight", 1, d), tensors.get("bias", 1), tensors.get("scale", 1))
    return BiEncoderScorer(
        prefixes, candidates, head, tokenize=tokenize, frame=frame, max_length=max_length, device=device
    )


def list_scorers() -> list[ListedScorer]:
    """Return the scorers under `models/`: the packaged one first, then by name."""
    listed = []
    for folder, card in list_cross(METHOD, first=SHIPPED):
        form, revision, problem = ScorerForm(), None, None
        try:
            form = ScorerForm.read(card.scorer, name=folder.name)
            parts = cross_parts(folder, card, download=False)
            revision = parts.revision if parts.whole.revision else None
        except EncoderError as error:
            problem = str(error)
        except OSError:
            continue  # it is being replaced
        listed.append(ListedScorer(folder.name, form, revision, problem))
    return listed
