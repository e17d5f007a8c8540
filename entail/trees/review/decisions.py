"""Decisions of a team, read from its logs, and the training data made from them."""

from __future__ import annotations

import inspect
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus
from entail.data.text import count_of
from entail.errors import TrainingError
from entail.index.factory import is_reserved
from entail.progress import ProgressCallback
from entail.statistics.votes import Merging
from entail.training.method import Source
from entail.trees.log.event_log import TreeLog, TreeSummary
from entail.trees.log.tree import Tree
from entail.trees.store import schema
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database


def read_decisions(
    name: str, merging: Merging = "agree", hold_out: int | None = None, *, viewer: str | None = None
) -> tuple[Corpus, Judgements, Mapping[str, Mapping[str, None]]]:
    """Return a corpus of the app, by name or id, with the judgements of the trees over it.

    They are those that the viewer may export, see `TreeLog.exportable`; None is the operator. With `hold_out`
    every n-th tree that a reviewer accepted is held out: the premises of its sentences are returned apart,
    and no tree of its hypothesis judges.
    """
    with closing(open_database()) as database:
        store, log = CorpusStore(database), TreeLog(database).viewed_by(viewer)
        info = store.find(name)
        reviewed = _reviewed(database, log, info.id)[hold_out - 1 :: hold_out] if hold_out else []
        hypotheses = {tree.root.folded for tree in reviewed}
        judgements = judgements_of(log, corpus_id=info.id, merging=merging, without=hypotheses)
        edges = Judgements.of_pairs(chain.from_iterable(map(_edges, reviewed)))
        return store.corpus(info.id), judgements, edges.accepted


def _reviewed(database: Database, log: TreeLog, corpus_id: str) -> list[Tree]:
    """Return the accepted tree of each hypothesis: the agreed one, or else the first copy."""
    pieces, copies = schema.pieces.c, schema.copies.c
    names = ("project_id", "number", "copy", "annotator")
    same = sa.and_(*(copies[name] == pieces[name] for name in names))
    query = sa.select(copies.tree_id).where(same, pieces.state == "accepted")
    with database.reading() as connection:
        ids = list(connection.scalars(query.order_by(*(pieces[name] for name in names[:3]))))
    public = {summary.id for summary in _own_trees(log, corpus_id)}
    trees: dict[str, Tree] = {}
    for _, history in log.viewed_by(None).histories([tree_id for tree_id in ids if tree_id in public]):
        trees.setdefault(history.tree.root.folded, history.tree)
    return list(trees.values())


def read_source(
    source: Source,
    *,
    keep: Path | None = None,
    progress: ProgressCallback | None = None,
    viewer: str | None = None,
) -> Any:
    """Return the data of a training's source (see `Source`), with decisions of what the viewer may export."""
    offered = {"progress": progress, "decisions": partial(read_decisions, viewer=viewer)}
    accepted = inspect.signature(source.read).parameters
    return source.read(keep=keep, **{name: value for name, value in offered.items() if name in accepted})


def judgements_of(
    log: TreeLog,
    *,
    corpus_id: str | None = None,
    merging: Merging = "agree",
    without: Collection[str] = (),
) -> Judgements:
    """Return the judgements of the own trees, over one corpus or all, that the log's viewer may export.

    Archived trees count, examples do not.

    All texts below a node count as accepted: premises, own statements and conclusions. Rejections are single
    ones and those of `finish`, but not those of hits for the author's own words. Unseen candidates count as
    neither, nor do pairs that are judged both ways, but for what `merging` makes of them. Trees of the
    hypotheses `without`, folded, do not count.
    """
    ids = (summary.id for summary in _own_trees(log, corpus_id))
    log = log.exportable()
    trees = [(tree_id, history.tree) for tree_id, history in log.histories(ids)]
    trees = [(tree_id, tree) for tree_id, tree in trees if tree.root.folded not in without]
    pairs = chain.from_iterable(_pairs_of(log, tree_id, tree) for tree_id, tree in trees)
    return Judgements.of_pairs(pairs, roots=(tree.root.text for _, tree in trees), merging=merging)


def _own_trees(log: TreeLog, corpus_id: str | None) -> list[TreeSummary]:
    """Return the trees that a training may learn from: a model lets out what is in them, like an export."""
    return log.exportable().trees(corpus_id=corpus_id, archived=None, examples=False)


def _pairs_of(log: TreeLog, tree_id: str, tree: Tree) -> Iterator[JudgedPair]:
    """Yield the judged pairs of a tree: its edges, then its rejections, contradictions included."""
    yield from _edges(tree)
    rejections = [judgement for judgement in tree.judgements.values() if not judgement.accepted]
    evidence = log.evidence(tree_id) if rejections else {}
    for judgement in rejections:
        if judgement.seq not in evidence or not evidence[judgement.seq].own_words:
            yield JudgedPair(judgement.query, judgement.premise.text, False, judgement.author)


def _edges(tree: Tree) -> Iterator[JudgedPair]:
    for node in tree.nodes.values():
        for child in map(tree.nodes.__getitem__, node.children):
            yield JudgedPair(node.text, child.text, True, child.author)


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class DecisionCounts(NamedTuple):
    """Counts of decisions for training; rejected premises count for nodes that have accepted ones."""

    accepted: int = 0
    rejected: int = 0
    nodes: int = 0


ENOUGH = DecisionCounts(accepted=10, nodes=3)
"""Least decisions for a training; with fewer, an encoder memorises them."""


def count_decisions(log: TreeLog, *, corpus_id: str) -> DecisionCounts:
    """Count the decisions of a corpus's own trees, cached by tree and version."""
    cache, counts = _COUNTS.setdefault(log, {}), [DecisionCounts()]
    for summary in _own_trees(log, corpus_id):
        if summary.steps or summary.judgements:
            version = (summary.seq, summary.changed_at)
            if summary.id not in cache or cache[summary.id][0] != version:
                pairs = (_pairs_of(log, id, history.tree) for id, history in log.histories([summary.id]))
                judgements = Judgements.of_pairs(chain.from_iterable(pairs))
                cache[summary.id] = (version, _count(judgements))
            counts.append(cache[summary.id][1])
    return DecisionCounts(*map(sum, zip(*counts, strict=True)))


_COUNTS: WeakKeyDictionary[TreeLog, dict[str, tuple[tuple[int, datetime], DecisionCounts]]]
_COUNTS = WeakKeyDictionary()


def describe_missing(counts: DecisionCounts) -> str:
    """Return the decisions that are missing for a training, an empty text if there are enough.

    >>> describe_missing(DecisionCounts(accepted=3, rejected=10, nodes=2))
    'Accept 7 more premises, some of them for 1 more sentence, before training on your decisions.'
    """
    accepted, nodes = ENOUGH.accepted - counts.accepted, ENOUGH.nodes - counts.nodes
    if accepted <= 0 and nodes <= 0:
        return ""
    words = count_of(accepted, "more premise") if accepted > 0 else "a premise"
    if nodes > 0:
        words += f"{', some of them' if accepted > 0 else ''} for {count_of(nodes, 'more sentence')}"
        words += "," if accepted > 0 else ""
    return f"Accept {words} before training on your decisions."


def _count(judgements: Judgements) -> DecisionCounts:
    accepted, rejected = judgements.accepted, judgements.rejected
    return DecisionCounts(
        accepted=sum(map(len, accepted.values())),
        rejected=sum(len(premises) for query, premises in rejected.items() if query in accepted),
        nodes=len(accepted),
    )


def propose_name(corpus_name: str, taken_names: Collection[str]) -> str:
    """Return the first free name of the form `team-<corpus>-<n>` for a trained encoder.

    >>> propose_name("Sky & Sun (2024)", {"team-sky-sun-2024-1"})
    'team-sky-sun-2024-2'
    """
    plain = unicodedata.normalize("NFKD", corpus_name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:40].strip("-") or "corpus"
    return free_name(f"team-{slug}", taken_names)


def free_name(stem: str, taken_names: Collection[str]) -> str:
    """Return the first free name of the form `<stem>-<n>`."""
    used = {name.lower() for name in taken_names}
    return next(name for n in count(1) if (name := f"{stem}-{n}") not in used)


def check_name(name: str, taken_names: Collection[str]) -> None:
    """Raise `TrainingError` if a name is invalid or taken for an encoder: it is a folder under `models/`."""
    if not _NAME.fullmatch(name) or name.endswith((".", ".training")):
        raise TrainingError(
            "expected a name of letters a to z, digits, '.', '-' and '_' that begins with a letter or a "
            f"digit, 80 characters at most, found {name!r}"
        )
    if is_reserved(name) or name.lower() in map(str.lower, taken_names):
        raise TrainingError(f"an encoder {name!r} exists already; choose another name")
