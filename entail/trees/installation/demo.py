"""Demo (`ENTAIL_DEMO=1`): visitors read everything and write only trees of their own.

The team's database is opened for reading. Each visitor has a database of their own in a temporary folder,
which is removed with their session; a `VisitorLog` lists the trees of both.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa

from entail.data.text import quote
from entail.errors import DemoError
from entail.trees.installation.seed import seed_sample
from entail.trees.log.acts import Create, Evidence
from entail.trees.log.event_log import TreeLog, TreeSummary
from entail.trees.log.replay import History
from entail.trees.log.tree import Review
from entail.trees.store import schema
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database, sqlite_file

TREES = 50
"""Most trees of a visitor."""


class Scratch:
    """Writable database in a temporary folder, removed when this object is no longer referenced."""

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="entail-demo-"))
        self.database = open_database(f"sqlite:///{folder / 'scratch.db'}", scratch=True)
        self._end = weakref.finalize(self, _remove, self.database, folder)

    def close(self) -> None:
        """Remove it now."""
        self._end()


def _remove(database: Database, folder: Path) -> None:
    database.close()
    shutil.rmtree(folder, ignore_errors=True)


def open_shown() -> tuple[Database, Scratch | None]:
    """Return the read-only database of a demo; without one, the sample in a temporary one, returned too."""
    file = sqlite_file()
    if file is None or file.exists():
        return open_database(read_only=True), None
    sample = Scratch()
    seed_sample(sample.database)
    return replace(sample.database, read_only=True), sample


class VisitorLog(TreeLog):
    """Trees of a visitor, who can write them, and of the team, of which changes raise `DemoError`."""

    def __init__(self, team: TreeLog, corpora: CorpusStore) -> None:
        self._scratch, self._team, self._corpora = Scratch(), team, corpora
        super().__init__(self._scratch.database)

    def close(self) -> None:
        """Remove the visitor's trees now."""
        self._scratch.close()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """As `TreeLog.snapshot`, of both databases."""
        with super().snapshot(), self._team.snapshot():
            yield

    def owns(self, tree_id: str) -> bool:
        """Return whether a tree is the visitor's."""
        with self._database.reading() as connection:
            query = sa.select(schema.trees.c.id).where(schema.trees.c.id == tree_id)
            return tree_id.isascii() and connection.scalar(query) is not None

    is_editable = owns

    def create_all(
        self, acts: Iterable[Create], *, author: str, corpus_id: str | None = None, example: bool = False
    ) -> list[str]:
        """Create trees of the visitor; at most `TREES`. Raises as `TreeLog.create`."""
        new = list(acts)
        if len(new) + len(super().trees(archived=None)) > TREES:
            raise DemoError(f"in this demo a visitor has at most {TREES} trees; nothing was created")
        if corpus_id is not None:
            self._add_corpus(corpus_id)
        return super().create_all(new, author=author, corpus_id=corpus_id, example=example)

    def history(self, tree_id: str) -> History:
        """Return a tree with its whole log."""
        return super().history(tree_id) if self.owns(tree_id) else self._team.history(tree_id)

    def evidence(self, tree_id: str) -> Mapping[int, Evidence]:
        """Return the evidence of the judgements, by seq."""
        return super().evidence(tree_id) if self.owns(tree_id) else self._team.evidence(tree_id)

    def review(self, tree_id: str) -> Review | None:
        """Return the stand of a tree of the team in its project."""
        return None if self.owns(tree_id) else self._team.review(tree_id)

    def summary(self, tree_id: str) -> TreeSummary:
        """Return the summary of a tree."""
        return super().summary(tree_id) if self.owns(tree_id) else self._team.summary(tree_id)

    def trees(
        self, *, corpus_id: str | None = None, archived: bool | None = False, examples: bool = True
    ) -> list[TreeSummary]:
        """Return the visitor's trees and the team's, the last changed first."""
        own = super().trees(corpus_id=corpus_id, archived=archived, examples=examples)
        team = self._team.trees(corpus_id=corpus_id, archived=archived, examples=examples)
        return sorted([*own, *team], key=lambda tree: tree.changed_at, reverse=True)

    def _require_editable(self, tree_id: str) -> None:
        if not self.owns(tree_id):
            hypothesis = quote(self._team.summary(tree_id).hypothesis)
            raise DemoError(f"this is a demo: the tree of {hypothesis} is its team's; start one of your own")

    def _add_corpus(self, corpus_id: str) -> None:
        """Add the corpus without its premises to the visitor's database, whose trees refer to it."""
        name, table = self._corpora.info(corpus_id).name, schema.corpora
        with self._database.writing() as connection:
            if connection.scalar(sa.select(table.c.id).where(table.c.id == corpus_id)) is None:
                # By its id alone: the team may call another corpus so by now.
                row = {"id": corpus_id, "name": name, "folded": corpus_id, "version": 1, "count": 0}
                connection.execute(sa.insert(table).values(**row, licence="", source=""))
