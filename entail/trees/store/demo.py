"""A demo (`ENTAIL_DEMO=1`): visitors look at everything and change nothing, and write trees of their own.

The team's database is opened for reading. Each visitor has a database of their own in a temporary folder,
which goes with them; a `VisitorLog` shows the trees of both, and writes into the visitor's.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa

from entail.errors import DemoError
from entail.trees.log.acts import AnyAct, Create, Evidence
from entail.trees.log.event_log import TreeLog, TreeSummary
from entail.trees.log.replay import History
from entail.trees.log.wording import quote
from entail.trees.store import schema
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database, sqlite_file
from entail.trees.store.seed import seed_sample

REMEDY = "this is a demo, which changes nothing of its team's (ENTAIL_DEMO)"
"""Why the team's database cannot be written."""

TREES = 50
"""Trees that a visitor may have."""

IDLE = 2 * 3600.0
"""Seconds after which a visitor's trees go that nobody looked at meanwhile."""


class Scratch:
    """A database in a temporary folder, which goes when nobody holds this object any more.

    Attributes:
        database: It can be written, also in a demo.
    """

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="entail-demo-"))
        try:
            self.database = open_database(f"sqlite:///{folder / 'scratch.db'}", scratch=True)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._end = weakref.finalize(self, _remove, self.database, folder)

    def close(self) -> None:
        """Remove it now."""
        self._end()

    @property
    def closed(self) -> bool:
        """Whether it was removed."""
        return not self._end.alive


def _remove(database: Database, folder: Path) -> None:
    database.close()
    shutil.rmtree(folder, ignore_errors=True)


def open_shown(url: str | None = None) -> tuple[Database, Scratch | None]:
    """Return the database that a demo shows, which nobody can write; the bundled sample where there is none.

    The sample is put into a temporary database, which the second value holds.

    Raises:
        DatabaseError: If there is a database that cannot be opened.
    """
    file = sqlite_file(url)
    if file is None or file.exists():
        return replace(open_database(url, read_only=True), remedy=REMEDY), None
    sample = Scratch()
    seed_sample(sample.database)
    return replace(sample.database, read_only=True, remedy=REMEDY), sample


class VisitorLog(TreeLog):
    """The trees of a visitor, who writes them, and those of the team, which can only be looked at.

    Args:
        team: The team's trees.
        corpora: The team's corpora.
    """

    _used: float

    def __init__(self, team: TreeLog, corpora: CorpusStore) -> None:
        # A server may hold on to sessions that ended long ago: whoever comes cleans up behind them.
        for other in list(_VISITORS):
            if time.monotonic() - other._used > IDLE:
                other.close()
        self._scratch = Scratch()
        super().__init__(self._scratch.database)
        self._team = team
        self._corpora = corpora
        self._used = time.monotonic()
        _VISITORS.add(self)

    def close(self) -> None:
        """Remove the visitor's trees now, and not when nobody holds this log any more."""
        _VISITORS.discard(self)
        self._scratch.close()

    @property
    def closed(self) -> bool:
        """Whether the visitor's trees are gone."""
        return self._scratch.closed

    def owns(self, tree_id: str) -> bool:
        """Whether a tree is the visitor's."""
        self._used = time.monotonic()
        with self._database.reading() as connection:
            known = sa.select(schema.trees.c.id).where(schema.trees.c.id == tree_id)
            return tree_id.isascii() and connection.scalar(known) is not None

    def takes_acts(self, tree_id: str) -> bool:
        """Whether a tree is the visitor's: others stay as they are."""
        return self.owns(tree_id)

    def create_all(
        self, acts: Iterable[Create], *, author: str, corpus_id: str | None = None, example: bool = False
    ) -> list[str]:
        """Begin trees of the visitor's.

        Raises:
            DemoError: If they would be too many.
            ActError: If one makes no sense.
            CorpusError: If there is no such corpus.
        """
        begun = list(acts)
        held = len(super().trees()) + len(super().trees(archived=True))
        if held + len(begun) > TREES:
            raise DemoError(f"in this demo a visitor has at most {TREES} trees; nothing was begun")
        if corpus_id is not None:
            self._know(corpus_id)
        return super().create_all(begun, author=author, corpus_id=corpus_id, example=example)

    def history(self, tree_id: str) -> History:
        """Return a tree with its whole log; see `TreeLog.history`."""
        return super().history(tree_id) if self.owns(tree_id) else self._team.history(tree_id)

    def evidence(self, tree_id: str, *, seqs: Collection[int] | None = None) -> Mapping[int, Evidence]:
        """Return what was shown when premises were judged; see `TreeLog.evidence`."""
        if self.owns(tree_id):
            return super().evidence(tree_id, seqs=seqs)
        return self._team.evidence(tree_id, seqs=seqs)

    def summary(self, tree_id: str) -> TreeSummary:
        """Return what the list of trees shows of this one; see `TreeLog.summary`."""
        return super().summary(tree_id) if self.owns(tree_id) else self._team.summary(tree_id)

    def trees(self, *, corpus_id: str | None = None, archived: bool = False) -> list[TreeSummary]:
        """Return the visitor's trees and the team's, the last changed first."""
        own = super().trees(corpus_id=corpus_id, archived=archived)
        team = self._team.trees(corpus_id=corpus_id, archived=archived)
        return sorted([*own, *team], key=lambda tree: tree.changed_at, reverse=True)

    def archive(self, tree_id: str, *, author: str, archived: bool = True) -> None:
        """Put a tree of the visitor's away, or bring it back.

        Raises:
            DemoError: If it is the team's.
            UnknownTreeError: If there is no such tree.
        """
        self._require_own(tree_id)
        super().archive(tree_id, author=author, archived=archived)

    def _append(
        self,
        tree_id: str,
        author: str,
        decide: Callable[[History, str], AnyAct],
        evidence: Evidence | None = None,
    ) -> History:
        self._require_own(tree_id)
        return super()._append(tree_id, author, decide, evidence)

    def _require_own(self, tree_id: str) -> None:
        if self.owns(tree_id):
            return
        hypothesis = self._team.summary(tree_id).hypothesis
        raise DemoError(
            f"this is a demo: the tree of {quote(hypothesis)} is its team's and stays as it is; start one of "
            "your own, with the same hypothesis if you like"
        )

    def _know(self, corpus_id: str) -> None:
        """Note the corpus in the visitor's database, whose trees refer to it, without its facts."""
        info, table = self._corpora.info(corpus_id), schema.corpora
        with self._database.writing() as connection:
            if connection.scalar(sa.select(table.c.id).where(table.c.id == corpus_id)) is None:
                row = {"version": info.version, "count": 0, "licence": info.licence, "source": info.source}
                # The team may call another corpus so by now: here it is known by its id alone.
                name = {"name": info.name, "folded": corpus_id}
                connection.execute(sa.insert(table).values(id=corpus_id, **name, **row))


_VISITORS: weakref.WeakSet[VisitorLog] = weakref.WeakSet()
