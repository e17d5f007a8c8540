"""Candidates for a node, retrieved or proposed by a scorer, and the evidence of judgements on them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus, Premise
from entail.data.text import premise_key
from entail.errors import ActError, ManifestMismatchError
from entail.index.lexical import TfidfIndex
from entail.index.protocol import Floats, Hits, Manifest
from entail.trees.log.acts import (
    Accept,
    Act,
    Conclude,
    Evidence,
    Finish,
    Proposal,
    Reject,
    ShownCandidate,
    Write,
)
from entail.trees.log.tree import Tree
from entail.trees.review.provenance import describe_provenance
from entail.trees.review.suggestions import (
    Basis,
    Candidate,
    basis_of,
    excluded_positions,
    rerank,
    suggest,
)
from tests.trees.conftest import Story

FACTS = Corpus.of("facts", [f"fact {letter}" for letter in "abcdefghij"])


class InOrder:
    """A retriever that finds the corpus as it stands: 1.0 for the first, a tenth less for the next ..."""

    name = "in order"

    def __init__(self, corpus: Corpus) -> None:
        self.manifest = Manifest("rev 1", 0, "order", len(corpus), corpus.hash)
        self.asked: list[tuple[tuple[str, ...], int]] = []

    def scores(self, queries: Sequence[str]) -> Floats:
        raise NotImplementedError

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        self.asked.append((tuple(queries), k))
        positions = np.arange(k)[np.newaxis]
        return Hits(positions, 1 - positions.astype(np.float32) / 10)


@pytest.fixture
def index() -> InOrder:
    return InOrder(FACTS)


def texts(candidates: Sequence[Candidate]) -> list[str]:
    return [candidate.premise.text.removeprefix("fact ") for candidate in candidates]


def test_a_search_is_for_a_sentence_or_own_words_and_offers_no_ancestor_by_fold(index: InOrder) -> None:
    story = Story("fact  b")
    middle = story.ann(Write(node="n1", text="fact d "))
    low = story.ann(Write(node=middle, text="something else"))
    tree = story.tree
    candidates = suggest(tree, low, FACTS, index, k=4)
    assert (texts(candidates), [c.rank for c in candidates]) == (["a", "c", "e", "f"], [1, 2, 3, 4])
    assert index.asked[-1][1] == 6
    assert texts(suggest(tree, "n1", FACTS, index, k=4, query="fact b")) == ["a", "c", "d", "e"]
    for query, searched in (("my own words", "my own words"), (None, "fact  b"), (" \n", "fact  b")):
        suggest(tree, "n1", FACTS, index, query=query)
        assert index.asked[-1][0] == (searched,)
    with pytest.raises(ActError):
        suggest(tree, "n7", FACTS, index)
    with pytest.raises(ManifestMismatchError):
        suggest(tree, "n1", Corpus.of("other", ["x"]), index)


def test_a_list_keeps_its_places_while_its_author_goes_down_it(index: InOrder) -> None:
    story = Story("why?")
    a, b = (story.ann(Accept(node="n1", premise=Premise(f"fact {letter}"))) for letter in "ab")
    conclusion = story.ann(Conclude(node="n1", premises=(a, b), text="fact c"))
    story.bob(Reject(node="n1", premise=Premise("fact d")))
    candidates = suggest(story.tree, "n1", FACTS, index, k=5)
    assert texts(candidates) == ["a", "b", "c", "d", "e"]
    assert [c.in_tree for c in candidates] == [a, b, conclusion, None, None]
    judgements = [c.judgement and (c.judgement.accepted, c.judgement.author) for c in candidates]
    assert judgements == [(True, "Ann"), (True, "Ann"), None, (False, "Bob"), None]
    candidates = suggest(story.tree, conclusion, FACTS, index, k=5)
    assert {c.judgement for c in candidates} == {None}


TEXTS = ["snow is ice", "ice is cold", "fire is hot", "the sun is hot", "snow is cold", "ice is frozen"]
CORPUS = Corpus.of("six", TEXTS)
SNOW, ICE, FIRE, SUN, CLAIM, FROZEN = CORPUS.premises


def tree_of(*acts: Any) -> Tree:
    story = Story(CLAIM.text)
    for act in acts:
        story.ann(act)
    return story.tree


accept, reject = (lambda premise, kind=kind: kind(node="n1", premise=premise) for kind in (Accept, Reject))


def test_what_a_proposal_rests_on_is_all_that_it_depends_on() -> None:
    tree = tree_of(accept(SNOW), Write(node="n1", text="my own"), reject(FIRE))
    basis = basis_of(tree, "n1")
    assert basis == Basis(CLAIM.text, (SNOW.text, "my own"), frozenset({FIRE.key}))
    assert basis.after == (SNOW.key, premise_key("my own"))
    positions = {TEXTS.index(p.text) for p in (SNOW, FIRE, CLAIM)}
    assert excluded_positions(basis, CORPUS) == positions
    below = basis_of(tree, "n2")
    assert below == Basis(SNOW.text, above=(CLAIM.text,))
    assert excluded_positions(below, CORPUS) == {TEXTS.index(SNOW.text), TEXTS.index(CLAIM.text)}


def test_candidates_are_ordered_anew_and_keep_where_they_were_retrieved() -> None:
    tree = tree_of(accept(SNOW), reject(FIRE))
    pool = suggest(tree, "n1", CORPUS, TfidfIndex(CORPUS), k=6)
    decided = {c.premise: (c.is_child, c.is_rejected) for c in pool if c.is_decided}
    assert decided == {SNOW: (True, False), FIRE: (False, True)}
    selection = [c for c in pool if not c.is_child][:3]
    candidates = rerank(selection, np.array([1.0, 2.0, 1.0], dtype=np.float32))
    order = [selection[at] for at in (1, 0, 2)]
    assert [(c.premise, c.retrieved) for c in candidates] == [(c.premise, c.rank) for c in order]
    assert [(c.rank, c.score) for c in candidates] == [(1, 2.0), (2, 1.0), (3, 1.0)]


A, B, C = (Premise(f"fact {letter}") for letter in "abc")
RANKED = Evidence(
    retriever="x",
    revision="x@aaa",
    corpus_version=2,
    query="why is ice cold",
    shown=tuple(ShownCandidate(p.key, rank, 1 / rank) for rank, p in enumerate((A, B, C), 1)),
)
NEXT = replace(
    RANKED,
    proposal=Proposal(means="next", k=60),
    shown=tuple(replace(s, retrieved=9 - s.rank) for s in RANKED.shown),
)
DRAFT = replace(RANKED, proposal=Proposal(means="draft", after=("k1", "k2")))


@pytest.mark.parametrize(
    ("act", "evidence", "words"),
    [
        (Accept(node="n1", premise=A), RANKED, "ranked 1st by X"),
        (Finish(node="n1", premises=(B, C)), RANKED, "ranked 2nd to 3rd by X"),
        (Reject(node="n1", premise=Premise("other")), RANKED, "not in a list of X"),
        (Write(node="n1", text="own"), RANKED, "before a list of X"),
        (
            Accept(node="n1", premise=B),
            NEXT,
            "proposed 2nd to come next by X, before any premise (retrieved 7th)",
        ),
        (Finish(node="n1", premises=(C,)), DRAFT, "proposed 3rd in a chain by X, after 2 premises"),
    ],
)
def test_provenance_of_each_act(act: Act, evidence: Evidence, words: str) -> None:
    assert describe_provenance(act, evidence, {"x": None}, display_name=str.upper) == f"{words}, 3 shown"


@pytest.mark.parametrize(
    ("revisions", "words"),
    [
        ({"x": "x@aaa"}, "x+bm25"),
        ({"x": "x@bbb"}, "an earlier x+bm25 (x@aaa+bm25)"),
        ({"y": "y"}, "x+bm25 (x@aaa+bm25, removed since)"),
    ],
)
def test_a_changed_or_removed_encoder_is_named(revisions: dict[str, str | None], words: str) -> None:
    own = replace(RANKED, retriever="x+bm25", revision="x@aaa+bm25", query="cold", own_words=True)
    described = describe_provenance(Accept(node="n1", premise=A), own, revisions)
    assert described == f"ranked 1st by {words}, 3 shown, searched “cold”"
