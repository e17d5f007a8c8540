"""Promotion of a model to the active one, and its rollback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from entail.data.records import Corpus
from entail.encoders.catalogue import fetch, model_folder, resolve
from entail.errors import EncoderError, PromotionError
from entail.progress import ProgressCallback
from entail.registry.lookup import (
    DESCRIPTIONS,
    Active,
    active,
    list_usable,
    require_unchanged,
    role_of,
    unusable_reason,
)
from entail.registry.pointers import Pointer, append_move, current_move, locked_moves, restored_move
from entail.settings import load_settings, refuse_in_demo
from entail.training.cards.card_metrics import DECISIVE, MetricPair, compare_cards
from entail.training.method import Role

if TYPE_CHECKING:
    from entail.evaluation.retrieval.paired import PairedComparison

_HOW_TO_MEASURE: Mapping[Role, str] = {
    "direction": "entail evaluate direction --out FILE, then entail card --results FILE",
    "chains": "entail evaluate chains --scorer NAME --out FILE, then entail card models/NAME --results FILE",
}


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
        name: Folder under `models/`; of a retriever any name or a Hub id, which is pinned to its commit.
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
    """
    refuse_in_demo("a model cannot be promoted")
    role = role_of(name)
    if role != "retriever" and (corpus is not None or premises is not None):
        raise PromotionError(f"{name} {DESCRIPTIONS[role]} for all corpora; leave out the corpus")
    encoder, revision, premise_revision = _retriever(name) if role == "retriever" else _model(name, role)
    if not anyway:
        require_no_worse(encoder, revision, active(corpus, role=role), evaluation)
    if premises is not None:
        from entail.encoders.encoder import BiEncoder
        from entail.index.vectors import premise_vectors

        loaded = BiEncoder(fetch(resolve(encoder)))
        premise_vectors(premises, loaded, cache_dir=load_settings().vectors_dir, progress=progress)
    with locked_moves() as moves:
        now = active(corpus, role=role)
        _require_unmoved(now.pointer, number)
        if not anyway:  # again: the pointer may have moved meanwhile
            require_no_worse(encoder, revision, now, evaluation)
        present = current_move(moves, role, corpus)
        pointer = Pointer(
            number=len(moves) + 1,
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
        return append_move(moves, pointer)


def roll_back(
    corpus: str | None = None, *, by: str, role: Role = "retriever", number: int | None = None
) -> Pointer:
    """Restore the model that was active before the last promotion.

    Args:
        corpus: Name of the corpus, of a retriever; None for the default.
        by: Author of the rollback.
        role: Role of the model.
        number: Number of the move to take back; a later move refuses the rollback.

    Raises:
        PromotionError: If nothing was promoted, the pointer moved since `number`, the model to restore is
            gone, or the pointer cannot be written.
    """
    with locked_moves() as moves:
        present = current_move(moves, role, corpus)
        if present is None:
            where = f" for {corpus!r}" if corpus else " for all corpora" if role == "retriever" else ""
            raise PromotionError(f"expected a promoted model that {DESCRIPTIONS[role]}{where}, found none")
        _require_unmoved(present, number)
        restored = restored_move(moves, present)
        if restored is not None and role == "retriever":
            # A commit of the Hub never changes: no need to ask the network.
            require_unchanged(str(restored.encoder), restored.revision, online=False)
        before = moves[present.previous - 1] if present.previous else None
        target = before or replace(present, encoder=None, revision="", premise_revision="", previous=0)
        pointer = replace(
            target,
            number=len(moves) + 1,
            by=by,
            at=datetime.now(UTC),
            evaluation=target.evaluation if before else None,
            rolled_back=present.number,
        )
        return append_move(moves, pointer)


def card_figures(name: str, now: Active) -> list[MetricPair]:
    """Return the figures on the cards of the active model and of another one, side by side."""
    return compare_cards(_folder(now.encoder) if now.encoder else None, _folder(name))


def require_no_worse(
    name: str, revision: str, now: Active, evaluation: PairedComparison | None = None
) -> None:
    """Check that a model may replace the active one.

    A retriever needs a comparison on queries that neither model was trained on. For the other roles the
    figures of both cards on the same data also count.

    Args:
        name: Name of the model.
        revision: Its revision.
        now: Active model of the role.
        evaluation: Comparison of the two.

    Raises:
        PromotionError: If the two were not compared, or the model does worse.
    """
    same = evaluation is not None and (evaluation.candidate, evaluation.active) == (revision, now.revision)
    if now.role == "retriever" and not same:
        found = f"found {evaluation.candidate} and {evaluation.active}" if evaluation else "found none"
        raise PromotionError(
            f"expected a comparison of {revision} with {now.revision}, which is active now, {found}; compare "
            "the two, or promote it anyway"
        )
    if now.role != "retriever" and (not now.encoder or now.revision == revision):
        return
    if same and evaluation is not None:
        if evaluation.seen:
            raise PromotionError(
                f"one of the two encoders was trained on {evaluation.seen:,} of the {evaluation.queries:,} "
                f"queries of {evaluation.split}; compare them on other queries, or promote it anyway"
            )
        if evaluation.verdict == "worse":
            raise PromotionError(f"it does worse than the active model ({evaluation}); promote it anyway?")
        return
    rows = [row for row in card_figures(name, now) if row.same_data and row.measure in DECISIVE]
    if not rows:
        raise PromotionError(
            f"expected figures of {name} and of {now.encoder}, which is active, on the same data, "
            f"found none; measure both: {_HOW_TO_MEASURE[now.role]}; or promote it anyway"
        )
    if sum(row.second or 0 for row in rows) < sum(row.first or 0 for row in rows):
        figures = "; ".join(f"{r.measure} on {r.data}: {r.second:.3f} against {r.first:.3f}" for r in rows)
        raise PromotionError(
            f"it does worse than {now.encoder}, which is active ({figures}); promote it anyway?"
        )


def _retriever(name: str) -> tuple[str, str, str]:
    """Return name, revision and premise revision of an encoder that can rank."""
    entry = fetch(resolve(name))
    problem = entry.problem or (entry.gaussian and "expected an encoder of points, found one of Gaussians")
    if problem or entry.revision is None:
        raise EncoderError(f"{entry.name} cannot be promoted: {problem or 'it has no revision'}")
    base = entry.base if entry.towers == "single" else None
    # A Hub id may lead to another commit tomorrow.
    pinned = entry.revision if entry.kind == "hub" else entry.name
    return pinned, entry.revision, str(base.revision) if base else entry.revision


def _model(name: str, role: Role) -> tuple[str, str, str]:
    """Return name, revision and no premise revision of a model under `models/` that fits a role."""
    name = _folder(name).name
    usable = list_usable(role)
    if not usable.get(name):
        reason = "load it once, its base is not here yet" if name in usable else unusable_reason(name, role)
        raise EncoderError(f"{name} cannot be promoted: {reason}")
    return name, usable[name], ""


def _folder(name: str) -> Path:
    models = load_settings().models_dir
    if (own := model_folder(name)) is not None:
        return own
    given = Path(name.removeprefix(f"{models.name}/"))
    if given.name != str(given) and given.resolve().parent != models.resolve():
        raise PromotionError(
            f"expected the name of a folder under {models.name}/, found {name!r}; copy the folder there, or "
            "use entail pull"
        )
    return models / given.name


def _require_unmoved(present: Pointer | None, number: int | None) -> None:
    if number is None or number == (present.number if present else 0):
        return
    change = f"{present.by} activated {present.encoder!r}" if present else "somebody rolled it back"
    raise PromotionError(f"nothing was changed: {change} meanwhile; look at what is active, decide again")
