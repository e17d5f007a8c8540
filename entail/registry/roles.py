"""Roles of models: packaged fallbacks, the models that fit a role, and the role that a model fits."""

from __future__ import annotations

from collections.abc import Mapping

from entail.arcf.scoring.scorer import SHIPPED as PACKAGED_SCORER
from entail.arcf.scoring.scorer import list_scorers
from entail.encoders.card import read_card
from entail.encoders.catalogue import catalogue, model_folder, resolve
from entail.encoders.cross.encoder import cross_folder
from entail.encoders.cross.reranker import SHIPPED as PACKAGED_RERANKER
from entail.encoders.cross.reranker import reranker_revisions
from entail.errors import EncoderError, PromotionError
from entail.training.method import Role

PACKAGED_MODELS: Mapping[Role, str] = {
    "direction": "gausscse-minilm",
    "chains": PACKAGED_SCORER,
    "reranker": PACKAGED_RERANKER,
}
"""Fallback of each role that has one pointer for all corpora."""

DESCRIPTIONS: Mapping[Role, str] = {
    "retriever": "ranks premises",
    "direction": "tells which of two sentences entails the other",
    "chains": "builds chains of facts",
    "reranker": "re-ranks the nearest premises",
}
"""Task of the model in each role."""


def list_usable(role: Role) -> dict[str, str]:
    """Return the installed models that fit a role: name -> revision, empty where it is not known yet."""
    if role == "chains":
        usable = [scorer for scorer in list_scorers() if scorer.problem is None]
        return {scorer.name: scorer.revision or "" for scorer in usable}
    if role == "reranker":
        return reranker_revisions()
    return {
        entry.name: entry.revision or ""
        for entry in catalogue()
        if (entry.gaussian is not None) == (role == "direction") and entry.problem is None
    }


def role_of(name: str) -> Role:
    """Return the role that a model fits: a folder under `models/`, or any other name of an encoder.

    Raises:
        PromotionError: If it fits none.
        EncoderError: If there is no such model, or it cannot be loaded safely.
    """
    folder = cross_folder(name)
    card = read_card(folder, folder.name) if folder is not None else None
    if card is not None and card.reranker:
        return "reranker"
    if card is not None and card.scorer:
        return "chains"
    if folder is not None and card is not None and card.judge:
        raise PromotionError(
            f"{folder.name} cannot be promoted: expected an encoder, a scorer of chains or a re-ranker, "
            f"found a judge of entailment; name it where you need it: entail evaluate nli --judge "
            f"{folder.name}"
        )
    return "direction" if resolve(name).gaussian is not None else "retriever"


def unusable_reason(name: str, role: Role) -> str:
    """Return why a model cannot be used in a role."""
    for scorer in list_scorers() if role == "chains" else ():
        if scorer.name == name and scorer.problem is not None:
            return scorer.problem
    if model_folder(name) is None:
        return "its folder is gone"
    if role == "direction":
        try:
            return "it makes points" if resolve(name).gaussian is None else "it cannot be loaded"
        except EncoderError as error:
            return str(error)
    return "it cannot be read, or its base is gone"
