"""Acts in words, for messages and for the history of a tree."""

from __future__ import annotations

from collections.abc import Mapping

from entail.trees.acts import (
    Accept,
    AnyAct,
    Conclude,
    Create,
    Edit,
    Finish,
    Move,
    Redo,
    Reject,
    Remove,
    Reorder,
    Undo,
    Write,
)

LONGEST = 60
"""Characters of a sentence that are quoted."""


def describe(act: AnyAct, texts: Mapping[str, str]) -> str:
    """Return what an act does, as a noun phrase.

    Args:
        act: The act.
        texts: Node id -> sentence, as far as known.

    >>> describe(Edit(node="n1", text="ice melts"), {"n1": "ice can melt"})
    'rewording “ice can melt” as “ice melts”'
    """

    def node(node_id: str) -> str:
        return quote(texts[node_id]) if node_id in texts else node_id

    match act:
        case Create(hypothesis=hypothesis):
            return f"beginning the tree {quote(hypothesis)}"
        case Accept(node=parent, premise=premise):
            return f"accepting {quote(premise.text)} for {node(parent)}"
        case Reject(node=parent, premise=premise):
            return f"rejecting {quote(premise.text)} for {node(parent)}"
        case Finish(node=parent, premises=premises):
            count = "no candidate" if not premises else count_of(len(premises), "candidate")
            return f"finishing {node(parent)}, {count} rejected"
        case Write(node=parent, text=text):
            return f"writing {quote(text)} below {node(parent)}"
        case Conclude(premises=premises, text=text):
            return f"concluding {quote(text)} from {count_of(len(premises), 'premise')}"
        case Edit(node=edited, text=text):
            return f"rewording {node(edited)} as {quote(text)}"
        case Remove(node=removed, keep_premises=keep):
            return f"removing {node(removed)}" + (", its premises kept" if keep else "")
        case Reorder(node=parent):
            return f"reordering the premises of {node(parent)}"
        case Move(node=moved, parent=parent):
            return f"moving {node(moved)} below {node(parent)}"
        case Undo(seq=seq):
            return f"undoing act {seq}"
        case Redo(seq=seq):
            return f"redoing act {seq}"


def quote(text: str, *, longest: int = LONGEST) -> str:
    """Return the text in quotation marks, cut after `longest` characters."""
    return f"“{text if len(text) <= longest else text[: longest - 1].rstrip() + '…'}”"


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count_of(1, "premise"), count_of(2000, "premise")
    ('1 premise', '2,000 premises')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
