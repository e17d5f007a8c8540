"""What a scorer goes on from at a node, what it proposes there, and when the tree has left that behind."""

from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from entail.data.records import Corpus, Premise
from entail.data.text import premise_key
from entail.index.lexical import TfidfIndex
from entail.trees.log.acts import (
    Accept,
    Conclude,
    Create,
    Edit,
    Evidence,
    Proposal,
    Reject,
    Remove,
    ShownCandidate,
    Write,
)
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import Tree
from entail.trees.review.suggestions import (
    Basis,
    basis_of,
    candidates_of,
    describe_changes,
    excluded_positions,
    rerank,
    shown_of,
    suggest,
)
from entail.trees.store import schema
from entail.trees.store.database import Database

TEXTS = ["snow is ice", "ice is cold", "fire is hot", "the sun is hot", "snow is cold", "ice is frozen"]
CORPUS = Corpus.of("six", TEXTS)
SNOW, ICE, FIRE, SUN, CLAIM, FROZEN = CORPUS.premises


def tree_of(tell: Any, *acts: Any) -> Tree:
    story = tell(CLAIM.text)
    for act in acts:
        story.ann(act)
    tree: Tree = story.history.tree
    return tree


def accept(premise: Premise) -> Accept:
    return Accept(node="n1", premise=premise)


def reject(premise: Premise) -> Reject:
    return Reject(node="n1", premise=premise)


def test_what_a_proposal_rests_on_is_all_that_it_depends_on(tell: Any) -> None:
    tree = tree_of(tell, accept(SNOW), Write(node="n1", text="my own"), reject(FIRE))
    basis = basis_of(tree, "n1")
    assert basis == Basis(CLAIM.text, (SNOW.text, "my own"), frozenset({FIRE.key}))
    assert basis.after == (SNOW.key, premise_key("my own"))
    positions = {TEXTS.index(p.text) for p in (SNOW, FIRE, CLAIM)}
    assert excluded_positions(basis, CORPUS) == positions
    below = basis_of(tree, "n2")
    assert below == Basis(SNOW.text, above=(CLAIM.text,))
    assert excluded_positions(below, CORPUS) == {TEXTS.index(SNOW.text), TEXTS.index(CLAIM.text)}


def test_candidates_are_ordered_anew_and_keep_where_they_were_retrieved(tell: Any) -> None:
    tree = tree_of(tell, accept(SNOW), reject(FIRE))
    pool = suggest(tree, "n1", CORPUS, TfidfIndex(CORPUS), k=6)
    assert [c.premise for c in pool if c.is_child] == [SNOW]
    some = [c for c in pool if not c.is_child][:3]
    found = rerank(some, np.array([1.0, 2.0, 1.0], dtype=np.float32))
    assert [c.premise for c in found] == [some[at].premise for at in (1, 0, 2)]
    assert [c.rank for c in found] == [1, 2, 3]
    assert [c.retrieved for c in found] == [some[at].rank for at in (1, 0, 2)]
    assert [c.score for c in found] == [2.0, 1.0, 1.0]


def test_a_chain_knows_what_became_of_it(tell: Any) -> None:
    tree = tree_of(tell, accept(SNOW), reject(FIRE))
    chain = candidates_of(tree, "n1", [(SNOW, 3.0), (FIRE, 2.0), (SUN, 1.0)])
    assert [(c.premise, c.rank, c.score) for c in chain] == [(SNOW, 1, 3.0), (FIRE, 2, 2.0), (SUN, 3, 1.0)]
    assert [(c.is_child, c.is_rejected) for c in chain] == [(True, False), (False, True), (False, False)]
    assert [c.is_decided for c in chain] == [True, True, False]


@pytest.mark.parametrize(
    ("then", "since", "words"),
    [
        ([], [accept(ICE)], ()),
        ([], [accept(ICE), accept(FROZEN)], ()),
        ([], [reject(FROZEN)], ()),  # the last of the chain: nothing rests on it
        ([], [reject(ICE)], ("rejected proposal 1, on which later ones are based",)),
        ([], [reject(ICE), reject(FROZEN)], ()),
        ([], [accept(SUN)], ("added 1 premise",)),
        ([], [Write(node="n1", text="own"), accept(SUN)], ("added 2 premises",)),
        ([accept(SNOW)], [Remove(node="n2")], ("removed 1 premise of its basis",)),
        ([], [Edit(node="n1", text="snow freezes")], ("the sentence was edited",)),
        (
            [accept(SNOW)],
            [Conclude(node="n1", premises=("n2",), text="snow is frozen")],
            ("removed 1 premise of its basis", "added 1 premise"),
        ),
    ],
)
def test_a_draft_belongs_to_what_was_there_when_it_was_made(
    tell: Any, then: list[Any], since: list[Any], words: tuple[str, ...]
) -> None:
    basis = basis_of(tree_of(tell, *then), "n1")
    tree = tree_of(tell, *then, *since)
    chain = candidates_of(tree, "n1", [(ICE, 2.0), (FROZEN, 1.0)])
    assert describe_changes(basis, tree, "n1", chain) == words


def test_the_log_keeps_a_proposal_and_reads_older_rows_as_before(sqlite: Database) -> None:
    log = TreeLog(sqlite)
    tree_id = log.create(Create(hypothesis=CLAIM.text), author="Ann")
    retrieved = Evidence(
        retriever="minilm",
        revision="m@1",
        corpus_version=1,
        query="q",
        shown=(ShownCandidate(SUN.key, 1, 0.5),),
    )
    history = log.act(tree_id, accept(SNOW), author="Ann", base=1, evidence=retrieved)
    tree = history.tree
    pool = suggest(tree, "n1", CORPUS, TfidfIndex(CORPUS), k=6)
    made = Proposal(means="next", after=basis_of(tree, "n1").after, k=len(pool), among="tfidf")
    found = rerank(pool, np.arange(len(pool), dtype=np.float32))
    about = {"retriever": "arcf", "revision": "arcf@1", "query": CLAIM.text}
    proposed = Evidence(**about, corpus_version=1, shown=shown_of(found), proposal=made)
    log.act(tree_id, reject(FIRE), author="Ann", base=2, evidence=proposed)
    assert log.evidence(tree_id) == {2: retrieved, 3: proposed}
    assert proposed.shown[0].retrieved == pool[-1].rank
    with sqlite.reading() as connection:
        rows = list(connection.scalars(sa.select(schema.events.c.evidence).order_by(schema.events.c.seq)))
    assert set(rows[1]) == {"retriever", "revision", "corpus_version", "query", "own_words", "shown"}
    assert rows[1]["shown"] == [{"key": SUN.key, "rank": 1, "score": 0.5}], "as rows were before proposals"
    assert rows[2]["proposal"]["after"] == [SNOW.key]
