"""Acts of authors on a tree: frozen records with a JSON form for the event log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar, Literal

from entail.data.records import Premise
from entail.data.stored import parse_as
from entail.data.text import count_of, quote


@dataclass(frozen=True, slots=True)
class GivenNode:
    """Node of an imported tree.

    `parent` is the index of an earlier given node, -1 for the hypothesis, or None for a loose node (in a few
    official proofs nothing uses a conclusion); `label` is the id in the file, `key` that of the premise.
    """

    text: str
    parent: int | None
    label: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Creation of a tree; `source` has the other fields of an imported row."""

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
class Restore:
    """Return of the whole tree to its state after the act with this seq."""

    kind: ClassVar[str] = "restore"
    seq: int


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


TypedAct = Write | Conclude | Edit
"""Act that carries a sentence which its author typed."""

Act = Create | Accept | Reject | Finish | TypedAct | Remove | Reorder | Move | Restore
"""Act that changes a tree directly."""

AnyAct = Act | Undo | Redo

_ACTS: dict[str, type[AnyAct]] = {
    act.kind: act
    for act in (
        Create,
        Accept,
        Reject,
        Finish,
        Write,
        Conclude,
        Edit,
        Remove,
        Reorder,
        Move,
        Restore,
        Undo,
        Redo,
    )
}


@dataclass(frozen=True, slots=True)
class ShownCandidate:
    """Candidate on the screen; `retrieved` is its rank by the retriever if a scorer re-ranked the list."""

    key: str
    rank: int
    score: float
    retrieved: int | None = None


Means = Literal["next", "draft"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Origin of a list that a scorer proposed: candidates re-ranked as `next` premises, or a drafted chain.

    `after` has the keys of the premises below the node at that time, `k` is the number of re-ranked
    candidates or of neighbours of each sentence, `among` the revision of the retriever.
    """

    means: Means
    after: tuple[str, ...] = ()
    k: int = 0
    among: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """List that an author saw when judging a premise: all candidates on the screen, by rank.

    `retriever` and `revision` are those of the retriever, or of the scorer of a `proposal`; the author typed
    the query if `own_words`, else it is the node's text.
    """

    retriever: str
    revision: str
    corpus_version: int
    query: str
    own_words: bool = False
    shown: tuple[ShownCandidate, ...] = ()
    proposal: Proposal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Row of the log; `at` is in UTC, `seq` starts at 1, `verified` tells if the author was signed in."""

    seq: int
    author: str
    at: datetime
    act: AnyAct
    evidence: Evidence | None = None
    verified: bool = False


def act_to_json(act: AnyAct) -> dict[str, Any]:
    """Return the payload of an act, without its kind."""
    return {f.name: to_json(getattr(act, f.name)) for f in fields(act)}


def to_json(value: Any) -> Any:
    """Return a value of an act as plain JSON."""
    match value:
        case Premise() | GivenNode():
            return {f.name: getattr(value, f.name) for f in fields(value)}
        case Mapping():
            return {key: to_json(inner) for key, inner in value.items()}
        case list() | tuple():
            return [to_json(inner) for inner in value]
    return value


def parse_act(kind: str, payload: str) -> AnyAct:
    """Return the act of a payload, as JSON text; `ValueError` if the kind or its fields are unknown."""
    if kind not in _ACTS:
        raise ValueError(f"no act is called {kind!r}; known: {', '.join(sorted(_ACTS))}")
    act: AnyAct = parse_as(_ACTS[kind], payload, extra="forbid")
    return act


def evidence_to_json(evidence: Evidence | None) -> dict[str, Any] | None:
    """Return the JSON form of evidence, without fields that are None: most have no proposal."""
    if evidence is None:
        return None
    payload = _without_none(asdict(evidence))
    return payload | {"shown": list(map(_without_none, payload["shown"]))}


def _without_none(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value is not None}


def describe(act: AnyAct, texts: Mapping[str, str]) -> str:
    """Return a description of an act in the past tense, without its author.

    >>> describe(Edit(node="n1", text="ice melts"), {"n1": "ice can melt"})
    'reworded “ice can melt” as “ice melts”'
    """

    def node(node_id: str) -> str:
        return quote(texts[node_id]) if node_id in texts else node_id

    match act:
        case Create(hypothesis=hypothesis):
            return f"started the tree {quote(hypothesis)}"
        case Accept(node=parent, premise=premise):
            return f"accepted {quote(premise.text)} for {node(parent)}"
        case Reject(node=parent, premise=premise):
            return f"rejected {quote(premise.text)} for {node(parent)}"
        case Finish(node=parent, premises=premises):
            return f"finished {node(parent)}, {count_of(len(premises), 'candidate')} rejected"
        case Write(node=parent, text=text):
            return f"wrote {quote(text)} below {node(parent)}"
        case Conclude(premises=premises, text=text):
            return f"concluded {quote(text)} from {count_of(len(premises), 'premise')}"
        case Edit(node=edited, text=text):
            return f"reworded {node(edited)} as {quote(text)}"
        case Remove(node=removed, keep_premises=keep):
            return f"removed {node(removed)}" + (", its premises kept" if keep else "")
        case Reorder(node=parent):
            return f"reordered premises of {node(parent)}"
        case Move(node=moved, parent=parent):
            return f"moved {node(moved)} below {node(parent)}"
        case Restore(seq=seq):
            return f"restored the tree after act {seq}"
        case Undo(seq=seq):
            return f"undid act {seq}"
        case Redo(seq=seq):
            return f"redid act {seq}"
