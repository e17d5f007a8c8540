"""Doctests of docstrings, drawn as code in the reference."""

from __future__ import annotations

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
"""From the first prompt to the next empty line."""


class Doctests(griffe.Extension):
    """Put every doctest into a fenced block: Markdown would take its prompts for quotations."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the doctests of an object's docstring."""
        if obj.docstring:
            obj.docstring.value = DOCTEST.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
