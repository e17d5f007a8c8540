"""Named versions of a tree, and the way back to an act in its history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from entail.errors import TeamError
from entail.teams.comments import require_comment
from entail.teams.differences import Difference, differences
from entail.trees.log.acts import Restore
from entail.trees.log.event_log import TreeLog
from entail.trees.log.replay import History
from entail.trees.store import schema
from entail.trees.store.authors import enter
from entail.trees.store.database import Database

LONGEST_NAME = 100

_table = schema.versions


@dataclass(frozen=True, slots=True)
class Version:
    """Version of a tree: its name, the seq of its last act, who named it and when."""

    name: str
    seq: int
    author: str
    at: datetime


class Versions:
    """Versions of the trees of a log, named by those who may comment.

    Methods raise `UnknownTreeError` if the actor does not see a tree.
    """

    def __init__(self, database: Database, log: TreeLog) -> None:
        self._database, self._log = database, log

    def name(self, tree_id: str, name: str, *, seq: int, actor: str) -> Version:
        """Name the version after an act; a name that the tree has moves there."""
        clean = " ".join(name.split())
        if not 1 <= len(clean) <= LONGEST_NAME:
            raise TeamError(f"the name of a version has 1 to {LONGEST_NAME} characters", reason="name")
        self._require_act(tree_id, seq, actor)
        with self._database.writing() as connection:
            require_comment(connection, tree_id, actor)
            version = Version(clean, seq, enter(connection, actor), datetime.now(UTC))
            own = (_table.c.tree_id == tree_id) & (_table.c.name == clean)
            connection.execute(sa.delete(_table).where(own))
            row = {"name": clean, "seq": seq, "author": version.author, "at": version.at}
            connection.execute(sa.insert(_table).values(tree_id=tree_id, **row))
        return version

    def versions(self, tree_id: str, *, actor: str) -> list[Version]:
        """Return the named versions of a tree, the newest first."""
        self._log.viewed_by(actor).summary(tree_id)
        columns = (_table.c.name, _table.c.seq, _table.c.author, _table.c.at)
        query = sa.select(*columns).where(_table.c.tree_id == tree_id)
        with self._database.reading() as connection:
            return [Version(*row) for row in connection.execute(query.order_by(_table.c.seq.desc()))]

    def compare(self, tree_id: str, first: int, second: int, *, actor: str) -> list[Difference]:
        """Return what the version after one act lacks of that after another, as for agreed trees."""
        history = self._require_act(tree_id, max(first, second), actor)
        return differences(history.at(first).tree, [history.at(second).tree])

    def restore(self, tree_id: str, seq: int, *, actor: str, base: int) -> History:
        """Return a tree to its state after an act, by a new act that can be undone."""
        self._require_act(tree_id, seq, actor)
        return self._log.act(tree_id, Restore(seq=seq), author=actor, base=base)

    def _require_act(self, tree_id: str, seq: int, actor: str) -> History:
        history = self._log.viewed_by(actor).history(tree_id)
        if not 1 <= seq <= history.seq:
            raise TeamError(f"the tree has the acts 1 to {history.seq}, found {seq}", reason="unknown")
        return history
