"""Active models of corpora and roles, with the fallback to packaged ones."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from entail.arcf.scoring.listing import list_scorers, scorer_revisions
from entail.arcf.scoring.scorer import SHIPPED as PACKAGED_SCORER
from entail.encoders.card import read_card
from entail.encoders.catalogue import PACKAGED, EncoderEntry, catalogue, fetch, model_folder, resolve
from entail.encoders.cross.encoder import cross_folder
from entail.errors import EncoderError, PromotionError
from entail.registry.pointers import (
    Pointer,
    current_pointer,
)
from entail.training.method import Role

if TYPE_CHECKING:
    pass

PACKAGED_MODELS: Mapping[Role, str] = {"direction": "gausscse-minilm", "chains": PACKAGED_SCORER}
"""Fallback of each role that has one pointer for all corpora."""

DESCRIPTIONS: Mapping[Role, str] = {
    "retriever": "ranks premises",
    "direction": "tells which of two sentences entails the other",
    "chains": "builds chains of facts",
}
"""Task of the model in each role."""

_log = logging.getLogger(__name__)
_logged: set[str] = set()


@dataclass(frozen=True)
class Active:
    """Active model of a role, or of a corpus.

    Attributes:
        encoder: Name of the model; empty where no model of the role is installed.
        revision: Revision of the model; empty where it is unknown before a download.
        premise_revision: Revision of the premise vectors that the index is made of.
        pointer: Pointer in force, also where its model cannot be used; None for the packaged model.
        role: Role of the model.
        notice: Reason for the fallback, where the promoted model cannot be used.
    """

    encoder: str
    revision: str
    premise_revision: str = ""
    pointer: Pointer | None = None
    role: Role = "retriever"
    notice: str | None = None

    @property
    def number(self) -> int:
        """Number of the last move, 0 for none: a cache key that changes with every move."""
        return self.pointer.number if self.pointer else 0

    def entry(self) -> EncoderEntry:
        """Return the encoder's catalogue entry, downloaded if need be.

        Raises:
            PromotionError: If the encoder is gone, or its weights changed since the promotion.
        """
        return require_unchanged(self.encoder, self.revision)

    def check(self) -> None:
        """Check, without the network, that the promoted encoder is still there.

        Raises:
            PromotionError: If the encoder is gone, or its weights changed since the promotion.
        """
        require_unchanged(self.encoder, self.revision, online=False)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        pointer = self.pointer.to_json() if self.pointer else None
        if self.role == "retriever":
            return {
                "encoder": self.encoder,
                "revision": self.revision,
                "premise_revision": self.premise_revision,
                "pointer": pointer,
            }
        return {
            "name": self.encoder or None,
            "revision": self.revision or None,
            "pointer": pointer,
            "notice": self.notice,
        }


def active(corpus: str | None = None, *, role: Role = "retriever") -> Active:
    """Return the active model of a corpus, or of a role.

    Args:
        corpus: Name of the corpus; None, or a corpus without a pointer of its own: the default.
        role: Role of the model; only retrievers differ by corpus.

    Raises:
        PromotionError: If the file of pointers cannot be read; of retrievers only, the others fall back.
        EncoderError: If no retriever was promoted and the packaged one is not installed.
    """
    if role != "retriever":
        return _active_or_fallback(role, list_usable(role))
    pointer = current_pointer(corpus) or current_pointer()
    if pointer is not None:
        return Active(str(pointer.encoder), pointer.revision, pointer.premise_revision, pointer)
    packaged = resolve(PACKAGED)
    return Active(packaged.name, str(packaged.revision), str(packaged.revision))


def active_name(role: Role, names: Collection[str]) -> str | None:
    """Return the active model of a role if it is one of some names, else the fallback; None without either.

    Cheaper than `active` where nobody promoted a model: pages and requests call it again and again.
    """
    now = None
    with contextlib.suppress(PromotionError):  # `fallback_notice` has it
        if current_pointer(role=role) is not None:
            now = active(role=role)
    if now is not None and now.notice is not None and now.notice not in _logged:
        _logged.add(now.notice)
        _log.warning("%s", now.notice)
    return now.encoder if now is not None and now.encoder in names else _fallback(role, names)


def fallback_notice(role: Role) -> str | None:
    """Return why a role uses the fallback instead of the promoted model; None where it does not."""
    with contextlib.suppress(PromotionError):
        if current_pointer(role=role) is None:
            return None
    return active(role=role).notice


def list_usable(role: Role) -> dict[str, str]:
    """Return the installed models that fit a role: name -> revision, empty where it is not known yet."""
    if role == "chains":
        revisions = scorer_revisions()
        scorers = [one for one in list_scorers() if one.problem is None and one.form.scheme == "arcf"]
        return {one.name: revisions[one.name] or "" for one in scorers if one.name in revisions}
    gaussian = role == "direction"
    fitting = [one for one in catalogue() if (one.gaussian is not None) == gaussian and one.problem is None]
    return {entry.name: entry.revision or "" for entry in fitting}


def role_of(name: str) -> Role:
    """Return the role that a model fits.

    Args:
        name: Folder under `models/`, or any other name of an encoder.

    Raises:
        PromotionError: If it fits none.
        EncoderError: If there is no such model, or it cannot be loaded safely.
    """
    folder = cross_folder(name)
    card = read_card(folder, folder.name) if folder is not None else None
    if folder is not None and card is not None and card.judge:
        raise PromotionError(
            f"{folder.name} cannot be promoted: expected an encoder or a scorer of chains, found a judge of "
            f"entailment; name it where you need it: entail evaluate judge --judge {folder.name}"
        )
    if folder is not None and card is not None and card.scorer:
        listed = next((one for one in list_scorers() if one.name == folder.name), None)
        if listed is not None and listed.problem is None and listed.form.scheme != "arcf":
            raise PromotionError(
                f"{folder.name} cannot be promoted: expected a scorer of chains, found one that learnt on "
                "single facts and does not see those before; name it: entail rank --method single-fact "
                f"--scorer {folder.name}"
            )
        return "chains"
    return "direction" if resolve(name).gaussian is not None else "retriever"


def _active_or_fallback(role: Role, usable: Mapping[str, str]) -> Active:
    fallback = _fallback(role, usable) or ""
    revision = usable.get(fallback, "")
    instead = f"{fallback or 'nothing'} is active instead"
    try:
        pointer = current_pointer(role=role)
    except PromotionError as error:
        return Active(fallback, revision, role=role, notice=f"{error}. Until then {instead}")
    if pointer is None:
        return Active(fallback, revision, role=role)
    name = str(pointer.encoder)
    if name not in usable:
        reason = unusable_reason(name, role)
    elif usable[name] not in ("", pointer.revision):
        reason = f"expected {pointer.revision}, found {usable[name]}: its weights changed since"
    else:
        return Active(name, pointer.revision, pointer=pointer, role=role)
    notice = (
        f"{name}, promoted by {pointer.by}, cannot be used: {reason}; {instead}. Promote another one, or go "
        f"back: entail promote --back --role {role}"
    )
    return Active(fallback, revision, pointer=pointer, role=role, notice=notice)


def _fallback(role: Role, names: Collection[str]) -> str | None:
    return PACKAGED_MODELS[role] if PACKAGED_MODELS[role] in names else next(iter(names), None)


def require_unchanged(encoder: str, revision: str, *, online: bool = True) -> EncoderEntry:
    """Return the catalogue entry of a promoted encoder.

    Args:
        encoder: Its name.
        revision: Its revision at the promotion.
        online: Whether to download it, or ask the network for its revision.

    Raises:
        PromotionError: If it is gone, or its weights changed since.
    """
    try:
        entry = fetch(resolve(encoder)) if online else resolve(encoder)
    except EncoderError as error:
        raise PromotionError(
            f"{encoder!r} is not available any more: {error}; promote another one"
        ) from error
    unknown = entry.revision is None and not online
    if entry.revision != revision and not unknown:
        raise PromotionError(
            f"expected {encoder!r} to be {revision}, as promoted, found {entry.revision}: its weights "
            "changed since; promote it again, or restore the old ones"
        )
    return entry


def unusable_reason(name: str, role: Role) -> str:
    """Return why a model does not fit its role."""
    listed = next((one for one in (list_scorers() if role == "chains" else ()) if one.name == name), None)
    if listed is not None and (listed.problem is not None or listed.form.scheme != "arcf"):
        return listed.problem or "it is no scorer of chains"
    if model_folder(name) is None:
        return "its folder is gone"
    if role == "direction":
        try:
            return "it makes points" if resolve(name).gaussian is None else "it cannot be loaded"
        except EncoderError as error:
            return str(error)
    return "it cannot be read, or its base is gone"
