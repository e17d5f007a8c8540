"""Projects of a team: hypotheses and how many copies each gets, members with roles, guidelines in versions.

Trees that belong to no project, such as those of earlier versions, form the default project `""`: all
authors see and change them.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from math import floor
from typing import Any

import sqlalchemy as sa

from entail.claims import existence_claim, state_answer
from entail.data.corpora import CorpusReading, read_corpus
from entail.data.reading import Source
from entail.data.records import Corpus, Premise
from entail.data.text import premise_key
from entail.errors import CorpusError, FormatError, TeamError
from entail.teams.moves import read_piece, record_move, select_pieces
from entail.teams.permissions import reason_against, require
from entail.teams.policy import ROLES, Role
from entail.trees.log.acts import Create
from entail.trees.log.rules import LONGEST_SENTENCE, check_create
from entail.trees.store import schema
from entail.trees.store.authors import enter, fold_name
from entail.trees.store.copies import WRITABLE
from entail.trees.store.database import Database

IDLE_HOURS = 24.0
"""Hours without an act after which another annotator may take a piece, by default."""

LONGEST_NAME, MOST_COPIES = 100, 20


@dataclass(frozen=True, slots=True)
class Plan:
    """Distribution of hypotheses over annotators.

    Attributes:
        overlap: Independent copies of a hypothesis.
        share: Share of the hypotheses that get so many, from 0 to 1; the others get one.
        shuffled: Whether hypotheses are handed out in random order instead of that of their file.
        idle_hours: Hours without an act after which a lease ends.

    Raises:
        TeamError: If a value is out of range.
    """

    overlap: int = 1
    share: float = 1.0
    shuffled: bool = False
    idle_hours: float = IDLE_HOURS

    def __post_init__(self) -> None:
        if (
            not 1 <= self.overlap <= MOST_COPIES
            or not 0 <= self.share <= 1
            or not 0 < self.idle_hours <= 8760
        ):
            raise TeamError(
                f"expected 1 to {MOST_COPIES} copies, a share from 0 to 1 and idle hours of at most a year, "
                f"found {self.overlap}, {self.share} and {self.idle_hours}",
                reason="name",
            )


@dataclass(frozen=True, slots=True)
class Project:
    """Project of a team.

    Attributes:
        id: Its id.
        name: Its name.
        corpus_id: Corpus of its premises, if any.
        corpus_version: Version of the corpus that all its annotators search.
        plan: Distribution of its hypotheses.
        created_at: Time of its creation, in UTC.
        created_by: Author who made it.
        archived_at: Time of its archiving, None if it is not.
    """

    id: str
    name: str
    corpus_id: str | None
    corpus_version: int | None
    plan: Plan
    created_at: datetime
    created_by: str
    archived_at: datetime | None


@dataclass(frozen=True, slots=True)
class Guidelines:
    """Version of the guidelines, in Markdown."""

    version: int
    text: str
    author: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Addition:
    """Result of adding hypotheses: their numbers, and those left out as the project has them already."""

    numbers: tuple[int, ...]
    repeats: int


def read_hypotheses(
    source: Source, *, name: str | None = None, column: str | None = None, questions: bool = False
) -> CorpusReading:
    """Return the hypotheses of a text, CSV, Excel or JSONL file as premises, with counts of those left out.

    Repeated, empty and too long ones are left out and counted. With `questions`, the texts are questions, and
    the hypotheses their claims; see `to_claims`. Other arguments and errors are those of `read_corpus`.
    """
    options: dict[str, Any] = {"name": name, "skip_too_long": True, "max_premise_chars": LONGEST_SENTENCE}
    try:
        reading = read_corpus(source, column=column or ("question" if questions else "hypothesis"), **options)
    except FormatError:
        if column is not None:
            raise
        reading = read_corpus(source, **options)
    if not questions:
        return reading
    corpus = Corpus.of(reading.corpus.name, to_claims(reading.corpus.premises))
    repeats = reading.repeats + len(reading.corpus) - len(corpus)
    return replace(reading, corpus=corpus, repeats=repeats)


def to_claims(questions: Iterable[Premise]) -> list[Premise]:
    """Return the claims of questions, with an `answer` in another column the statement of both.

    >>> to_claims([Premise("When did Rome win?"), Premise("Who won?", extra=(("answer", "Rome"),))])[1].text
    'Rome won.'
    """
    claims = []
    for question in questions:
        answer = dict(question.extra).get("answer")
        text = state_answer(question.text, answer).text if answer else existence_claim(question.text).text
        claims.append(replace(question, text=text, extra=(("question", question.text), *question.extra)))
    return claims


DEFAULT_PLAN = Plan()


class Projects:
    """Projects of a database.

    Methods raise `TeamError` if there is no such project or the actor may not, see
    `entail.teams.permissions`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        name: str,
        *,
        author: str,
        corpus_id: str | None = None,
        corpus_version: int | None = None,
        plan: Plan = DEFAULT_PLAN,
    ) -> Project:
        """Create a project, whose owner is the author.

        Args:
            name: Its name, unlike those of other projects.
            author: Its first owner.
            corpus_id: Corpus of its premises.
            corpus_version: Version of the corpus, by default the newest.
            plan: Distribution of its hypotheses.
        """
        with self._database.writing() as connection:
            return insert_project(connection, name, author, corpus_id, corpus_version, plan)

    def change(
        self,
        project_id: str,
        *,
        actor: str,
        name: str | None = None,
        plan: Plan | None = None,
        corpus_version: int | None = None,
    ) -> Project:
        """Change name, plan or version of the corpus; an overlap is that of hypotheses added from now on."""
        with self._database.writing() as connection:
            require(connection, actor, "manage", project_id)
            row: dict[str, Any] = {} if plan is None else asdict(plan)
            if name is not None:
                row |= _name_columns(connection, name, exempt=project_id)
            if corpus_version is not None:
                corpus_id = _read(connection, project_id).corpus_id
                row |= _corpus_columns(connection, corpus_id, corpus_version)
            if row:
                table = schema.projects
                connection.execute(sa.update(table).where(table.c.id == project_id).values(row))
            return _read(connection, project_id)

    def projects(self, actor: str, *, archived: bool = False) -> list[Project]:
        """Return the projects that an actor may see, by name."""
        table = schema.projects
        query = sa.select(table).order_by(table.c.folded)
        query = query.where(reason_against(actor, "view").is_(None))
        query = query.where(table.c.archived_at.is_not(None) if archived else table.c.archived_at.is_(None))
        with self._database.reading() as connection:
            return [_project(row) for row in connection.execute(query)]

    def project(self, name: str, *, actor: str) -> Project:
        """Return a project by its id or name."""
        table = schema.projects.c
        same = sa.or_(table.id == name, table.folded == fold_name(name))
        with self._database.reading() as connection:
            project_id = connection.scalar(sa.select(table.id).where(same)) or name
            require(connection, actor, "view", project_id)
            return _read(connection, project_id)

    def archive(self, project_id: str, *, actor: str, archived: bool = True) -> None:
        """Archive a project with all its trees, or restore it; its work stays as it is."""
        trees, copies, projects = schema.trees, schema.copies, schema.projects
        at = datetime.now(UTC) if archived else None
        with self._database.writing() as connection:
            require(connection, actor, "manage", project_id)
            by = enter(connection, actor) if archived else None
            connection.execute(sa.update(projects).where(projects.c.id == project_id).values(archived_at=at))
            own = trees.c.id.in_(sa.select(copies.c.tree_id).where(copies.c.project_id == project_id))
            connection.execute(sa.update(trees).where(own).values(archived_at=at, archived_by=by))

    def members(self, project_id: str, *, actor: str) -> Mapping[str, Role]:
        """Return member -> role."""
        table = schema.members
        query = sa.select(table.c.member, table.c.role).where(table.c.project_id == project_id)
        with self._database.reading() as connection:
            require(connection, actor, "view", project_id)
            return {row.member: row.role for row in connection.execute(query.order_by(table.c.member))}

    def set_member(self, project_id: str, member: str, role: Role, *, actor: str) -> None:
        """Add a member, by name or e-mail, or change their role; the last owner stays one."""
        if role not in ROLES:
            raise TeamError(f"expected a role of {', '.join(ROLES)}, found {role!r}", reason="name")
        table = schema.members
        with self._database.writing() as connection:
            require(connection, actor, "manage", project_id)
            name = _member_name(connection, member)
            own = (table.c.project_id == project_id) & (table.c.member == name)
            if not connection.execute(sa.update(table).where(own).values(role=role)).rowcount:
                row = {"project_id": project_id, "member": name, "role": role}
                connection.execute(sa.insert(table).values(row))
            _require_owner(connection, project_id)

    def remove_member(self, project_id: str, member: str, *, actor: str) -> int:
        """Remove a member; their open work goes back to the queue, what they wrote is kept.

        Returns:
            The number of pieces that went back.
        """
        members, pieces = schema.members, schema.pieces
        with self._database.writing() as connection:
            require(connection, actor, "manage", project_id)
            name = _member_name(connection, member)
            own = (members.c.project_id == project_id) & (members.c.member == name)
            connection.execute(sa.delete(members).where(own))
            _require_owner(connection, project_id)
            names = {name, *connection.scalars(sa.select(schema.authors.c.name).where(_has_email(name)))}
            work = (pieces.c.project_id == project_id) & pieces.c.annotator.in_(names)
            query = select_pieces().where(work, pieces.c.state.in_(WRITABLE), pieces.c.copy > 0)
            rows = connection.execute(query.with_for_update(of=pieces)).all()
            for row in rows:
                piece, reason = read_piece(row), f"{name} is no member any more"
                record_move(
                    connection, piece, "release", state="open", annotator=None, actor=actor, reason=reason
                )
            assigned = (pieces.c.project_id == project_id) & (pieces.c.assignee == name)
            connection.execute(sa.update(pieces).where(assigned).values(assignee=None))
            return len(rows)

    def write_guidelines(self, project_id: str, text: str, *, actor: str) -> Guidelines:
        """Save a new version of the guidelines, in Markdown."""
        table = schema.guidelines
        with self._database.writing() as connection:
            require(connection, actor, "manage", project_id)
            # The row is locked, so that versions follow each other.
            connection.execute(sa.select(schema.projects.c.id).with_for_update())
            last = connection.scalar(
                sa.select(sa.func.max(table.c.version)).where(table.c.project_id == project_id)
            )
            new = Guidelines((last or 0) + 1, text.strip(), enter(connection, actor), datetime.now(UTC))
            row = {field.name: getattr(new, field.name) for field in fields(Guidelines)}
            connection.execute(sa.insert(table).values(project_id=project_id, **row))
        return new

    def guidelines(self, project_id: str, *, actor: str) -> list[Guidelines]:
        """Return the versions of the guidelines, the newest first."""
        table = schema.guidelines
        columns = (table.c[field.name] for field in fields(Guidelines))
        query = sa.select(*columns).where(table.c.project_id == project_id).order_by(table.c.version.desc())
        with self._database.reading() as connection:
            require(connection, actor, "view", project_id)
            return [Guidelines(*row) for row in connection.execute(query)]

    def add_hypotheses(self, project_id: str, texts: Iterable[str | Premise], *, actor: str) -> Addition:
        """Add hypotheses with their pieces; those that the project has are counted and left out.

        Raises:
            ActError: If a text cannot be a hypothesis: empty, too long; nothing is added.
        """
        premises = [text if isinstance(text, Premise) else Premise(text) for text in texts]
        with self._database.writing() as connection:
            require(connection, actor, "manage", project_id)
            lock = sa.select(schema.projects.c.id).where(schema.projects.c.id == project_id)
            connection.execute(lock.with_for_update())
            return insert_hypotheses(connection, _read(connection, project_id), premises)


def insert_project(
    connection: sa.Connection,
    name: str,
    author: str,
    corpus_id: str | None,
    corpus_version: int | None,
    plan: Plan,
) -> Project:
    """Create a project in the caller's transaction; see `Projects.create`."""
    owner, project_id = enter(connection, author), secrets.token_hex(4)
    row: dict[str, Any] = {"id": project_id, "created_at": datetime.now(UTC), "created_by": owner}
    row |= _name_columns(connection, name) | asdict(plan)
    row |= _corpus_columns(connection, corpus_id, corpus_version)
    connection.execute(sa.insert(schema.projects).values(row))
    member = {"project_id": project_id, "member": owner, "role": "owner"}
    connection.execute(sa.insert(schema.members).values(member))
    return _read(connection, project_id)


def insert_hypotheses(
    connection: sa.Connection,
    project: Project,
    premises: Sequence[Premise],
    *,
    copies: Mapping[int, int] | None = None,
) -> Addition:
    """Add hypotheses in the caller's transaction; `copies` by number replace those of the plan."""
    for premise in premises:
        check_create(Create(hypothesis=premise.text))
    table = schema.hypotheses
    keys = set(connection.scalars(sa.select(table.c.key).where(table.c.project_id == project.id)))
    new = {key: p for p in premises if (key := premise_key(p.text)) not in keys}
    first, at = len(keys) + 1, datetime.now(UTC)
    positions = list(range(first, first + len(new)))
    if project.plan.shuffled:
        random.Random(f"{project.id} {first}").shuffle(positions)
    rows: list[dict[str, Any]] = []
    for number, (key, premise), position in zip(
        range(first, first + len(new)), new.items(), positions, strict=True
    ):
        # Every so many get the overlap, whenever they are added.
        has_overlap = floor(number * project.plan.share) > floor((number - 1) * project.plan.share)
        values = {"text": premise.text, "key": key, "position": position, "source": _source(premise)}
        planned = project.plan.overlap if has_overlap else 1
        number_of_copies = planned if copies is None else copies[number]
        rows.append({"project_id": project.id, "number": number, "copies": number_of_copies, **values})
    pieces = [
        {
            "project_id": project.id,
            "number": row["number"],
            "copy": copy,
            "state": "open",
            "at": at,
            "moves": 0,
        }
        for row in rows
        for copy in range(1, row["copies"] + 1)
    ]
    if rows:
        connection.execute(sa.insert(table), rows)
        connection.execute(sa.insert(schema.pieces), pieces)
    return Addition(tuple(row["number"] for row in rows), len(premises) - len(rows))


def _source(premise: Premise) -> dict[str, str | None] | None:
    """Return the other columns of a hypothesis in its file."""
    columns = dict(premise.extra)
    return {"id": premise.source_id, **columns} if premise.source_id or columns else None


def _read(connection: sa.Connection, project_id: str) -> Project:
    query = sa.select(schema.projects).where(schema.projects.c.id == project_id)
    return _project(connection.execute(query).one())


def _project(row: sa.Row[Any]) -> Project:
    values = row._mapping
    plan = Plan(*(values[field.name] for field in fields(Plan)))
    return Project(plan=plan, **{f.name: values[f.name] for f in fields(Project) if f.name != "plan"})


def _name_columns(connection: sa.Connection, name: str, *, exempt: str | None = None) -> dict[str, str]:
    clean, table = " ".join(name.split()), schema.projects.c
    if not 1 <= len(clean) <= LONGEST_NAME or not clean.isprintable() or not fold_name(clean):
        raise TeamError(f"a project's name has 1 to {LONGEST_NAME} visible characters", reason="name")
    holder = connection.scalar(sa.select(table.id).where(table.folded == fold_name(clean)))
    if holder not in (None, exempt):
        raise TeamError(f"a project {clean!r} exists already, maybe archived", reason="name")
    return {"name": clean, "folded": fold_name(clean)}


def _corpus_columns(
    connection: sa.Connection, corpus_id: str | None, version: int | None
) -> dict[str, str | int | None]:
    if corpus_id is None:
        return {"corpus_id": None, "corpus_version": None}
    table = schema.corpora.c
    newest = connection.scalar(sa.select(table.version).where(table.id == corpus_id))
    if newest is None:
        raise CorpusError(f"there is no corpus {corpus_id!r}")
    if not 1 <= (version or newest) <= newest:
        raise CorpusError(f"the corpus has the versions 1 to {newest}, found {version}")
    return {"corpus_id": corpus_id, "corpus_version": version or newest}


def _member_name(connection: sa.Connection, member: str) -> str:
    """Return an e-mail in small letters, or the name of an author as it was first entered."""
    clean = member.strip()
    if "@" not in clean:
        return enter(connection, clean)
    if len(clean) > 255 or " " in clean:
        raise TeamError(f"expected the name of a member or an e-mail, found {clean[:80]!r}", reason="name")
    return clean.lower()


def _has_email(email: str) -> sa.ColumnElement[bool]:
    return schema.authors.c.email == email


def _require_owner(connection: sa.Connection, project_id: str) -> None:
    table = schema.members.c
    owners = sa.select(table.member).where(table.project_id == project_id, table.role == "owner")
    if connection.scalar(owners.limit(1)) is None:
        raise TeamError("a project keeps at least one owner; make another member one first", reason="role")
