"""Import of an exported project as a new one; see `entail.teams.exchange.export` for its files."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from operator import eq
from pathlib import Path
from typing import Any, Literal, TypeVar

import sqlalchemy as sa

from entail.data.entailment_bank.trees import tree_to_row
from entail.data.reading import MAX_BYTES, Source, read_text, source_name
from entail.data.records import Corpus, Premise
from entail.data.stored import parse_as, validate
from entail.data.text import fold
from entail.errors import CorpusError, EntailError, FormatError
from entail.teams.comments import LONGEST_COMMENT, WHOLE_TREE, Anchor
from entail.teams.exchange.export import COMMENTS, COPIES, GUIDELINES, HYPOTHESES, PROJECT, TREES, to_schema
from entail.teams.exchange.logs import IMPORT, LOGS, Log, insert_log, to_history
from entail.teams.permissions import PieceId, is_piece
from entail.teams.policy import STATES
from entail.teams.projects import MOST_COPIES, Plan, Project, insert_hypotheses, insert_project
from entail.trees.formats.convert import read_acts
from entail.trees.formats.entailment_bank import read_review, refold
from entail.trees.log.acts import Event
from entail.trees.log.event_log import insert_logs
from entail.trees.log.replay import History, replay
from entail.trees.log.rules import check_create
from entail.trees.log.tree import Review
from entail.trees.store import schema
from entail.trees.store.authors import enter, fold_name
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database

T = TypeVar("T")

_BEGUN = ("open", "in progress")
"""States before the first submission."""


@dataclass(frozen=True)
class _About(Plan):
    """Content of `project.json`."""

    name: str = ""
    corpus: str | None = None
    corpus_version: int | None = None


@dataclass(frozen=True)
class _Hypothesis:
    number: int
    hypothesis: str
    copies: int
    source: dict[str, str | None] | None = None

    @property
    def premise(self) -> Premise:
        """The hypothesis with the columns of its file."""
        columns = dict(self.source or {})
        source_id = columns.pop("id", None)
        return Premise(
            self.hypothesis, source_id, tuple((name, text or "") for name, text in columns.items())
        )


@dataclass(frozen=True)
class ProjectImport:
    """Result of an import: the new project, and the numbers of what it has."""

    project: Project
    hypotheses: int
    trees: int
    comments: int


def import_project(
    source: Source,
    *,
    database: Database,
    actor: str,
    name: str | None = None,
    accepted: bool = False,
) -> ProjectImport:
    """Make a new project of an export, all or nothing.

    It has the hypotheses, the guidelines, the trees with their states, logs and authors, and the comments. A
    tree whose row was changed since, or without a log, begins with its row. Authors are entered by name, as
    if they had typed it. The corpus is the one of the same name, if there is one, in the same version.

    Args:
        source: Folder, or ZIP file.
        database: Database of the new project.
        actor: Owner of the new project.
        name: Its name, by default that of the export.
        accepted: Whether to take accepted trees alone, an agreed one as the first copy.

    Raises:
        FormatError: If it is no export, or a damaged one.
        TeamError: If there is a project of this name.
    """
    files = _Files(source)
    about, hypotheses = files.about(), files.hypotheses()
    corpus_id, corpus, version = None, None, about.corpus_version
    with suppress(CorpusError):
        store = CorpusStore(database)
        info = store.find(about.corpus or "")
        version = version if version and 1 <= version <= info.version else info.version
        corpus_id, corpus = info.id, store.corpus(info.id, version=version)
    works = files.works(hypotheses, corpus, accepted=accepted)
    comments = files.comments(works)
    plan = Plan(**{field.name: getattr(about, field.name) for field in fields(Plan)})
    with database.writing() as connection:
        project = insert_project(connection, name or about.name, actor, corpus_id, version, plan)
        premises = [hypothesis.premise for hypothesis in hypotheses.values()]
        copies = {number: hypothesis.copies for number, hypothesis in hypotheses.items()}
        added = insert_hypotheses(connection, project, premises, copies=copies)
        if added.repeats:
            raise FormatError(
                f"expected different hypotheses, found {added.repeats} twice", source=HYPOTHESES
            )
        _insert_guidelines(connection, project, files.guidelines(), actor)
        trees = _insert_works(connection, project, works)
        _reveal(connection, project)
        for row in comments:
            _insert_comment(connection, trees[row.tree], row, works[row.tree])
    return ProjectImport(project, len(hypotheses), len(trees), len(comments))


@dataclass(frozen=True)
class _Work:
    """Tree of an export, and whose piece it is."""

    history: History
    review: Review
    log: Log | None = None

    def renamed(self, name_of: Callable[[str], str]) -> History:
        """Return its history with other names of authors."""
        events = [replace(event, author=name_of(event.author)) for event in self.history.events]
        is_same = all(map(eq, events, self.history.events))
        return self.history if is_same else replay(events)


@dataclass(frozen=True)
class _Comment:
    """Row of the table of comments; `sentence` is that of the node."""

    tree: str
    number: int
    thread: int
    about: Literal["tree", "node", "step", "candidate"]
    node: str | None
    sentence: str | None
    key: str | None
    text: str
    author: str
    at: datetime
    mentions: tuple[str, ...] = ()
    resolved_by: str | None = None
    resolved_at: datetime | None = None


class _Files:
    """Files of an export, in a folder or a ZIP file."""

    def __init__(self, source: Source) -> None:
        self._name = source_name(source, "export.zip" if isinstance(source, bytes) else None)
        self._root: Path | zipfile.Path
        if not isinstance(source, bytes) and Path(source).is_dir():
            self._root = Path(source)
            return
        try:
            archive = zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source)
        except (OSError, zipfile.BadZipFile) as error:
            raise FormatError(
                f"expected the folder or the ZIP file of an exported project, found none ({error})",
                source=self._name,
            ) from error
        if sum(entry.file_size for entry in archive.infolist()) > MAX_BYTES:
            raise FormatError(
                f"expected at most {MAX_BYTES:,} bytes once unpacked, found more", source=self._name
            )
        self._root = zipfile.Path(archive)

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        try:
            return self._root.joinpath(name).read_bytes()
        except (OSError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
            raise FormatError(
                f"expected {name}, as `entail export-project` writes it, found none", source=self._name
            ) from error

    def about(self) -> _About:
        """Return name, corpus and plan."""
        return self._parse(_About, self.read(PROJECT), PROJECT)

    def hypotheses(self) -> dict[int, _Hypothesis]:
        """Return the hypotheses by number, in order."""
        lines = self.read(HYPOTHESES).splitlines()
        rows = [self._parse(_Hypothesis, line, HYPOTHESES) for line in lines if line.strip()]
        in_order = [row.number for row in rows] == [*range(1, len(rows) + 1)]
        if not in_order or not all(1 <= row.copies <= MOST_COPIES for row in rows):
            raise FormatError(
                f"expected hypotheses numbered 1, 2, 3 ... with 1 to {MOST_COPIES} copies", source=HYPOTHESES
            )
        return {row.number: row for row in rows}

    def _parse(self, kind: type[T], data: bytes, name: str) -> T:
        try:
            return parse_as(kind, data)
        except ValueError as error:
            raise FormatError(
                f"expected what an export has, found something else ({error})", source=name
            ) from error

    def works(
        self, hypotheses: Mapping[int, _Hypothesis], corpus: Corpus | None, *, accepted: bool
    ) -> dict[str, _Work]:
        """Return the trees with their pieces, by their ids in the export."""
        works: dict[str, _Work] = {}
        logs, now = self._logs(), datetime.now(UTC)
        for name in (TREES,) if accepted else (COPIES, TREES):
            content = self.read(name)
            for act in read_acts(content, name=name, corpus=corpus) if content.strip() else ():
                review = read_review(act.source["extra"])
                hypothesis = hypotheses.get(review.number) if review is not None else None
                if review is None or hypothesis is None or review.state not in STATES:
                    raise FormatError("expected trees with the field review, found one without", source=name)
                if accepted and not review.copy:
                    review = replace(review, copy=1)
                if not 0 <= review.copy <= MOST_COPIES:
                    raise FormatError(
                        f"expected copies up to {MOST_COPIES}, found {review.copy}", source=name
                    )
                check_create(act)
                history = replay([Event(seq=1, author=review.annotator, at=now, act=act)])
                work = _Work(history, review)
                if (log := logs.get(review.tree)) is not None and log[2] == _row(history):
                    work = _Work(log[0], review, log[1])
                works.setdefault(review.tree, work)
        works = _without_gaps(works, hypotheses)
        reviews = [work.review for work in works.values()]
        pieces = {(review.number, review.copy) for review in reviews}
        people = {(review.number, fold_name(review.annotator)) for review in reviews if review.copy}
        if len(pieces) < len(reviews) or len(people) < sum(review.copy > 0 for review in reviews):
            raise FormatError("expected a tree a copy, and copies of different annotators", source=COPIES)
        return works

    def guidelines(self) -> Sequence[str]:
        """Return the versions of the guidelines, in order."""
        folder, texts = self._root.joinpath(GUIDELINES), list[str]()
        while (file := folder.joinpath(f"{len(texts) + 1}.md")).is_file():
            texts.append(read_text(file.read_bytes(), name=f"{GUIDELINES}/{file.name}"))
        return texts

    def _logs(self) -> dict[str, tuple[History, Log, Mapping[str, Any]]]:
        """Return the logs of trees with their rows, by ids in the export; none if it has no file of logs."""
        if not self._root.joinpath(LOGS).is_file():
            return {}
        logs: dict[str, tuple[History, Log, Mapping[str, Any]]] = {}
        for number, line in enumerate(self.read(LOGS).splitlines(), start=1):
            log = self._parse(Log, line, LOGS)
            try:
                history = to_history(log)
                logs[log.tree] = history, log, _row(history)
            except (EntailError, LookupError, TypeError, ValueError, OverflowError) as error:
                raise FormatError(f"expected a tree's log ({error})", source=LOGS, line=number) from error
        return logs

    def comments(self, works: Collection[str]) -> list[_Comment]:
        """Return the comments on some trees."""
        import pyarrow as pa
        from pyarrow import parquet

        try:
            table = parquet.read_table(pa.BufferReader(self.read(COMMENTS))).cast(to_schema("comments"))
            content = table.to_pylist()
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise FormatError(
                f"expected the table of comments, found another ({error})", source=COMMENTS
            ) from error
        rows: list[_Comment] = validate(
            list[_Comment], [row for row in content if row["tree"] in works], source=COMMENTS
        )
        numbers = {(row.tree, row.number) for row in rows}
        fits = len(numbers) == len(rows) and all(
            0 < row.number < 2**31
            and row.thread <= row.number
            and (row.tree, row.thread) in numbers
            and len(row.text) <= LONGEST_COMMENT
            for row in rows
        )
        if not fits:
            raise FormatError("expected comments that are numbered, found others", source=COMMENTS)
        return rows


def _without_gaps(works: Mapping[str, _Work], hypotheses: Mapping[int, _Hypothesis]) -> dict[str, _Work]:
    """Return works whose copies are numbered from 1, where copies before them were dropped."""
    numbers: dict[int, list[int]] = defaultdict(list)
    for work in works.values():
        numbers[work.review.number].append(work.review.copy)
    renumbered = dict(works)
    for id, work in works.items():
        copies, own = hypotheses[work.review.number].copies, sorted(numbers[work.review.number])
        if sum(copy > 0 for copy in own) > copies:
            raise FormatError(f"expected at most {copies} copies of a hypothesis, found more", source=COPIES)
        if own[-1] > copies and work.review.copy:
            copy = own.index(work.review.copy) + (own[0] > 0)
            renumbered[id] = replace(work, review=replace(work.review, copy=copy))
    return renumbered


def _insert_guidelines(connection: sa.Connection, project: Project, texts: Sequence[str], actor: str) -> None:
    author, at = enter(connection, actor), datetime.now(UTC)
    for version, text in enumerate(texts, start=1):
        row = {"project_id": project.id, "version": version, "text": text, "author": author, "at": at}
        connection.execute(sa.insert(schema.guidelines).values(row))


def _insert_works(connection: sa.Connection, project: Project, works: Mapping[str, _Work]) -> dict[str, str]:
    """Insert trees with their pieces; return id in the export -> id of the new tree."""
    names: dict[str, str] = {}

    def name_of(name: str) -> str:
        if name not in names:
            names[name] = enter(connection, name)
        return names[name]

    histories = [work.renamed(name_of) for work in works.values()]
    new = insert_logs(connection, histories, corpus_id=project.corpus_id)
    trees = dict(zip(works, new, strict=True))
    for id, work in works.items():
        review, annotator, log = work.review, name_of(work.review.annotator), work.log
        piece = PieceId(project.id, review.number, review.copy)
        moves = 1 + (len(log.moves) if log is not None else 0)
        stand = {"state": review.state, "annotator": annotator, "at": review.at}
        if not review.copy:
            row = {**piece._asdict(), **stand, "moves": 0}
            connection.execute(sa.insert(schema.pieces).values(row))
        connection.execute(sa.update(schema.pieces).where(is_piece(piece)).values(**stand, moves=moves))
        submitted = log.submitted_seq if log is not None else None
        if submitted is None and review.copy > 0 and review.state not in _BEGUN:
            submitted = work.history.seq
        copy = {"tree_id": trees[id], "annotator": annotator, "submitted_seq": submitted}
        connection.execute(sa.insert(schema.copies).values(**piece._asdict(), **copy))
        reason = log.moves[-1].reason if log is not None and log.moves else ""
        move = {"seq": moves, "action": IMPORT, "tree_seq": work.history.seq, "reason": reason}
        move["verified"] = False
        author = name_of(review.by)
        connection.execute(sa.insert(schema.moves).values(**piece._asdict(), **stand, **move, author=author))
        if log is not None:
            for name in log.people:
                name_of(name)
            insert_log(connection, piece, log, names, trees)
    return trees


def _reveal(connection: sa.Connection, project: Project) -> None:
    """Reveal the hypotheses whose copies were all submitted."""
    table, pieces = schema.hypotheses, schema.pieces
    same = (pieces.c.project_id == table.c.project_id) & (pieces.c.number == table.c.number)
    waiting = sa.exists().where(same, pieces.c.copy > 0, pieces.c.state.in_(_BEGUN))
    done = sa.update(table).where(table.c.project_id == project.id, ~waiting)
    connection.execute(done.values(revealed_at=datetime.now(UTC)))


def _insert_comment(connection: sa.Connection, tree_id: str, row: _Comment, work: _Work) -> None:
    """Insert a comment at its node; without a log at that of its sentence, or else at the whole tree."""
    node = row.node if work.log is not None else work.history.tree.folded.get(fold(row.sentence or ""))
    anchor = Anchor(row.about, node, row.key) if node in work.history.texts else WHOLE_TREE
    values = {
        **{name: getattr(row, name) for name in ("number", "thread", "text", "at", "resolved_at")},
        **asdict(anchor),
        "tree_id": tree_id,
        "mentions": [enter(connection, name) for name in row.mentions],
        "author": enter(connection, row.author),
        "verified": False,
        "resolved_by": enter(connection, row.resolved_by) if row.resolved_by else None,
    }
    connection.execute(sa.insert(schema.comments).values(values))


def _row(history: History) -> dict[str, Any]:
    """Return the row of a tree in EntailmentBank's format, without its review."""
    return tree_to_row(refold(replace(history.tree, review=None)))
