"""The bundled sample, put into a new database so that the first start has something to show."""

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
"""Id of the bundled corpus, the same in every database: what says that it was put there before."""

SAMPLE_AUTHOR = "EntailmentBank"
"""Author of the bundled trees."""


def seed_sample(database: Database) -> None:
    """Put the bundled corpus and its trees into the database, unless they were put there before.

    Two processes may do so at the same moment: one of them does it, all or nothing. A database that can only
    be read is left as it is.

    Raises:
        DatabaseError: If the database cannot be written.
    """
    if database.read_only or _seeded(database):
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
        if not _seeded(database):  # a server lets another process be quicker between the look and the leap
            raise


_SEEDED = sa.select(schema.corpora.c.id).where(
    sa.or_(schema.corpora.c.id == SAMPLE_ID, schema.corpora.c.folded == fold_name(SAMPLE_NAME))
)


def _seeded(database: Database) -> bool:
    with database.reading() as connection:
        return connection.scalar(_SEEDED) is not None
