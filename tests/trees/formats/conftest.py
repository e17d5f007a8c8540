"""Trees to be written, and their files as they should be (`pytest --update` writes these again)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from entail.data.records import Premise
from entail.trees.formats.entailment_bank import grow
from entail.trees.log.acts import Accept, Create, GivenNode, Reject, Write
from entail.trees.log.tree import Tree, TreeBuilder

NASTY = (
    "she said \"ice\" and 'cold'",
    "<script>alert(1)</script>",
    "</script></style></title><img src=x onerror=alert(1)>",
    "]]> & &lt; &amp; &#60; <!-- not a comment -->",
    "back\\slash \\N \\l ends in one \\",
    'ends in a quote and a backslash \\"',
    "two\nlines\r\nor three",
    "emoji \U0001f600 \U0001f469\u200d\U0001f469\u200d\U0001f467 and \u2028 a line separator",
    "\u0627\u0644\u062c\u0644\u064a\u062f \u0645\u0627\u0621 \u0645\u062a\u062c\u0645\u062f",
    "=HYPERLINK(1)",
    "{{ braces }} ${ more } %s {0}",
    "a bell \x07, a lone surrogate \ud800, a form feed \x0c",
    "w" * 2000,
    "long words " * 200,
)
"""Texts that try to be something else."""


@pytest.fixture
def nasty() -> Tree:
    """Return a tree in which each nasty text is a node, and rejected with a "not" before it."""
    nodes = tuple(GivenNode(text, i - 1 - i % 2) for i, text in enumerate(NASTY[1:-1]))
    builder = TreeBuilder(grow(Create(hypothesis=NASTY[0], nodes=(*nodes, GivenNode(NASTY[-1], None)))))
    for seq, text in enumerate(NASTY, start=2):
        builder.apply(Reject(node="n1", premise=Premise(f"not {text}")), seq=seq, author="Ann <ann@x>")
    return builder.freeze(seq=99)


@pytest.fixture
def story(tell: Callable[..., Any]) -> Any:
    """Snow: n2 accepted, n3 written below it, n4 accepted below n3; "fire is hot" rejected for n1."""
    story = tell("snow is cold")
    story.ann(Accept(node="n1", premise=Premise("snow is ice", "uid-1")))
    story.ann(Write(node="n2", text="ice is frozen"))
    story.bob(Accept(node="n3", premise=Premise("water freezes")))
    story.bob(Reject(node="n1", premise=Premise("fire is hot")))
    return story
