"""Logs made by hand, threads that begin at once, and damage."""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from entail.data.records import Premise
from entail.trees.log.acts import AnyAct, Create, Event, Evidence, ShownCandidate
from entail.trees.log.event_log import TreeLog
from entail.trees.log.replay import History, replay
from entail.trees.log.tree import Tree
from entail.trees.store.database import open_database

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ICE, FIRE, SNOW = Premise("ice is cold", "u1"), Premise("fire is hot", "u2"), Premise("snow is ice")
EVIDENCE = Evidence(
    retriever="minilm",
    revision="r1",
    corpus_version=2,
    query="snow",
    own_words=True,
    shown=(ShownCandidate(ICE.key, 1, 0.75), ShownCandidate(FIRE.key, 2, 0.5)),
)


def event(seq: int, act: Any, author: str = "Ann") -> Event:
    """Return an event of a log."""
    return Event(seq=seq, author=author, at=START, act=act)


def state(tree: Tree) -> tuple[Any, ...]:
    """Return all of a tree but the seq of its last event, orders included."""
    return [*tree.nodes.items()], [*tree.judgements.items()], [*tree.finished.items()], dict(tree.source)


class Story:
    """Tells a log act by act: `story.ann(Write(...))`; keeps the history so far."""

    def __init__(self, hypothesis: str = "snow melts in spring", **create: Any) -> None:
        self.history: History = replay([event(1, Create(hypothesis=hypothesis, **create))])

    def tell(self, author: str, act: Any, *, base: int | None = None) -> str:
        """Do an act as the log would, and return the id a node made by it has."""
        self.history.check_current(act, base=self.history.seq if base is None else base)
        return self._append(author, act)

    def _append(self, author: str, act: AnyAct) -> str:
        self.history = self.history.extend([event(self.history.seq + 1, act, author)])
        return f"n{self.history.seq}"

    def ann(self, act: AnyAct, *, base: int | None = None) -> str:
        return self.tell("Ann", act, base=base)

    def bob(self, act: AnyAct, *, base: int | None = None) -> str:
        return self.tell("Bob", act, base=base)

    def undo(self, author: str = "Ann") -> None:
        self._append(author, self.history.plan_undo(author))

    def redo(self, author: str = "Ann") -> None:
        self._append(author, self.history.plan_redo(author))

    @property
    def tree(self) -> Tree:
        """The tree so far."""
        return self.history.tree

    @property
    def outline(self) -> list[str]:
        """The tree depth first: two spaces a level, then the sentence."""
        return ["  " * len(self.tree.ancestors(node.id)) + node.text for node in self.tree.walk("n1")]


@pytest.fixture
def story() -> Story:
    return Story()


def at_once(work: Callable[[Any], object], values: Sequence[Any]) -> list[Any]:
    """Call a function for each value, all at the same moment in threads of their own."""
    start = threading.Barrier(len(values))

    def call(value: Any) -> object:
        start.wait()
        return work(value)

    with ThreadPoolExecutor(len(values)) as pool:
        return list(pool.map(call, values))


def damage(path: Path) -> bytes:
    """Overwrite the start of every page of a database but the first; return the content."""
    content = bytearray(path.read_bytes())
    for page in range(4096, len(content), 4096):
        content[page : page + 200] = b"\xff" * 200
    path.write_bytes(content)
    return bytes(content)


@pytest.fixture
def powerless() -> Iterator[tuple[Path, Callable[[], Any]]]:
    """Give a folder, and a context in which the rights of files count, also where the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="entail-rights-"))
    folder.chmod(0o755)

    @contextmanager
    def somebody() -> Iterator[None]:
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield
        finally:
            if root:
                os.seteuid(0)

    yield folder, somebody
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(folder)


def fill_database(url: str) -> str:
    """Make a database with one tree and return the tree's id."""
    with closing(open_database(url)) as database:
        return TreeLog(database).create(Create(hypothesis="h"), author="Ann")
