"""Roles of models: a record of each, the models that fit a role, and the role that a model fits."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from entail.answering.reader import SHIPPED as PACKAGED_READER
from entail.answering.reader import list_readers
from entail.arcf.scoring.scorer import SHIPPED as PACKAGED_SCORER
from entail.arcf.scoring.scorer import list_scorers
from entail.encoders.card import read_card
from entail.encoders.catalogue import SHIPPED, catalogue, model_folder, resolve
from entail.encoders.cross.encoder import cross_folder, cross_parts
from entail.encoders.cross.reranker import SHIPPED as PACKAGED_RERANKER
from entail.encoders.cross.reranker import reranker_revisions
from entail.errors import EncoderError, PromotionError
from entail.judge.judges import SHIPPED as PACKAGED_JUDGE
from entail.judge.judges import list_judges
from entail.judge.steps import SHIPPED as PACKAGED_CHECK
from entail.judge.steps import list_verifiers
from entail.training.cards.figures import Task
from entail.training.method import Role


@dataclass(frozen=True, kw_only=True)
class RoleRecord:
    """A role that one model has, or for retrievers one of each corpus.

    Attributes:
        title: Name of such a model on a screen.
        task: Task of the model: a verb phrase.
        use: Where it is used: a sentence.
        packaged: Model that is active where none was promoted.
        task_of_figures: Task of the figures on cards that decide between two of them.
        method: Method of its cross-encoders in `entail.json`; empty for encoders.
        list_usable: Returns the installed models that fit: name -> revision, empty where it is not known yet.
    """

    title: str
    task: str
    use: str
    packaged: str
    task_of_figures: Task
    method: str = ""
    list_usable: Callable[[], dict[str, str]]


def _encoders(*, gaussian: bool) -> dict[str, str]:
    return {
        entry.name: entry.revision or ""
        for entry in catalogue()
        if (entry.gaussian is not None) == gaussian and entry.problem is None
    }


def _cross(list_names: Callable[[], list[str]]) -> dict[str, str]:
    revisions = {}
    for name in list_names():
        with contextlib.suppress(EncoderError, OSError):  # it is being replaced, or its base is gone
            if (folder := cross_folder(name)) and (card := read_card(folder, name)):
                parts = cross_parts(folder, card, download=False)
                revisions[name] = parts.revision if parts.whole.revision else ""
    return revisions


def _scorers() -> dict[str, str]:
    return {scorer.name: scorer.revision or "" for scorer in list_scorers() if scorer.problem is None}


ROLES: Mapping[Role, RoleRecord] = {
    "retriever": RoleRecord(
        title="Retriever",
        task="ranks premises",
        use="The Trees page ranks candidates by it.",
        packaged=SHIPPED,
        task_of_figures="premises",
        list_usable=partial(_encoders, gaussian=False),
    ),
    "reranker": RoleRecord(
        title="Re-ranker",
        task="re-ranks the nearest premises",
        use="The Trees page orders the first candidates by it.",
        packaged=PACKAGED_RERANKER,
        task_of_figures="premises",
        method="reranker",
        list_usable=reranker_revisions,
    ),
    "judge": RoleRecord(
        title="Judge of entailment",
        task="tells whether a text entails a claim",
        use="The Claims page judges passages by it, and the Direction page two sentences.",
        packaged=PACKAGED_JUDGE,
        task_of_figures="entailment",
        method="judge",
        list_usable=partial(_cross, list_judges),
    ),
    "steps": RoleRecord(
        title="Check of steps",
        task="tells whether premises explain a conclusion",
        use="The Trees page checks steps by it.",
        packaged=PACKAGED_CHECK,
        task_of_figures="steps",
        method="judge",
        list_usable=partial(_cross, list_verifiers),
    ),
    "reader": RoleRecord(
        title="Reader of answers",
        task="marks answers in passages",
        use="The Claims page and `entail answer` answer questions by it.",
        packaged=PACKAGED_READER,
        task_of_figures="answers",
        method="reader",
        list_usable=partial(_cross, list_readers),
    ),
    "direction": RoleRecord(
        title="Encoder of direction",
        task="tells which of two sentences entails the other",
        use="The Direction page compares sentences by it.",
        packaged="gausscse-minilm",
        task_of_figures="direction",
        list_usable=partial(_encoders, gaussian=True),
    ),
    "chains": RoleRecord(
        title="Scorer of chains",
        task="builds chains of facts",
        use="The Chains page builds chains by it, and the Trees page drafts.",
        packaged=PACKAGED_SCORER,
        task_of_figures="chains",
        method="arcf",
        list_usable=_scorers,
    ),
}
"""Record of each role, in the order of the Models page."""


def list_usable(role: Role) -> dict[str, str]:
    """Return the installed models that fit a role: name -> revision, empty where it is not known yet."""
    return ROLES[role].list_usable()


def role_of(name: str) -> Role:
    """Return the role that a model fits: a folder under `models/`, or any other name of an encoder.

    Raises:
        PromotionError: If it fits none.
        EncoderError: If there is no such model, or it cannot be loaded safely.
    """
    folder = cross_folder(name)
    if folder is None:
        return "direction" if resolve(name).gaussian is not None else "retriever"
    card = read_card(folder, folder.name)
    method = card.method if card is not None else None
    if fitting := [role for role, record in ROLES.items() if method and record.method == method]:
        return next((role for role in fitting if folder.name in list_usable(role)), fitting[0])
    raise PromotionError(
        f"{folder.name} cannot be promoted: no role has models of the method {method!r}; expected an "
        f"encoder, or a model of {', '.join(record.method for record in ROLES.values() if record.method)}"
    )


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
