"""Keys of premises are of composed (NFC) texts, and retired premises are found by their version.

Keys of texts that were stored decomposed are rewritten, in premises and in the evidence and given nodes of
events. Where two premises of a corpus become one, the first stays and the later one is retired, as a new
version; it keeps an old key, so that older versions hold both, at their positions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from alembic import op

from entail.data.text import premise_key

revision = "0005"
down_revision = "0004"

_KEY = re.compile(r"[0-9a-f]{16}")
_AUTHOR = "entail"  # of the versions that this migration makes


def upgrade() -> None:
    """Rewrite the keys, then make the index."""
    connection = op.get_bind()
    tables = sa.MetaData()
    tables.reflect(connection, only=["authors", "corpora", "corpus_changes", "premises", "events"])
    renamed = _rename_premises(connection, tables)
    renamed |= {_old_key(text): premise_key(text) for text in _texts_of_events(connection, tables)}
    _rename_in_events(connection, tables, {old: new for old, new in renamed.items() if old != new})
    in_force_no_more = sa.text("retired IS NOT NULL")
    op.create_index(
        "ix_premises_corpus_id_retired_position",
        "premises",
        ["corpus_id", "retired", "position"],
        sqlite_where=in_force_no_more,
        postgresql_where=in_force_no_more,
    )


def _old_key(text: str) -> str:
    """Return the key of earlier versions, of the text as it is."""
    folded = re.sub(r"\s+", " ", re.sub(r"\s+(?=[,.;:'])", "", text)).strip()
    return sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _rename_premises(connection: sa.Connection, tables: sa.MetaData) -> dict[str, str]:
    """Give premises their new keys; return old key -> new key."""
    table = tables.tables["premises"]
    row, renamed = table.c, {}
    width = sa.func.octet_length(row.text)
    if connection.dialect.name == "sqlite":
        width = sa.func.length(sa.cast(row.text, sa.LargeBinary))
    columns = (row.corpus_id, row.position, row.key, row.text, row.added, row.retired)
    query = sa.select(*columns).where(width != sa.func.length(row.text)).order_by(row.corpus_id, row.position)
    retired: dict[str, list[int]] = {}
    for premise in connection.execute(query).all():
        old, new = _old_key(premise.text), premise_key(premise.text)
        if old == new or premise.key != old:
            continue
        renamed[old] = new

        def set_key(position: int, key: str, corpus_id: str = premise.corpus_id) -> None:
            at = (row.corpus_id == corpus_id) & (row.position == position)
            connection.execute(sa.update(table).where(at).values(key=key))

        rival_rows: sa.Select[Any] = sa.select(row.position, row.retired)
        rival_rows = rival_rows.where(row.corpus_id == premise.corpus_id, row.key == new)
        rival_rows = rival_rows.where(row.retired.is_(None) | (row.retired > premise.added))
        if premise.retired is not None:
            rival_rows = rival_rows.where(row.added < premise.retired)
        rivals = connection.execute(rival_rows).all()  # in some version together with this one
        stays, live = premise.retired is None, [rival for rival in rivals if rival.retired is None]
        if stays and live:
            later = max(premise.position, live[0].position)
            retired.setdefault(premise.corpus_id, []).append(later)
            stays = later != premise.position
        if stays or not rivals:
            set_key(premise.position, "")
            for rival in rivals:
                set_key(rival.position, old)
            set_key(premise.position, new)
            same = (row.corpus_id == premise.corpus_id) & (row.corrects == old)
            connection.execute(sa.update(table).where(same).values(corrects=new))
    for corpus_id, positions in retired.items():
        _retire(connection, tables, corpus_id, positions)
    return renamed


def _retire(connection: sa.Connection, tables: sa.MetaData, corpus_id: str, positions: list[int]) -> None:
    authors, corpora, changes, premises = (
        tables.tables[name] for name in ("authors", "corpora", "corpus_changes", "premises")
    )
    now = datetime.now(UTC)
    now = now.replace(tzinfo=None) if connection.dialect.name == "sqlite" else now
    name = connection.scalar(sa.select(authors.c.name).where(authors.c.folded == _AUTHOR))
    if name is None:
        connection.execute(sa.insert(authors).values(name=_AUTHOR, folded=_AUTHOR, entered_at=now))
    corpus = corpora.c.id == corpus_id
    version = 1 + (connection.scalar(sa.select(corpora.c.version).where(corpus)) or 0)
    counts = {"added": 0, "retired": len(positions)}
    by = {"change": "retire", "author": name or _AUTHOR, "at": now}
    connection.execute(sa.insert(changes).values(corpus_id=corpus_id, version=version, **by, **counts))
    for position in positions:
        at = (premises.c.corpus_id == corpus_id) & (premises.c.position == position)
        connection.execute(sa.update(premises).where(at).values(retired=version))
    count = corpora.c.count - len(positions)
    connection.execute(sa.update(corpora).where(corpus).values(version=version, count=count))


def _texts_of_events(connection: sa.Connection, tables: sa.MetaData) -> Iterator[str]:
    """Yield the texts of payloads that are not ASCII; JSON escapes them."""
    payload = sa.cast(tables.tables["events"].c.payload, sa.Text)
    for text in connection.scalars(sa.select(payload).where(payload.like("%\\u%", escape="!"))):
        with suppress(ValueError):  # damaged: the tree says so when it is opened
            yield from _strings(json.loads(text))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _rename_in_events(connection: sa.Connection, tables: sa.MetaData, renamed: dict[str, str]) -> None:
    if not renamed:
        return
    events = tables.tables["events"]
    columns = {name: sa.cast(events.c[name], sa.Text).label(name) for name in ("payload", "evidence")}
    for event in connection.execute(sa.select(events.c.tree_id, events.c.seq, *columns.values())).all():
        for name in columns:
            text = event._mapping[name] or ""
            new = _KEY.sub(lambda match: renamed.get(match[0], match[0]), text)
            if new != text:
                kind = "TEXT" if connection.dialect.name == "sqlite" else "JSON"
                update = (
                    f"UPDATE events SET {name} = CAST(:new AS {kind}) WHERE tree_id = :tree AND seq = :seq"
                )
                connection.execute(sa.text(update), {"new": new, "tree": event.tree_id, "seq": event.seq})
