"""Descriptions of acts, for messages and the history of a tree."""

from __future__ import annotations

from collections.abc import Mapping

from entail.trees.log import acts

LONGEST = 60
"""Most characters of a quoted sentence."""


def describe(act: acts.AnyAct, texts: Mapping[str, str]) -> str:
    """Return a description of an act in the past tense, without its author.

    >>> describe(acts.Edit(node="n1", text="ice melts"), {"n1": "ice can melt"})
    'reworded “ice can melt” as “ice melts”'
    """

    def node(node_id: str) -> str:
        return quote(texts[node_id]) if node_id in texts else node_id

    match act:
        case acts.Create(hypothesis=hypothesis):
            return f"started the tree {quote(hypothesis)}"
        case acts.Accept(node=parent, premise=premise):
            return f"accepted {quote(premise.text)} for {node(parent)}"
        case acts.Reject(node=parent, premise=premise):
            return f"rejected {quote(premise.text)} for {node(parent)}"
        case acts.Finish(node=parent, premises=premises):
            count = "no candidate" if not premises else count_of(len(premises), "candidate")
            return f"finished {node(parent)}, {count} rejected"
        case acts.Write(node=parent, text=text):
            return f"wrote {quote(text)} below {node(parent)}"
        case acts.Conclude(premises=premises, text=text):
            return f"concluded {quote(text)} from {count_of(len(premises), 'premise')}"
        case acts.Edit(node=edited, text=text):
            return f"reworded {node(edited)} as {quote(text)}"
        case acts.Remove(node=removed, keep_premises=keep):
            return f"removed {node(removed)}" + (", its premises kept" if keep else "")
        case acts.Reorder(node=parent):
            return f"reordered premises of {node(parent)}"
        case acts.Move(node=moved, parent=parent):
            return f"moved {node(moved)} below {node(parent)}"
        case acts.Undo(seq=seq):
            return f"undid act {seq}"
        case acts.Redo(seq=seq):
            return f"redid act {seq}"


def quote(text: str, *, longest: int = LONGEST) -> str:
    """Return the text in quotation marks, truncated to `longest` characters."""
    return f"“{text if len(text) <= longest else text[: longest - 1].rstrip() + '…'}”"


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count_of(1, "premise"), count_of(2000, "premise")
    ('1 premise', '2,000 premises')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
