"""What is in use for what no retriever does: the encoder that tells directions, the scorer of chains.

Each role has one pointer for all (`entail.pointers`). Where nobody promoted anything, and where what was
promoted is gone or another by now, what ships is in use: a page or a command that only wants an arrow or a
chain goes on, and is told.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from entail.arcf.listing import list_scorers, scorer_revisions
from entail.arcf.scorer import SHIPPED as SHIPPED_SCORER
from entail.cards.known import DECISIVE, KnownBeside, known_beside
from entail.encoders.card import read_card
from entail.encoders.catalogue import catalogue, resolve
from entail.encoders.cross import cross_folder
from entail.errors import EncoderError, PromotionError
from entail.pointers import Moving, Pointer, Role, read_moves, require_unmoved
from entail.promotion import require_passed
from entail.settings import load_settings, refuse_in_demo

if TYPE_CHECKING:
    from entail.evaluation.measured import Beside

OwnRole = Literal["direction", "chains"]
"""What has one pointer for all, not one a corpus."""

SHIPPED: Mapping[OwnRole, str] = {"direction": "gausscse-minilm", "chains": SHIPPED_SCORER}
"""What is in use where nobody promoted anything."""

MEANS: Mapping[OwnRole, str] = {
    "direction": "tells which of two sentences entails the other",
    "chains": "builds chains of facts",
}
"""What each role does."""

_MEASURED_BY: Mapping[OwnRole, str] = {
    "direction": "measure both: entail evaluate direction --out FILE, then entail card --results FILE",
    "chains": "measure both: entail evaluate chains --scorer NAME --out FILE, then entail card models/NAME "
    "--results FILE",
}

_log = logging.getLogger(__name__)
_told: set[str] = set()


@dataclass(frozen=True)
class InUse:
    """What is in use for a role.

    Attributes:
        role: The role.
        name: What is in use; None where nothing can be.
        revision: Its weights; None where that is not known before it was fetched.
        pointer: The pointer of the role, also where what it names cannot be used.
        notice: Why something else is in use than was promoted, in words.
    """

    role: OwnRole
    name: str | None
    revision: str | None = None
    pointer: Pointer | None = None
    notice: str | None = None

    @property
    def number(self) -> int:
        """Another one each time the pointer is moved."""
        return self.pointer.number if self.pointer else 0

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return {
            "name": self.name,
            "revision": self.revision,
            "pointer": self.pointer.to_json() if self.pointer else None,
            "notice": self.notice,
        }


def usable(role: OwnRole) -> dict[str, str | None]:
    """Return what can be used for a role, by name, with its revision."""
    if role == "chains":
        revisions = scorer_revisions()
        scorers = [one for one in list_scorers() if one.problem is None and one.form.scheme == "arcf"]
        return {one.name: revisions[one.name] for one in scorers if one.name in revisions}
    found = [entry for entry in catalogue() if entry.gaussian is not None and entry.problem is None]
    return {entry.name: entry.revision for entry in found}


def in_use(role: OwnRole, among: Mapping[str, str | None] | None = None) -> InUse:
    """Return what is in use for a role; what was promoted and cannot be used gives way to what ships.

    Args:
        role: The role.
        among: As `usable` says it, where that is known.
    """
    here = usable(role) if among is None else among
    usual = _usual(role, here)
    revision = here[usual] if usual is not None else None
    try:
        pointer = read_moves().in_force(role=role)
    except PromotionError as error:
        return InUse(role, usual, revision, notice=f"{error}. Until then {_instead(usual)}")
    if pointer is None:
        return InUse(role, usual, revision)
    name = str(pointer.encoder)
    why = _missing(name, role) if name not in here else None
    if name in here and here[name] not in (None, pointer.revision):
        why = f"expected {pointer.revision}, found {here[name]}: other weights have its name by now"
    if why is None:
        return InUse(role, name, pointer.revision, pointer)
    notice = (
        f"{name}, which {pointer.by} promoted, cannot be used: {why}; {_instead(usual)}. "
        f"Promote another one, or go back: entail promote --back --role {role}"
    )
    return InUse(role, usual, revision, pointer, notice)


def first_in_use(role: OwnRole, names: Collection[str]) -> str | None:
    """Return what is in use where it is one of some names, else the usual one; None where there is none."""
    try:
        promoted = read_moves().in_force(role=role)
    except PromotionError:  # told where it is asked what is in use
        promoted = None
    # What nobody promoted needs no look at what is here: this is asked for by every page and request.
    now = in_use(role) if promoted is not None else None
    if now is not None and now.notice is not None and now.notice not in _told:
        _told.add(now.notice)
        _log.warning("%s", now.notice)
    return now.name if now is not None and now.name in names else _usual(role, names)


def notice(role: OwnRole) -> str | None:
    """Return why something else is in use than was promoted; None where it is not so."""
    try:
        if read_moves().in_force(role=role) is None:
            return None
    except PromotionError:
        pass
    return in_use(role).notice


def role_of(name: str) -> Role:
    """Return what something under `models/`, or an encoder by any other name, can be in use for.

    Raises:
        PromotionError: If it is for nothing that can be promoted.
        EncoderError: If nothing has this name, or it cannot be loaded safely.
    """
    folder = cross_folder(name)
    card = read_card(folder, folder.name) if folder is not None else None
    if folder is not None and card is not None and card.judge:
        raise PromotionError(
            f"{folder.name} cannot be promoted: expected an encoder or a scorer of chains, found a judge of "
            "entailment, of which none is in use by itself; name it: entail evaluate judge --judge "
            f"{folder.name}"
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


def put_in_use(
    name: str, *, by: str, evaluation: Beside | None = None, anyway: bool = False, number: int | None = None
) -> Pointer:
    """Make an encoder of Gaussians what tells directions, or a scorer of chains what builds them, for all.

    Args:
        name: Of a folder under `models/`.
        by: Who does it.
        evaluation: Its figures beside those of what is in use, on the same pairs.
        anyway: Also where `require_no_worse` refuses.
        number: `InUse.number` as the person saw it who decided: whatever was promoted since is refused.

    Raises:
        PromotionError: If it is for neither, `require_no_worse` refuses and not `anyway`, somebody else
            promoted meanwhile, or the pointer cannot be written: then the old one is in force.
        EncoderError: If nothing has this name, or it cannot be loaded.
    """
    refuse_in_demo("nothing can be promoted")
    role = role_of(name)
    if role == "retriever":
        raise PromotionError(f"{name} ranks premises: promote it for a corpus, or for all, by `promote`")
    called = _folder(name).name
    here = usable(role)
    if called not in here:
        raise EncoderError(f"{called} cannot be promoted: {_missing(called, role)}")
    revision = here[called]
    if revision is None:
        raise EncoderError(
            f"{called} cannot be promoted: its base is not here; load it once, then promote it"
        )
    with Moving() as held:
        now, present = in_use(role, here), held.in_force(role=role)
        require_unmoved(present, number)
        if not anyway:
            require_no_worse(called, revision, now, evaluation)
        return held.move(
            Pointer(
                number=held.next,
                corpus=None,
                encoder=called,
                revision=revision,
                premise_revision="",
                by=by,
                at=datetime.now(UTC),
                evaluation=evaluation.to_json() if evaluation else None,
                previous=present.number if present else 0,
                role=role,
            )
        )


def take_back(role: OwnRole, *, by: str, number: int | None = None) -> Pointer:
    """Put back what was in use for a role before the last promotion; again, what was before that.

    Raises:
        PromotionError: If nothing was promoted, or somebody else moved the pointer meanwhile.
    """
    with Moving() as held:
        present = held.in_force(role=role)
        if present is None:
            raise PromotionError(f"expected a promotion of what {MEANS[role]} to go back from, found none")
        require_unmoved(present, number)
        return held.put_back(present, by=by)


def history(role: OwnRole) -> tuple[Pointer, ...]:
    """Return the moves of a role's pointer, the newest first."""
    return tuple(reversed(read_moves().of(role)))


def known(name: str, now: InUse) -> list[KnownBeside]:
    """Return what cards say of what is in use and of something else, side by side."""
    return known_beside(_folder(now.name) if now.name is not None else None, _folder(name))


def require_no_worse(name: str, revision: str, now: InUse, evaluation: Beside | None = None) -> None:
    """Check that something may be put in use without anybody insisting.

    Args:
        name: Of its folder.
        revision: Its weights.
        now: What is in use.
        evaluation: Figures of both on the same pairs; such of other weights do not count.

    Raises:
        PromotionError: If the two were not measured on the same data, or it does worse there.
    """
    if now.name is None or now.revision == revision:
        return
    if evaluation is not None and (evaluation.candidate, evaluation.active) == (revision, now.revision):
        require_passed(evaluation, revision, evaluation.active)
        return
    same = [row for row in known(name, now) if row.same_data and row.measure in DECISIVE]
    if not same:
        raise PromotionError(
            f"expected figures of {name} and of {now.name}, which is in use, on the same data, found none; "
            f"{_MEASURED_BY[now.role]}, or promote it anyway"
        )
    first, second = (
        sum(float(value or 0) for value in side) for side in zip(*map(_values, same), strict=True)
    )
    if second < first:
        told = "; ".join(
            f"{row.measure} on {row.data}: {row.second:.3f} against {row.first:.3f}" for row in same
        )
        raise PromotionError(f"it does worse than {now.name}, which is in use ({told}); promote it anyway?")


def _usual(role: OwnRole, names: Collection[str]) -> str | None:
    return SHIPPED[role] if SHIPPED[role] in names else next(iter(names), None)


def _values(row: KnownBeside) -> tuple[float | None, float | None]:
    return row.first, row.second


def _folder(name: str) -> Path:
    models = load_settings().models_dir
    given = Path(name.removeprefix(f"{models.name}/"))
    if given.name != str(given) and given.resolve().parent != models.resolve():
        raise PromotionError(
            f"expected the name of a folder under {models.name}/, found {name!r}; bring it there first: "
            "entail pull, or copy the folder"
        )
    return models / given.name


def _instead(usual: str | None) -> str:
    return f"{usual} is in use instead" if usual is not None else "nothing is in use instead"


def _missing(name: str, role: OwnRole) -> str:
    """Say why something that was promoted is none of what can be used for its role."""
    found = next((one for one in (list_scorers() if role == "chains" else ()) if one.name == name), None)
    if found is not None and (found.problem is not None or found.form.scheme != "arcf"):
        return found.problem or "it is no scorer of chains"
    if not (load_settings().models_dir / name).is_dir():
        return "its folder is gone"
    if role == "direction":
        try:
            return "it makes points" if resolve(name).gaussian is None else "it cannot be loaded"
        except EncoderError as error:
            return str(error)
    return "it cannot be read, or its base is gone"
