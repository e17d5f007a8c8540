"""Bundled sample and held-out trees in a new database, so that the first start is not empty."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import sqlalchemy as sa

from entail.data.bundled import (
    HELD_OUT_NAME,
    SAMPLE_NAME,
    held_out_corpus,
    held_out_trees,
    sample_corpus,
    sample_trees,
)
from entail.data.records import Corpus, ExplanationTree
from entail.errors import DatabaseError
from entail.trees.formats.entailment_bank import unfold
from entail.trees.log.event_log import insert_trees
from entail.trees.store import schema
from entail.trees.store.authors import fold_name
from entail.trees.store.corpora import insert_corpus
from entail.trees.store.database import Database

SAMPLE_ID, HELD_OUT_ID = "5a3b1e00", "5a3b1e01"
"""Ids of the bundled corpora, the same in every database."""

SAMPLE_AUTHOR = "EntailmentBank"


class Bundle(NamedTuple):
    """Bundled corpus with its trees: id and name in a database, and the readers of both."""

    id: str
    name: str
    corpus: Callable[[], Corpus]
    trees: Callable[[], tuple[ExplanationTree, ...]]


BUNDLES = (
    Bundle(SAMPLE_ID, SAMPLE_NAME, sample_corpus, sample_trees),
    Bundle(HELD_OUT_ID, HELD_OUT_NAME, held_out_corpus, held_out_trees),
)
"""Corpora of a new database; the trees of the last one come first in lists."""


def seed_sample(database: Database) -> None:
    """Add the bundled corpora and their trees to the database, unless it is read-only.

    A corpus is left out if it, or another of its name, was added before. Of two processes at the same moment
    one adds it, all or nothing; `DatabaseError` if the database cannot be written.
    """
    for bundle in () if database.read_only else BUNDLES:
        with database.reading() as connection:
            if _is_seeded(connection, bundle):
                continue
        corpus = bundle.corpus()
        acts = [unfold(tree, corpus=corpus) for tree in bundle.trees()]
        licence = "Apache-2.0 (EntailmentBank), CC BY-SA 4.0 (WorldTree)"
        source = "EntailmentBank and WorldTree, Allen Institute for AI"
        try:
            with database.writing() as connection:
                if not _is_seeded(connection, bundle):
                    insert_corpus(
                        connection,
                        corpus,
                        author=SAMPLE_AUTHOR,
                        corpus_id=bundle.id,
                        licence=licence,
                        source=source,
                    )
                    insert_trees(connection, acts, author=SAMPLE_AUTHOR, corpus_id=bundle.id, example=True)
        except DatabaseError:
            with database.reading() as connection:
                if not _is_seeded(connection, bundle):  # else another process was quicker
                    raise


def _is_seeded(connection: sa.Connection, bundle: Bundle) -> bool:
    """Return whether the corpus, or another of its name, was added."""
    corpora = schema.corpora.c
    same = sa.or_(corpora.id == bundle.id, corpora.folded == fold_name(bundle.name))
    return connection.scalar(sa.select(corpora.id).where(same)) is not None
