"""A log by hand, and databases of both kinds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from entail.trees.acts import AnyAct, Create, Event
from entail.trees.replay import History, replay

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Story:
    """Tells a log act by act: `story.ann(Write(...))`; keeps the history so far."""

    def __init__(self, hypothesis: str = "snow melts in spring", **create: Any) -> None:
        self.events = [self._event(1, "Ann", Create(hypothesis=hypothesis, **create))]
        self.history: History = replay(self.events)

    @staticmethod
    def _event(seq: int, author: str, act: AnyAct) -> Event:
        return Event(seq=seq, author=author, at=START + timedelta(seconds=seq), act=act)

    def tell(self, author: str, act: AnyAct, *, base: int | None = None) -> str:
        """Do an act as the log would, and return the id a node made by it has."""
        self.history.check_current(act, base=self.history.seq if base is None else base)  # type: ignore[arg-type]
        return self._append(author, act)

    def _append(self, author: str, act: AnyAct) -> str:
        event = self._event(self.history.seq + 1, author, act)
        self.history = self.history.extend([event])
        return f"n{event.seq}"

    def ann(self, act: AnyAct, *, base: int | None = None) -> str:
        return self.tell("Ann", act, base=base)

    def bob(self, act: AnyAct, *, base: int | None = None) -> str:
        return self.tell("Bob", act, base=base)

    def undo(self, author: str = "Ann") -> None:
        self._append(author, self.history.plan_undo(author))

    def redo(self, author: str = "Ann") -> None:
        self._append(author, self.history.plan_redo(author))

    @property
    def outline(self) -> list[str]:
        """The tree depth first: two spaces a level, then the sentence."""
        tree = self.history.tree
        return ["  " * len(tree.ancestors(node.id)) + node.text for node in tree.walk()]


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.fixture
def tell() -> Callable[..., Story]:
    return Story
