"""Projects with members, in databases of both kinds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from entail.teams.moves import Piece
from entail.teams.policy import Role
from entail.teams.projects import Plan, Project, Projects
from entail.teams.work import Work
from entail.trees.log.acts import Act, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import ROOT
from entail.trees.store import schema
from entail.trees.store.authors import Authors, Identity, SignedIn
from entail.trees.store.database import Database


@dataclass
class Team:
    """Stores of one database, and short forms of what tests do most."""

    database: Database

    def __post_init__(self) -> None:
        self.projects = Projects(self.database)
        self.work = Work(self.database)
        self.log = TreeLog(self.database)

    def sign_in(self, name: str) -> SignedIn:
        identity = Identity("https://id.example", name, name, f"{name.lower()}@lab.example")
        return Authors(self.database).sign_in(identity)

    def start(
        self, *texts: str, members: dict[str, Role] | None = None, corpus_id: str | None = None, **plan: Any
    ) -> Project:
        """Return a project of Olga with hypotheses and members."""
        project = self.projects.create("Bees", author="Olga", corpus_id=corpus_id, plan=Plan(**plan))
        for name, role in (members or {}).items():
            self.projects.set_member(project.id, name, role, actor="Olga")
        self.projects.add_hypotheses(project.id, texts, actor="Olga")
        return project

    def next(self, project: Project, actor: str) -> Piece:
        piece = self.work.next_piece(project.id, actor=actor)
        assert piece is not None
        return piece

    def write(self, piece: Piece, text: str = "bees fly", *, author: str | None = None) -> None:
        act: Act = Write(node=ROOT, text=text)
        assert piece.tree_id is not None
        writer = author or piece.annotator or ""
        base = self.log.viewed_by(piece.annotator or "").history(piece.tree_id).seq
        self.log.act(piece.tree_id, act, author=writer, base=base)

    def age(self, hours: float) -> None:
        """Let all work have happened so many hours ago."""
        with self.database.writing() as connection:
            for table, column in ((schema.pieces, "at"), (schema.trees, "changed_at")):
                for (at,) in connection.execute(sa.select(table.c[column]).distinct()).all():
                    row = sa.update(table).where(table.c[column] == at)
                    connection.execute(row.values({column: at - timedelta(hours=hours)}))


@pytest.fixture
def team(sqlite: Database) -> Team:
    """An empty team on SQLite."""
    return Team(sqlite)


@pytest.fixture
def team_of_both(database: Database) -> Team:
    """An empty team on a database of either kind."""
    return Team(database)
