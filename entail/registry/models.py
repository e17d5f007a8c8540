"""Active models of corpora and roles: lookup with a fallback to packaged ones, promotion, rollback."""

from __future__ import annotations

import contextlib
import functools
import logging
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.data.artifacts import model_artifact, open_artifacts, pull_folder
from entail.data.records import Corpus
from entail.encoders.card import read_card
from entail.encoders.catalogue import PACKAGED, SHIPPED, fetch, model_folder, resolve
from entail.errors import DataError, EncoderError, PromotionError
from entail.progress import ProgressCallback
from entail.registry.pointers import (
    Pointer,
    current_pointer,
    list_moves,
    locked_moves,
    require_unmoved,
    rollback_target,
)
from entail.registry.roles import (
    ROLES,
    list_usable,
    role_of,
    unusable_reason,
)
from entail.settings import load_settings
from entail.training.cards.figures import FigurePair, compare_figures
from entail.training.method import Role

if TYPE_CHECKING:
    from entail.evaluation.retrieval.paired import PairedComparison

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Active:
    """Active model of a role, or of a corpus; its name is empty where no model of the role is installed.

    Attributes:
        revision: Revision of the model; empty where it is unknown before a download.
        premise_revision: Revision of the premise vectors that the index is made of.
        pointer: Pointer in force, also where its model cannot be used; None for the packaged model.
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

    def check(self) -> None:
        """Raise `PromotionError` if the encoder is gone or its weights changed; never asks the network."""
        try:
            entry = resolve(self.encoder)
        except EncoderError as error:
            raise PromotionError(
                f"{self.encoder!r} is not available any more: {error}; promote another one"
            ) from error
        if entry.revision not in (None, self.revision):
            raise PromotionError(
                f"expected {self.encoder!r} to be {self.revision}, as promoted, found {entry.revision}: its "
                "weights changed since; promote it again, or restore the old ones"
            )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return vars(self) | {"pointer": self.pointer.to_json() if self.pointer else None}


def active(corpus: str | None = None, *, role: Role = "retriever") -> Active:
    """Return the active model of a corpus, or of a role.

    A corpus without a pointer of its own follows the default; only retrievers differ by corpus.

    Raises:
        PromotionError: If the pointers cannot be read; of retrievers only, the others fall back.
        EncoderError: If no retriever was promoted and the packaged one is not installed.
    """
    if role != "retriever":
        return _active_or_fallback(role)
    pointer = current_pointer(corpus) or current_pointer()
    if pointer is None:
        return shipped_retriever()
    _fetch_active(pointer)
    retriever = Active(str(pointer.encoder), pointer.revision, pointer.premise_revision, pointer)
    if is_shipped(retriever.encoder):
        # An update of the package may change its weights: whoever promoted it goes on with the new ones.
        with contextlib.suppress(EncoderError):
            _, revision, premise_revision = _retriever(retriever.encoder)
            return replace(retriever, revision=revision, premise_revision=premise_revision)
    return retriever


def shipped_retriever() -> Active:
    """Return `SHIPPED`, or the packaged encoder where it is not installed.

    Raises:
        EncoderError: If neither is installed.
    """
    with contextlib.suppress(EncoderError):
        return Active(*_retriever(SHIPPED))
    return Active(*_retriever(PACKAGED))


def active_name(role: Role, names: Collection[str]) -> str | None:
    """Return the active model of a role if it is one of some names, else the fallback; None without either.

    Cheaper than `active` where no model was promoted: pages and requests call it again and again.
    """
    with contextlib.suppress(PromotionError):
        if current_pointer(role=role) is None:
            return _fallback(role, names)
    now = active(role=role)
    if now.notice is not None:
        _warn_once(now.notice)
    return now.encoder if now.encoder in names else _fallback(role, names)


def fetch_model(name: str, revision: str = "") -> None:
    """Fetch a model of another machine from the store of artifacts, unless a model of its name is here.

    Without an artifact of the `revision`, it is the newest one; whoever uses it checks its revision.

    Raises:
        DataError: If the store does not answer, or the model cannot be written.
    """
    if "/" in name or model_folder(name) is not None or (store := open_artifacts()) is None:
        return
    exact, names = model_artifact(name, revision), store.names(f"models/{name}")
    if names:
        models = load_settings().models_dir
        pull_folder(store, exact if exact in names else names[-1], models / name)
        if (card := read_card(models / name, name)) is not None and card.base:
            fetch_model(card.base)


def promote(
    name: str,
    *,
    by: str,
    corpus: str | None = None,
    evaluation: PairedComparison | None = None,
    premises: Corpus | None = None,
    anyway: bool = False,
    number: int | None = None,
    progress: ProgressCallback | None = None,
) -> Pointer:
    """Make a model the active one of its role (`role_of`).

    Args:
        name: Folder under `models/`; of a retriever also `minilm` or a Hub id, pinned to its commit.
        by: Author of the promotion.
        corpus: Name of the corpus, for a retriever; None for the default.
        evaluation: Comparison with the active model.
        premises: The corpus itself: its index is built before the pointer moves.
        anyway: Promote also where `require_no_worse` refuses.
        number: `Active.number` at the time of the decision; a later move of the pointer refuses this one.
        progress: Progress of the index.

    Raises:
        PromotionError: If the model fits no role, `require_no_worse` refuses, the pointer moved since
            `number`, or it cannot be written. The pointer then stays where it is.
        EncoderError: If the model cannot be loaded.
        DataError: If other machines could not fetch the model from the store of artifacts.
        DemoError: In a demo.
    """
    fetch_model(name)
    role = role_of(name)
    if role != "retriever" and (corpus is not None or premises is not None):
        raise PromotionError(f"{name} {ROLES[role].task} for all corpora; leave out the corpus")
    encoder, revision, premise_revision = _retriever(name) if role == "retriever" else _model(name, role)
    if not anyway:
        require_no_worse(encoder, revision, active(corpus, role=role), evaluation)
    if premises is not None:
        from entail.encoders.encoder import BiEncoder
        from entail.index.vectors import premise_vectors

        loaded = BiEncoder(fetch(resolve(encoder)))
        premise_vectors(premises, loaded, cache_dir=load_settings().vectors_dir, progress=progress)
    _share_model(encoder, revision)
    with locked_moves() as append:
        now = active(corpus, role=role)
        require_unmoved(now.pointer, number)
        if not anyway:  # again: the pointer may have moved meanwhile
            require_no_worse(encoder, revision, now, evaluation)
        present = current_pointer(corpus, role=role)
        return append(
            Pointer(
                number=0,
                corpus=corpus,
                encoder=encoder,
                revision=revision,
                premise_revision=premise_revision,
                by=by,
                at=datetime.now(UTC),
                evaluation=evaluation.to_json() if evaluation else None,
                previous=present.number if present else 0,
                role=role,
            )
        )


def roll_back(
    corpus: str | None = None, *, by: str, role: Role = "retriever", number: int | None = None
) -> Pointer:
    """Restore the model that was active before the last promotion, for a corpus or the default, or a role.

    With `number` of the move to take back, a later move refuses the rollback.

    Raises:
        PromotionError: If nothing was promoted, the pointer moved since `number`, the model to restore is
            gone, or the pointer cannot be written.
    """
    with locked_moves() as append:
        present = current_pointer(corpus, role=role)
        if present is None:
            scope = f" for {corpus!r}" if corpus else " for all corpora" if role == "retriever" else ""
            raise PromotionError(f"expected a promoted model that {ROLES[role].task}{scope}, found none")
        require_unmoved(present, number)
        restored = rollback_target(present)
        if restored is not None and role == "retriever" and not is_shipped(str(restored.encoder)):
            Active(str(restored.encoder), restored.revision).check()
        none = replace(present, encoder=None, revision="", premise_revision="", previous=0, evaluation=None)
        target = list_moves()[-present.previous] if present.previous else none
        now = datetime.now(UTC)
        return append(replace(target, by=by, at=now, rolled_back=present.number))


def card_figures(name: str, now: Active) -> list[FigurePair]:
    """Return the figures on the cards of the active model and of another one, side by side."""
    return compare_figures(_folder(now.encoder) if now.encoder else None, _folder(name))


def decisive_figures(name: str, now: Active) -> list[FigurePair]:
    """Return the figures on both cards that decide between two models of the role."""
    task = ROLES[now.role].task_of_figures
    return [row for row in card_figures(name, now) if row.is_decisive and row.task == task]


def require_no_worse(
    name: str, revision: str, now: Active, evaluation: PairedComparison | None = None
) -> None:
    """Check that a model, given by name and revision, may replace the active one.

    A retriever needs a comparison on queries that neither model was trained on. For the other roles the
    figures of both cards on the same data also count.

    Raises:
        PromotionError: If the two were not compared, or the model does worse.
    """
    if evaluation is not None and (evaluation.candidate, evaluation.active) == (revision, now.revision):
        if evaluation.seen:
            raise PromotionError(
                f"one of the two encoders was trained on {evaluation.seen:,} of the {evaluation.queries:,} "
                f"queries of {evaluation.split}; compare them on other queries, or promote it anyway"
            )
        if evaluation.verdict == "worse":
            raise PromotionError(f"it does worse than the active model ({evaluation}); promote it anyway?")
        return
    if now.role == "retriever":
        actual = "found one of other weights" if evaluation else "found none"
        raise PromotionError(
            f"expected a comparison of {name} with {now.encoder}, which is active now, {actual}; compare the "
            "two, or promote it anyway"
        )
    if not now.encoder or now.revision == revision:
        return
    rows = decisive_figures(name, now)
    if not rows:
        raise PromotionError(
            f"expected figures of {name} and of {now.encoder}, which is active, on the same data, "
            "found none; measure both (`entail evaluate ... --out FILE`, `entail card NAME --results FILE`), "
            "or promote it anyway"
        )
    if sum(row.second or 0 for row in rows) < sum(row.first or 0 for row in rows):
        figures = "; ".join(
            f"{row.task}, {row.measure} on {row.data}: {row.second:.3f} against {row.first:.3f}"
            for row in rows
        )
        raise PromotionError(
            f"it does worse than {now.encoder}, which is active ({figures}); promote it anyway?"
        )


def is_shipped(name: str) -> bool:
    """Return whether a model is one that ships with the package, not one of the user's of the same name."""
    folder = model_folder(name)
    return folder is not None and folder.parent == load_settings().shipped_models_dir


@functools.cache
def _warn_once(notice: str) -> None:
    _log.warning("%s", notice)


_ASK_EVERY = 60.0
_misses: dict[str, float] = {}  # model that could not be fetched -> time


def _fetch_active(pointer: Pointer) -> None:
    """Fetch an active model that is not here; one that cannot be fetched is asked for again in a minute."""
    name = str(pointer.encoder)
    if time.monotonic() - _misses.get(name, float("-inf")) < _ASK_EVERY or model_folder(name) is not None:
        return
    try:
        fetch_model(name, pointer.revision)
    except DataError as error:
        _log.warning("%s", error)
    if model_folder(name) is None:
        _misses[name] = time.monotonic()


def _share_model(name: str, revision: str) -> None:
    """Let other machines fetch a model, unless every installation has it."""
    folder = model_folder(name)
    if folder is None or is_shipped(name) or (store := open_artifacts()) is None:
        return
    artifact = model_artifact(folder.name, revision)
    if artifact not in store.names(f"models/{folder.name}"):
        store.push([folder], artifact)


def _active_or_fallback(role: Role) -> Active:
    with contextlib.suppress(PromotionError):  # reported below
        if (promoted := current_pointer(role=role)) is not None:
            _fetch_active(promoted)
    usable = list_usable(role)
    name = _fallback(role, usable) or ""
    fallback = Active(name, usable.get(name, ""), role=role)
    instead = f"{name or 'nothing'} is active instead"
    try:
        pointer = current_pointer(role=role)
    except PromotionError as error:
        return replace(fallback, notice=f"{error}. Until then {instead}")
    if pointer is None:
        return fallback
    name = str(pointer.encoder)
    if name not in usable:
        reason = unusable_reason(name, role)
    elif usable[name] not in ("", pointer.revision) and not is_shipped(name):
        reason = f"expected {pointer.revision}, found {usable[name]}: its weights changed since"
    else:
        return Active(name, usable[name] or pointer.revision, pointer=pointer, role=role)
    notice = (
        f"{name}, promoted by {pointer.by}, cannot be used: {reason}; {instead}. Promote another one, or "
        "restore the one before"
    )
    return replace(fallback, pointer=pointer, notice=notice)


def _fallback(role: Role, names: Collection[str]) -> str | None:
    return ROLES[role].packaged if ROLES[role].packaged in names else next(iter(names), None)


def _retriever(name: str) -> tuple[str, str, str]:
    """Return name, revision and premise revision of an encoder that can rank."""
    entry = fetch(resolve(name))
    problem = entry.problem or (entry.gaussian and "expected an encoder of points, found one of Gaussians")
    if entry.kind == "folder" and not problem:
        # Every process has to find it by its name alone.
        own, path = model_folder(entry.name), entry.path
        if own is None or path is None or own.resolve() != path.resolve():
            models = load_settings().models_dir.name
            problem = f"expected a folder under {models}/, found another one; copy it there"
    if problem or entry.revision is None:
        raise EncoderError(f"{entry.name} cannot be promoted: {problem or 'it has no revision'}")
    # A Hub id may lead to another commit tomorrow.
    pinned = entry.revision.partition("+")[0] if entry.kind == "hub" else entry.name
    return pinned, entry.revision, str(entry.premise_revision)


def _model(name: str, role: Role) -> tuple[str, str, str]:
    """Return name, revision and no premise revision of a model under `models/` that fits a role."""
    name, usable = _folder(name).name, list_usable(role)
    if not usable.get(name):
        reason = "load it once, its base is not here yet" if name in usable else unusable_reason(name, role)
        raise EncoderError(f"{name} cannot be promoted: {reason}")
    return name, usable[name], ""


def _folder(name: str) -> Path:
    if (own := model_folder(name)) is not None:
        return own
    models = load_settings().models_dir
    path = Path(name.removeprefix(f"{models.name}/"))
    if path.name != str(path) and path.resolve().parent != models.resolve():
        raise PromotionError(
            f"expected the name of a folder under {models.name}/, found {name!r}; copy the folder there, or "
            "use entail pull"
        )
    return models / path.name
