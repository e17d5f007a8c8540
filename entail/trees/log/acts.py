"""Acts of authors on a tree: frozen records with a JSON form for the event log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar, Literal, TypeVar

from entail.data.records import Premise
from entail.errors import ActError


@dataclass(frozen=True, slots=True)
class GivenNode:
    """Node of a tree that is created with a structure, such as an imported one.

    Attributes:
        text: Sentence.
        parent: Index of the parent, an earlier given node; -1 for the hypothesis, None for a loose node (a
            few
            official proofs never use a conclusion).
        label: Id in the imported file (`sent3`, `int1`).
        key: Key of the corpus premise, None if it is none.
    """

    text: str
    parent: int | None
    label: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Creation of a tree: its hypothesis, and the nodes below it, if any.

    `source` has the other fields of an imported row.
    """

    kind: ClassVar[str] = "create"
    hypothesis: str
    nodes: tuple[GivenNode, ...] = ()
    source: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """Acceptance of a premise, which becomes a child of the node."""

    kind: ClassVar[str] = "accept"
    node: str
    premise: Premise


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """Rejection of a premise that was shown for the node."""

    kind: ClassVar[str] = "reject"
    node: str
    premise: Premise


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """Rejection of all remaining candidates shown for the node."""

    kind: ClassVar[str] = "finish"
    node: str
    premises: tuple[Premise, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Statement of the author's own below a node."""

    kind: ClassVar[str] = "write"
    node: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclude:
    """Intermediate conclusion from some premises of a node, which replaces them below the node."""

    kind: ClassVar[str] = "conclude"
    node: str
    premises: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """New text of a node."""

    kind: ClassVar[str] = "edit"
    node: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Removal of a node with all below it; with `keep_premises`, its premises move up."""

    kind: ClassVar[str] = "remove"
    node: str
    keep_premises: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reorder:
    """New order of a node's premises."""

    kind: ClassVar[str] = "reorder"
    node: str
    order: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Move of a node, with all below it, to the end of another node's premises."""

    kind: ClassVar[str] = "move"
    node: str
    parent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """Undo of the author's act of this seq."""

    kind: ClassVar[str] = "undo"
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Redo:
    """Redo of the author's act of this seq."""

    kind: ClassVar[str] = "redo"
    seq: int


Act = Create | Accept | Reject | Finish | Write | Conclude | Edit | Remove | Reorder | Move
"""Act that changes a tree directly."""

AnyAct = Act | Undo | Redo

R = TypeVar("R")

_ACTS: dict[str, type[AnyAct]] = {
    act.kind: act
    for act in (Create, Accept, Reject, Finish, Write, Conclude, Edit, Remove, Reorder, Move, Undo, Redo)
}


@dataclass(frozen=True, slots=True)
class Shown:
    """Candidate as it was on the screen.

    Attributes:
        key: Key of the premise.
        rank: Rank in the list.
        score: Score that decided the rank.
        retrieved: Rank in the retriever's list, if the list was re-ranked.
    """

    key: str
    rank: int
    score: float
    retrieved: int | None = None


Means = Literal["next", "draft"]
"""Means of a scorer: candidates re-ranked as next premises, or a drafted chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Origin of a list that a scorer proposed.

    Attributes:
        means: `next`: top candidates of a retriever, re-ranked by the accepted premises; `draft`: a chain
            that
            continues from them.
        after: Keys of the premises below the node at that time, in order.
        k: Number of re-ranked candidates (`next`), or neighbours of each sentence (`draft`).
        among: Revision of the retriever (`next`).
    """

    means: Means
    after: tuple[str, ...] = ()
    k: int = 0
    among: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What an author had before their eyes when judging a premise.

    Attributes:
        retriever: Name of what ranked: a retriever, or the scorer of a proposal.
        revision: Revision of the encoder or scorer, or settings of a lexical retriever.
        corpus_version: Version of the corpus that was searched.
        query: The text searched with.
        own_words: Whether the author typed the query instead of taking the node's text.
        shown: All candidates that were on the screen, by rank.
        proposal: Where they were proposed by a scorer of facts: how; None where they were retrieved.
    """

    retriever: str
    revision: str
    corpus_version: int
    query: str
    own_words: bool = False
    shown: tuple[Shown, ...] = ()
    proposal: Proposal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One row of the log.

    Attributes:
        seq: Place in the tree's log, 1 for the act that created it.
        author: Name of who did it.
        at: When, in UTC.
        act: What was done.
        evidence: What was shown, for judgements; None where nothing was, or where it was not asked for.
        verified: Whether the author had signed in; else the name is one that somebody typed.
    """

    seq: int
    author: str
    at: datetime
    act: AnyAct
    evidence: Evidence | None = None
    verified: bool = False


def act_to_json(act: AnyAct) -> dict[str, Any]:
    """Return the payload of an act, without its kind.

    >>> act_to_json(Reject(node="n1", premise=Premise("ice is cold")))
    {'node': 'n1', 'premise': {'text': 'ice is cold', 'source_id': None}}
    """
    return {f.name: _plain(getattr(act, f.name)) for f in fields(act)}


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON is of any type
    match value:
        case str() | None:
            return value
        case Mapping():
            return {key: _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case Premise() | GivenNode():
            return {f.name: getattr(value, f.name) for f in fields(value)}
        case _:
            return value


def act_from_json(kind: str, payload: Mapping[str, Any]) -> AnyAct:
    """Return the act that `act_to_json` wrote.

    Raises:
        ActError: If there is no such kind, or the payload has other fields than it.
    """
    act = _ACTS.get(kind)
    if act is None:
        raise ActError(f"no act is called {kind!r}; known: {', '.join(sorted(_ACTS))}")
    expected = {f.name for f in fields(act)}
    if set(payload) - expected:
        raise ActError(f"the act {kind!r} has the fields {sorted(expected)}, found {sorted(payload)}")
    values: dict[str, Any] = dict(payload)
    try:
        if kind == "create":
            values["nodes"] = tuple(_typed(GivenNode(**node)) for node in values.get("nodes", ()))
        elif kind in ("accept", "reject"):
            values["premise"] = _typed(Premise(**values["premise"]))
        elif kind == "finish":
            values["premises"] = tuple(_typed(Premise(**premise)) for premise in values["premises"])
        elif kind == "conclude":
            values["premises"] = tuple(values["premises"])
        elif kind == "reorder":
            values["order"] = tuple(values["order"])
        return _typed(act(**values))
    except (AttributeError, KeyError, TypeError) as error:
        raise ActError(f"the act {kind!r} has the fields {sorted(expected)}, found {payload!r}") from error


_TYPES = {
    "str": str,
    "str | None": str | None,
    "int": int,
    "int | None": int | None,
    "bool": bool,
    "Mapping[str, Any]": Mapping,
}


_PLAIN_FIELDS: dict[type, list[tuple[str, Any]]] = {
    record: [(f.name, _TYPES[str(f.type)]) for f in fields(record) if str(f.type) in _TYPES]
    for record in (*_ACTS.values(), Premise, GivenNode)
}


def _typed(record: R) -> R:
    """Return the record if its plain fields are of their types; a log from a file may hold anything."""
    for name, kind in _PLAIN_FIELDS[type(record)]:
        if not isinstance(getattr(record, name), kind):
            raise TypeError(f"{name} is {getattr(record, name)!r}")
    return record


def evidence_to_json(evidence: Evidence | None) -> dict[str, Any] | None:
    """Return what the log keeps of evidence: what only proposals have is left out of the others.

    >>> shown = (Shown("k", 1, 0.5),)
    >>> seen = Evidence(retriever="x", revision="x", corpus_version=1, query="q", shown=shown)
    >>> told = evidence_to_json(seen)
    >>> told["shown"], "proposal" in told
    ([{'key': 'k', 'rank': 1, 'score': 0.5}], False)
    """
    if evidence is None:
        return None
    told = asdict(evidence)
    if evidence.proposal is None:
        del told["proposal"]
    told["shown"] = [
        {name: value for name, value in candidate.items() if name != "retrieved" or value is not None}
        for candidate in told["shown"]
    ]
    return told


def evidence_from_json(payload: Mapping[str, Any] | None) -> Evidence | None:
    """Return the evidence that `evidence_to_json` wrote, None for None."""
    if payload is None:
        return None
    shown = tuple(Shown(**candidate) for candidate in payload.get("shown", ()))
    proposal = payload.get("proposal")
    if proposal is not None:
        proposal = Proposal(**{**proposal, "after": tuple(proposal.get("after", ()))})
    return Evidence(**{**payload, "shown": shown, "proposal": proposal})
