"""A trained scorer: what says how well a fact goes on an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from entail.arcf.config import Precision
from entail.arcf.scoring.bi_encoder import BiEncoderScorer, Forward, Head, transformer_forward
from entail.arcf.scoring.explanatory_power import Explanations
from entail.arcf.scoring.form import METHOD, POWER, SHARED_PIECES, SIMILARITY, ScorerForm
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.priors import PremisePriors, Weights
from entail.arcf.scoring.terms import SharedPieces, SharingScorer, WordSimilarity
from entail.data.worldtree.tables import FactTables
from entail.encoders.bert.lora import merged
from entail.encoders.card import read_card
from entail.encoders.cross.encoder import (
    HEAD,
    CrossParts,
    PairScorer,
    cross_folder,
    cross_folders,
    cross_parts,
    load_cross,
    plain_parts,
    stock_model,
)
from entail.encoders.cross.pairs import read_tokenizer
from entail.encoders.device import device_name
from entail.encoders.weights import TensorFile, check_safe, open_tensors, require_finite
from entail.errors import EncoderError, EvaluationError
from entail.index.protocol import Floats
from entail.statistics.ranking import Values

if TYPE_CHECKING:
    import torch

Scores = TypeVar("Scores", Floats, Values)

SHIPPED = "arcf-minilm"
"""Name of the scorer that commands take where none is named."""

SHIPPED_ALONE = "single-fact-minilm"
"""The same for what ranks single facts: the baseline."""


@dataclass(frozen=True)
class Scorer:
    """A scorer with all that is known of it.

    Attributes:
        name: How a person calls it.
        revision: Identity of its weights and of its base's.
        form: How it was trained.
        pairs: What scores.
        explanations: What its facts' explanatory power is known by; None where that is no term of its scores.
        weights: What that, and the similarity of words, count.
        words: What similarity is made by; None where it is no term of its scores.
    """

    name: str
    revision: str
    form: ScorerForm
    pairs: PairScorer
    explanations: Explanations | None = None
    weights: Weights = field(default_factory=Weights)
    words: WordSimilarity | None = None

    def inputs(self, facts: Sequence[str]) -> Inputs:
        """Tokenise facts, once."""
        return Inputs(self.pairs.tokenize, self.pairs.frame, max_length=self.pairs.max_length, facts=facts)

    def known_of(self, facts: FactTables) -> PremisePriors | None:
        """Return what it knows of facts without reading them; None where that is nothing."""
        if self.explanations is None and self.words is None:
            return None
        return PremisePriors(facts, explanations=self.explanations, words=self.words, weights=self.weights)


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
        precision: `fp32`, `bf16`, or `auto`: bf16 where it is the faster one; but fp32 for a scorer that
            reads apart. It reads little anew, and facts lie too close for bf16 to tell them.
        budget: Tokens of a forward pass; default: by device.
        stock: Whether to run it by transformers in any case.

    Raises:
        EncoderError: If the name leads nowhere, to no scorer, or to weights that are damaged, no numbers or
            of another base.
        SettingsError: If the device is not there.
    """
    import torch

    from entail.training.adapters.tower import cast_precision

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
    exact = precision == "auto" and form.reading == "apart"
    fast = not exact and cast_precision(precision, place) == "bf16"
    dtype = torch.bfloat16 if fast else torch.float32
    parts = cross_parts(folder, card)
    d = parts.dimension
    for file in sorted(folder.rglob("*.safetensors")):
        require_finite(file, name=called)
    with open_tensors(folder / HEAD, name=called, device=place, dtype=torch.float32) as tensors:
        head = tensors.get("weight", 1, d), tensors.get("bias", 1)
        scale = None if form.reading == "joint" else tensors.get("scale", 1)
        shared = _weight(tensors, SHARED_PIECES, called) if form.shared_pieces else 0.0
        weights = Weights(
            _weight(tensors, POWER, called) if form.encoder else 0.0,
            _weight(tensors, SIMILARITY, called) if form.similarity else 0.0,
        )
    pairs: PairScorer
    if scale is None:
        pairs = load_cross(
            parts, head, max_length=form.max_length, device=place, dtype=dtype, budget=budget, stock=stock
        )
    else:
        pairs = _bi_encoder(
            parts,
            Head(*head, scale),
            max_length=form.max_length,
            device=place,
            dtype=dtype,
            budget=budget,
            stock=stock,
        )
    if form.shared_pieces:
        pairs = SharingScorer(pairs, SharedPieces.read(folder), shared)
    explanations = Explanations.read(folder, encoder=form.encoder) if form.encoder else None
    words = WordSimilarity.read(folder) if form.similarity else None
    return Scorer(called, parts.revision, form, pairs, explanations, weights, words)


def _weight(tensors: TensorFile, logarithm: str, name: str) -> float:
    """Return the weight whose logarithm is stored; a number may still be too large for its exponential."""
    weight = float(tensors.get(logarithm, 1).exp())
    if not np.isfinite(weight):
        raise EncoderError(
            f"{name}: {HEAD}: expected the tensor {logarithm!r} to be the logarithm of a weight, found one "
            "that is too large; get it anew, or train it anew"
        )
    return weight


def scorer_folder(name: str | Path) -> Path:
    """Return where a scorer of this name is.

    Raises:
        EncoderError: If there is none; names those there are.
    """
    found = cross_folder(name)
    if found is not None:
        return found
    here = ", ".join(folder.name for folder in cross_folders() if _is_scorer(folder))
    raise EncoderError(
        f"no scorer of facts is called {str(name)!r}; here are: {here or 'none'}. Train one: "
        "entail train arcf"
    )


def _is_scorer(folder: Path) -> bool:
    try:
        card = read_card(folder, folder.name)
    except EncoderError:
        return True  # whoever names it is told what is wrong
    return card is not None and card.method == METHOD


def _bi_encoder(
    parts: CrossParts,
    head: Head,
    *,
    max_length: int,
    device: str,
    dtype: torch.dtype,
    budget: int | None,
    stock: bool,
) -> BiEncoderScorer:
    plain = None if stock else plain_parts(parts, device=device, dtype=dtype)
    if plain is not None:
        bert, tokenize, frame = plain.bert, plain.tokenize, plain.frame
        prefixes: Forward = partial(bert.states, linears=merged(bert, plain.added))
        candidates: Forward = bert.states
        max_length = min(max_length, bert.config.positions)
    else:
        adapted, unchanged = (
            next(iter(stock_model(one, device=device, dtype=dtype).children()))
            for one in (parts, replace(parts, adapter=None))
        )
        tokenizer = adapted.tokenizer
        tokenize, frame = read_tokenizer(
            tokenizer.backend_tokenizer.to_str(), name=parts.name, padding=tokenizer.pad_token_id
        )
        prefixes, candidates = (
            transformer_forward(first.auto_model.eval()) for first in (adapted, unchanged)
        )
    return BiEncoderScorer(
        prefixes,
        candidates,
        head,
        tokenize=tokenize,
        frame=frame,
        max_length=max_length,
        device=device,
        budget=budget,
    )


def whole_scores(told: Scores, known: Floats | None = None, *, of: str) -> Scores:
    """Return what was read and what was known of candidates as their scores; every score is made here.

    Args:
        told: By the cross-encoder; a bare prefix may stand before the candidates, of which nothing is known.
        known: What is known of the candidates without reading them.
        of: What messages call the question.

    Raises:
        EvaluationError: If one is not a number.
    """
    scores = told
    if known is not None and len(known):
        scores = told.copy()
        scores[-len(known) :] += known
    if not np.isfinite(scores).all():
        count = int((~np.isfinite(scores)).sum())
        raise EvaluationError(
            f"{of}: {count} of {len(scores)} scores are no numbers (NaN or infinite); the weights are "
            "damaged, or the precision too low: load the scorer in fp32"
        )
    return scores
