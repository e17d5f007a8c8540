"""Bundled sample in a new database, so that the first start is not empty."""

from __future__ import annotations

import sqlalchemy as sa

from entail.data.bundled import SAMPLE_NAME, sample_corpus, sample_trees
from entail.errors import DatabaseError
from entail.trees.formats.entailment_bank import unfold
from entail.trees.log.event_log import insert_trees
from entail.trees.store import schema
from entail.trees.store.authors import fold_name
from entail.trees.store.corpus_versions import insert_corpus
from entail.trees.store.database import Database

SAMPLE_ID = "5a3b1e00"
"""Id of the bundled corpus, the same in every database."""

SAMPLE_AUTHOR = "EntailmentBank"
"""Author of the bundled trees."""


def seed_sample(database: Database) -> None:
    """Add the bundled corpus and its trees to the database, unless they were added before or it is read-only.

    Of two processes at the same moment one adds them, all or nothing.

    Raises:
        DatabaseError: If the database cannot be written.
    """
    if database.read_only or _is_seeded(database):
        return
    corpus = sample_corpus()
    acts = [unfold(tree, corpus=corpus) for tree in sample_trees()]
    try:
        with database.writing(wait_seconds=database.wait_seconds) as connection:
            if connection.scalar(_SEEDED) is not None:
                return
            insert_corpus(
                connection,
                corpus,
                author=SAMPLE_AUTHOR,
                licence="Apache-2.0 (EntailmentBank), CC BY-SA 4.0 (WorldTree)",
                source="EntailmentBank and WorldTree, Allen Institute for AI",
                corpus_id=SAMPLE_ID,
            )
            insert_trees(connection, acts, author=SAMPLE_AUTHOR, corpus_id=SAMPLE_ID, example=True)
    except DatabaseError:
        if not _is_seeded(database):  # another process was quicker
            raise


_SEEDED = sa.select(schema.corpora.c.id).where(
    sa.or_(schema.corpora.c.id == SAMPLE_ID, schema.corpora.c.folded == fold_name(SAMPLE_NAME))
)


def _is_seeded(database: Database) -> bool:
    with database.reading() as connection:
        return connection.scalar(_SEEDED) is not None
