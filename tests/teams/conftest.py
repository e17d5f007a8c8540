"""Projects with members, in databases of both kinds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from entail.data.records import Premise
from entail.errors import TeamError
from entail.teams.moves import Piece
from entail.teams.policy import Role
from entail.teams.projects import Plan, Project, Projects
from entail.teams.work import Work
from entail.trees.log.acts import Accept, Evidence, Reject, ShownCandidate, Write
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
        name = piece.annotator or ""
        base = self.log.viewed_by(name).history(piece.tree_id).seq
        self.log.act(piece.tree_id, Write(node=ROOT, text=text), author=author or name, base=base)

    def judge(self, piece: Piece, verdicts: Mapping[str, bool], shown: Sequence[str] = ()) -> None:
        """Accept or reject premises for the hypothesis of a piece, as its annotator."""
        name, tree_id = piece.annotator or "", piece.tree_id or ""
        keys = tuple(ShownCandidate(Premise(text).key, rank, 0.5) for rank, text in enumerate(shown, start=1))
        evidence = Evidence(retriever="r", revision="1", corpus_version=1, query=piece.hypothesis, shown=keys)
        for text, accepted in verdicts.items():
            base = self.log.viewed_by(name).history(tree_id).seq
            act = (Accept if accepted else Reject)(node=ROOT, premise=Premise(text))
            self.log.act(tree_id, act, author=name, base=base, evidence=evidence)

    def submit(self, *pieces: Piece) -> None:
        for piece in pieces:
            self.work.move(piece.id, "submit", actor=piece.annotator or "")

    def age(self, hours: float) -> None:
        """Let all work have happened so many hours ago."""
        with self.database.writing() as connection:
            for table, column in ((schema.pieces, "at"), (schema.trees, "changed_at")):
                for (at,) in connection.execute(sa.select(table.c[column]).distinct()).all():
                    row = sa.update(table).where(table.c[column] == at)
                    connection.execute(row.values({column: at - timedelta(hours=hours)}))


def refused(reason: str) -> Any:
    """Expect a `TeamError` of this reason."""
    return pytest.raises(TeamError, check=lambda error: error.reason == reason)


@pytest.fixture
def team(sqlite: Database) -> Team:
    """An empty team on SQLite."""
    return Team(sqlite)


@pytest.fixture
def team_of_both(database: Database) -> Team:
    """An empty team on a database of either kind."""
    return Team(database)
