"""Export of a project as files, which are a data set, too: `datasets.load_dataset(folder, "trees")`.

==================  ================================================================================
README.md           the card
project.json        name, corpus and plan
hypotheses.jsonl    hypotheses, and how many copies each gets
trees.jsonl         agreed trees, and accepted copies of hypotheses without one, in EntailmentBank's format
copies.jsonl        the copies of all annotators in all states, in the same format
decisions, comments each as CSV and as Parquet
logs.jsonl          acts, moves, choices and named versions of each tree; not on the Hub
agreement.json      what `entail agreement --json` prints
guidelines/         their versions
data/               tables of Parquet
==================  ================================================================================

The field `review` of a tree says whose copy it is, and its state.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from entail.data.entailment_bank.trees import tree_to_row
from entail.data.spreadsheets import to_csv
from entail.data.writing import write_bytes
from entail.errors import DataError, ProofError
from entail.teams.comments import Comments, Thread
from entail.teams.exchange.logs import LOGS, list_people, read_log, rename
from entail.teams.permissions import require
from entail.teams.projects import Projects
from entail.teams.report import measure_agreement
from entail.teams.work import Work
from entail.training.cards.template import CARD, data_card
from entail.trees.formats.entailment_bank import refold
from entail.trees.formats.tables import JUDGED_COLUMNS, judged_rows
from entail.trees.log.event_log import TreeLog
from entail.trees.log.replay import History
from entail.trees.log.tree import Review, Tree
from entail.trees.store import schema
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database

PROJECT, HYPOTHESES, GUIDELINES = "project.json", "hypotheses.jsonl", "guidelines"
TREES, COPIES, COMMENTS = "trees.jsonl", "copies.jsonl", "data/comments.parquet"
AGREEMENT, UNWRITTEN = "agreement.json", "not_in_trees.txt"

_TEXT, _NUMBER, _TIME = pa.string(), pa.int64(), pa.timestamp("us", tz="UTC")
_WORK = {"tree": _TEXT, "number": _NUMBER, "copy": _NUMBER, "annotator": _TEXT, "state": _TEXT}
_ROW = ("id", "hypothesis", "question", "answer", "context", "proof")
_JUDGED: Mapping[str, pa.DataType] = {
    **dict.fromkeys(JUDGED_COLUMNS, _TEXT),
    **dict.fromkeys(("corpus_version", "rank", "retrieved"), _NUMBER),
    "score": pa.float64(),
}
_COLUMNS: Mapping[str, Mapping[str, pa.DataType]] = {
    "trees": {**_WORK, "by": _TEXT, "at": _TIME, **dict.fromkeys(_ROW, _TEXT)},
    "copies": {**_WORK, "by": _TEXT, "at": _TIME, **dict.fromkeys(_ROW, _TEXT)},
    "decisions": _JUDGED,
    "comments": {
        **{"tree": _TEXT, "number": _NUMBER, "thread": _NUMBER, "about": _TEXT, "node": _TEXT},
        **{"sentence": _TEXT, "key": _TEXT, "text": _TEXT, "mentions": pa.list_(_TEXT), "author": _TEXT},
        **{"at": _TIME, "resolved_by": _TEXT, "resolved_at": _TIME},
    },
    "agreement": {
        **{"number": _NUMBER, "hypothesis": _TEXT, "annotators": pa.list_(_TEXT)},
        **dict.fromkeys(("similarity", "steps", "leaves"), pa.float64()),
        "submitted": pa.date32(),
    },
}
"""Configuration of the data set -> column -> type."""

_CSV = ("decisions", "comments")


@dataclass(frozen=True)
class ProjectExport:
    """Export of a project.

    Attributes:
        name: Name of the project.
        files: Path in the folder -> content.
        counts: Number of rows by configuration.
        people: Author -> the name in the files.
        unwritten: Trees that the language of proofs cannot write, or that are damaged, with the reason.
    """

    name: str
    files: Mapping[str, bytes]
    counts: Mapping[str, int]
    people: Mapping[str, str]
    unwritten: tuple[str, ...]

    def write(self, folder: Path) -> None:
        """Write the files into a new or an empty folder; raise `DataError` if it is neither."""
        try:
            if folder.exists() and any(folder.iterdir()):
                raise DataError(f"{folder}: expected a new or an empty folder, found files; choose another")
            write_files(self.files, folder)
        except OSError as error:
            raise DataError(f"{folder}: expected a folder to write, found: {error.strerror}") from error

    def zip(self) -> bytes:
        """Return the files as a ZIP file."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in self.files.items():
                archive.writestr(name, content)
        return out.getvalue()


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files, by their paths in a folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / name, content)


def is_exported(name: str) -> bool:
    """Return whether an export may have a file of this path, so that an old one must not stay."""
    tables = {f"data/{name}.parquet" for name in _COLUMNS} | {f"{name}.csv" for name in _CSV}
    rest = {PROJECT, HYPOTHESES, TREES, COPIES, LOGS, AGREEMENT, UNWRITTEN}
    return name in tables | rest or re.fullmatch(rf"{GUIDELINES}/\d+\.md", name) is not None


def export_project(
    database: Database,
    log: TreeLog,
    project_id: str,
    *,
    actor: str,
    names: bool = False,
    public: bool = False,
    repo: str | None = None,
    licence: str | None = None,
) -> ProjectExport:
    """Return what an actor sees of a project as files; trees of released and dropped pieces are left out.

    Args:
        database: Database of the project.
        log: Its trees.
        project_id: Id of the project.
        actor: Author who exports; copies that are hidden from them are left out.
        names: Whether people have their names, instead of `annotator-1` or `reviewer-1`.
        public: Whether to leave out copies that are hidden from anyone, and the logs.
        repo: Hub id, for the card.
        licence: Licence of the data set as a Hub id, by default that of the corpus.

    Raises:
        TeamError: If there is no such project, or the actor may not export it.
    """
    with database.snapshot():
        with database.reading() as connection:
            require(connection, actor, "export", project_id)
        project = Projects(database).project(project_id, actor=actor)
        view = log.viewed_by(None if public else actor)
        visible = {summary.id for summary in view.trees(archived=None)}
        pieces = Work(database).pieces(project_id, actor=actor)
        ids = [piece.tree_id for piece in pieces if piece.tree_id in visible and piece.state != "dropped"]
        reviews = {id: review for id in ids if id and (review := view.review(id))}
        histories = dict(view.histories(reviews))
        evidence = {id: view.evidence(id) for id in histories}
        threads = [t for t in Comments(database).all_threads(actor=actor) if t.tree_id in histories]
        report = measure_agreement(database, log, project_id, actor=actor)
        guidelines = Projects(database).guidelines(project_id, actor=actor)
        table = schema.hypotheses.c
        columns = (table.number, table.text.label("hypothesis"), table.copies, table.source)
        query = sa.select(*columns).where(table.project_id == project_id).order_by(table.number)
        with database.reading() as connection:
            hypotheses = [dict(row._mapping) for row in connection.execute(query)]
            logs = [
                read_log(connection, piece, histories[piece.tree_id], evidence[piece.tree_id])
                for piece in pieces
                if piece.tree_id in histories and not public
            ]
        corpus = CorpusStore(database).info(project.corpus_id) if project.corpus_id else None
    people = _name_people(reviews, histories.values(), threads, logs, names=names)
    reviews = {
        id: replace(review, annotator=people[review.annotator], by=people[review.by])
        for id, review in reviews.items()
    }
    histories = {id: history.marked(reviews[id]) for id, history in histories.items()}
    rows, unwritten = _official_rows(histories)
    unwritten += [f"{id}: damaged" for id in reviews if id not in histories]
    copies = {id: row for id, row in rows.items() if reviews[id].copy}
    accepted = _accepted(rows, reviews)
    judged = judged_rows({id: (history, evidence[id]) for id, history in histories.items()})
    tables: dict[str, list[dict[str, Any]]] = {
        "trees": [_flat(row, reviews[id]) for id, row in accepted.items()],
        "copies": [_flat(row, reviews[id]) for id, row in copies.items()],
        "decisions": [{**row, "author": people[row["author"]]} for row in judged],
        "comments": [
            row for thread in threads for row in _comment_rows(thread, histories[thread.tree_id].tree, people)
        ],
        "agreement": [
            {**asdict(row), "hypothesis": row.text, "annotators": [people.get(a, a) for a in row.annotators]}
            for row in report.hypotheses
        ],
    }
    about = {"name": project.name, "corpus": corpus.name if corpus else None, **asdict(project.plan)}
    card = data_card(
        "project_card.md",
        configs={name: f"data/{name}.parquet" for name, table in tables.items() if table},
        licence=licence,
        corpus_licence=corpus.licence if corpus else "",
        corpus=corpus.name if corpus else "",
        source=corpus.source if corpus else "",
        repo=repo,
        project=project.name,
        tables={name: len(table) for name, table in tables.items()},
        hypotheses=len(hypotheses),
        unwritten=len(unwritten),
        named=names,
    )
    texts = {
        CARD: card,
        PROJECT: _to_json({**about, "corpus_version": project.corpus_version}),
        HYPOTHESES: _to_jsonl(hypotheses),
        TREES: _to_jsonl(accepted.values()),
        COPIES: _to_jsonl(copies.values()),
        **({LOGS: _to_jsonl(rename(log, people) for log in logs)} if logs else {}),
        AGREEMENT: _to_json(_rename(report.to_json(), people)),
        **{f"{name}.csv": to_csv([list(_COLUMNS[name]), *_cells(name, tables[name])]) for name in _CSV},
        **{f"{GUIDELINES}/{version.version}.md": version.text for version in guidelines},
        **({UNWRITTEN: "".join(f"{line}\n" for line in unwritten)} if unwritten else {}),
    }
    files = {name: text.encode() for name, text in texts.items()}
    files |= {f"data/{name}.parquet": _to_parquet(name, table) for name, table in tables.items()}
    counts = {name: len(table) for name, table in tables.items()}
    return ProjectExport(project.name, files, counts, people, tuple(unwritten))


def _name_people(
    reviews: Mapping[str, Review],
    histories: Iterable[History],
    threads: Iterable[Thread],
    logs: Iterable[Mapping[str, Any]],
    *,
    names: bool,
) -> dict[str, str]:
    """Return author -> name in the files, annotators first, in the order of the pieces."""
    logged = [(reviews[log["tree"]].copy, *person) for log in logs for person in list_people(log)]
    annotators = dict.fromkeys(review.annotator for review in reviews.values() if review.copy)
    annotators |= dict.fromkeys(name for copy, kind, name in logged if copy and kind == "annotator")
    people = [name for review in reviews.values() for name in (review.annotator, review.by)]
    people += [name for _, _, name in logged]
    people += [j.author for history in histories for j in history.tree.judgements.values()]
    for thread in threads:
        people += [name for c in thread.comments for name in (c.author, *c.mentions)]
        people += [thread.resolved_by] if thread.resolved_by else []
    reviewers = dict.fromkeys(name for name in people if name not in annotators)
    if names:
        return {name: name for name in (*annotators, *reviewers)}
    groups = {"annotator": annotators, "reviewer": reviewers}
    return {name: f"{role}-{at}" for role, group in groups.items() for at, name in enumerate(group, start=1)}


def _official_rows(histories: Mapping[str, History]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the rows of trees, by id, and those that cannot be written, with the reason."""
    rows: dict[str, dict[str, Any]] = {}
    unwritten = []
    for id, history in histories.items():
        try:
            rows[id] = tree_to_row(refold(history.tree))
        except ProofError as error:
            unwritten.append(f"{id} ({history.tree.root.text}): {error}")
    return rows, unwritten


def _accepted(rows: Mapping[str, dict[str, Any]], reviews: Mapping[str, Review]) -> dict[str, dict[str, Any]]:
    """Return the rows of accepted agreed trees, and of accepted copies of hypotheses without one."""
    accepted = {id: reviews[id] for id in rows if reviews[id].state == "accepted"}
    agreed = {review.number for review in accepted.values() if not review.copy}
    return {id: rows[id] for id, review in accepted.items() if not review.copy or review.number not in agreed}


def _flat(row: Mapping[str, Any], review: Review) -> dict[str, Any]:
    return {**asdict(review), **{name: row.get(name) for name in _ROW}}


def _comment_rows(thread: Thread, tree: Tree, people: Mapping[str, str]) -> Iterable[dict[str, Any]]:
    node = tree.nodes.get(thread.anchor.node or "")
    for comment in thread.comments:
        text = comment.text
        for name in comment.mentions:
            text = re.sub(f"@{re.escape(name)}", f"@{people[name]}", text, flags=re.IGNORECASE)
        yield {
            **asdict(thread.anchor),
            "tree": thread.tree_id,
            "number": comment.number,
            "thread": thread.number,
            "sentence": node.text if node is not None else None,
            "text": text,
            "mentions": [people[name] for name in comment.mentions],
            "author": people[comment.author],
            "at": comment.at,
            "resolved_by": people.get(thread.resolved_by or ""),
            "resolved_at": thread.resolved_at,
        }


def _rename(part: Any, people: Mapping[str, str], key: str = "") -> Any:
    """Return a part of an agreement with the annotators by their names in the files."""
    if isinstance(part, dict):
        return {name: _rename(value, people, name) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_rename(value, people, key) for value in part]
    return people.get(part, part) if key in ("first", "second", "annotators") else part


def _cells(name: str, table: Iterable[Mapping[str, Any]]) -> Iterable[list[object]]:
    for row in table:
        cells = (row.get(column) for column in _COLUMNS[name])
        yield [" ".join(cell) if isinstance(cell, list) else "" if cell is None else cell for cell in cells]


def to_schema(name: str) -> pa.Schema:
    """Return the columns of a configuration of the data set with their types."""
    return pa.schema(list(_COLUMNS[name].items()))


def _to_parquet(name: str, table: Iterable[Mapping[str, Any]]) -> bytes:
    from pyarrow import parquet

    rows = [{column: None if value == "" else value for column, value in row.items()} for row in table]
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows, schema=to_schema(name)), sink)
    return sink.getvalue()


def _to_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _to_jsonl(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, default=datetime.isoformat)}\n" for row in rows)
