"""List of the trained scorers at hand."""

from __future__ import annotations

from dataclasses import dataclass

from entail.arcf.scoring.form import METHOD, ScorerForm
from entail.arcf.scoring.scorer import SHIPPED, SHIPPED_ALONE
from entail.encoders.card import read_card
from entail.encoders.catalogue import resolve
from entail.encoders.cross.encoder import ADAPTER, HEAD, WHOLE, CrossParts, cross_folders
from entail.errors import EncoderError


@dataclass(frozen=True)
class ListedScorer:
    """A scorer under `models/`, not loaded.

    Attributes:
        name: Of its folder.
        form: How it was trained.
        stamp: Changes when it is replaced.
        problem: Why it cannot be used, in words.
    """

    name: str
    form: ScorerForm
    stamp: str
    problem: str | None = None


def list_scorers() -> list[ListedScorer]:
    """Return the scorers that stand under `models/`, what ships first, then those of chains, by name."""
    found = []
    for folder in cross_folders():
        form, problem = ScorerForm(), None
        try:
            card = read_card(folder, folder.name)
            if card is None or card.method != METHOD or not card.scorer:
                continue  # another method's head, such as that of Gaussians
            form = ScorerForm.read(card.scorer, name=folder.name)
            stamp = str((folder / HEAD).stat().st_mtime_ns)
        except EncoderError as error:
            problem, stamp = str(error), ""
        except OSError:
            continue  # it is being replaced
        found.append(ListedScorer(folder.name, form, stamp, problem))
    return sorted(found, key=lambda one: (one.name != SHIPPED, one.form.scheme != "arcf", one.name))


def first_of_single_facts() -> str | None:
    """Return the scorer that single facts are ranked by where none is named: what ships, else the first."""
    alone = [one.name for one in list_scorers() if one.problem is None and one.form.scheme == "single-fact"]
    return min(alone, key=lambda name: (name != SHIPPED_ALONE, name), default=None)


def scorer_revisions() -> dict[str, str | None]:
    """Return the revisions of the scorers that can be used, as `load_scorer` tells them; loads none.

    It is None where the base's is not known before it was fetched.
    """
    usable = {one.name for one in list_scorers() if one.problem is None}
    found: dict[str, str | None] = {}
    for folder in cross_folders():
        if folder.name not in usable:
            continue
        try:
            adapter, card = folder / ADAPTER, read_card(folder, folder.name)
            if not adapter.is_dir():
                found[folder.name] = CrossParts(folder, resolve(folder / WHOLE), None).revision
            elif card is not None and card.base:
                base = resolve(card.base)
                found[folder.name] = CrossParts(folder, base, adapter).revision if base.revision else None
        except (EncoderError, OSError):
            continue  # it is being replaced, or its base is gone
    return found
