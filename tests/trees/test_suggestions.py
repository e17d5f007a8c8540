"""Ranked candidates for a node, and the evidence of what was shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus, Premise
from entail.errors import ActError, ManifestMismatchError, RetrievalError
from entail.index.lexical import Bm25Index, TfidfIndex
from entail.index.protocol import Floats, Hits, Manifest, PremiseIndex
from entail.trees.log.acts import Accept, Conclude, Reject, ShownCandidate, Write
from entail.trees.review.suggestions import Candidate, shown_of, suggest

Tell = Callable[..., Any]

FACTS = Corpus.of("facts", [f"fact {letter}" for letter in "abcdefghij"])


class InOrder:
    """A retriever that finds the corpus as it stands: 1.0 for the first, a tenth less for the next ..."""

    name = "in order"

    def __init__(self, corpus: Corpus) -> None:
        self.manifest = Manifest("rev 1", 0, "order", len(corpus), corpus.hash)
        self.asked: list[tuple[tuple[str, ...], int]] = []

    def scores(self, queries: Sequence[str]) -> Floats:
        line = 1 - np.arange(self.manifest.count, dtype=np.float32) / 10
        return np.tile(line, (len(queries), 1))

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        self.asked.append((tuple(queries), k))
        positions = np.tile(np.arange(min(k, self.manifest.count)), (len(queries), 1))
        return Hits(positions, self.scores(queries)[:, :k])


@pytest.fixture
def index() -> InOrder:
    return InOrder(FACTS)


def texts(candidates: Sequence[Candidate]) -> list[str]:
    return [candidate.premise.text.removeprefix("fact ") for candidate in candidates]


def test_the_nearest_premises_come_with_rank_and_score(tell: Tell, index: InOrder) -> None:
    found = suggest(tell("why?").history.tree, "n1", FACTS, index, k=3)
    assert [(c.premise.text, c.rank, round(c.score, 4), c.in_tree, c.judgement) for c in found] == [
        ("fact a", 1, 1.0, None, None),
        ("fact b", 2, 0.9, None, None),
        ("fact c", 3, 0.8, None, None),
    ]
    assert index.asked == [(("why?",), 3)]


def test_a_node_is_never_offered_its_own_text_nor_its_ancestors_by_fold(tell: Tell, index: InOrder) -> None:
    story = tell("fact  b")
    middle = story.ann(Write(node="n1", text="fact d "))
    low = story.ann(Write(node=middle, text="something else"))
    tree = story.history.tree
    found = suggest(tree, low, FACTS, index, k=4)
    assert (texts(found), [c.rank for c in found]) == (["a", "c", "e", "f"], [1, 2, 3, 4])
    assert index.asked[-1][1] == 6
    assert texts(suggest(tree, "n1", FACTS, index, k=4, query="fact b")) == ["a", "c", "d", "e"]


def test_a_list_keeps_its_places_while_its_author_goes_down_it(tell: Tell, index: InOrder) -> None:
    story = tell("why?")
    a, b = (story.ann(Accept(node="n1", premise=Premise(f"fact {letter}"))) for letter in "ab")
    conclusion = story.ann(Conclude(node="n1", premises=(a, b), text="fact c"))
    found = suggest(story.history.tree, "n1", FACTS, index, k=4)
    assert texts(found) == ["a", "b", "c", "d"]
    assert [c.in_tree for c in found] == [a, b, conclusion, None]
    assert [c.judgement is not None and c.judgement.accepted for c in found] == [True, True, False, False]


def test_what_is_elsewhere_in_the_tree_is_offered_with_its_node(tell: Tell, index: InOrder) -> None:
    story = tell("why?")
    left = story.ann(Accept(node="n1", premise=Premise("fact a")))
    right = story.ann(Write(node="n1", text="because"))
    below = story.ann(Accept(node=left, premise=Premise("fact  b")))
    found = suggest(story.history.tree, right, FACTS, index, k=3)
    assert [(c.premise.text, c.in_tree) for c in found] == [
        ("fact a", left),
        ("fact b", below),
        ("fact c", None),
    ]


def test_rejected_premises_stay_where_they_rank_and_carry_the_judgement(tell: Tell, index: InOrder) -> None:
    story = tell("why?")
    other = story.ann(Write(node="n1", text="because"))
    story.bob(Reject(node="n1", premise=Premise("fact b")))
    judged = [c.judgement for c in suggest(story.history.tree, "n1", FACTS, index, k=3)]
    assert [j and (j.accepted, j.author) for j in judged] == [None, (False, "Bob"), None]
    assert {c.judgement for c in suggest(story.history.tree, other, FACTS, index, k=3)} == {None}


@pytest.mark.parametrize(
    ("query", "asked"), [("my own words", "my own words"), (None, "why?"), (" \n", "why?")]
)
def test_own_words_are_searched_with_if_there_are_any(
    tell: Tell, index: InOrder, query: str | None, asked: str
) -> None:
    suggest(tell("why?").history.tree, "n1", FACTS, index, query=query)
    assert index.asked[-1][0] == (asked,)


def test_a_k_above_the_corpus_gives_all_there_is(tell: Tell, index: InOrder) -> None:
    assert len(suggest(tell("fact a").history.tree, "n1", FACTS, index, k=500)) == 9
    assert index.asked[-1][1] == 10


@pytest.mark.parametrize(
    ("node", "corpus", "k", "error", "message"),
    [
        ("n1", FACTS, 0, RetrievalError, "k of at least 1, found 0"),
        ("n7", FACTS, 1, ActError, "no node n7"),
        ("n1", Corpus.of("other", ["x"]), 1, ManifestMismatchError, "10 premises .* the 1 of corpus 'other'"),
    ],
)
def test_requests_that_cannot_be_answered(
    tell: Tell, index: InOrder, node: str, corpus: Corpus, k: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        suggest(tell("why?").history.tree, node, corpus, index, k=k)


@pytest.mark.parametrize("kind", [TfidfIndex, Bm25Index])
def test_any_retriever_will_do(tell: Tell, kind: Callable[[Corpus], PremiseIndex]) -> None:
    corpus = Corpus.of(
        "facts", ["ice is frozen water", "the sun is hot", "snow is made of ice", "snow is cold"]
    )
    story = tell("snow is cold")
    found = suggest(story.history.tree, "n1", corpus, kind(corpus), k=2)
    assert found[0].premise.text == "snow is made of ice"
    assert len(found) == 2
    assert found[0].score > found[1].score


def test_evidence_says_what_was_on_the_screen(tell: Tell, index: InOrder) -> None:
    found = suggest(tell("why?").history.tree, "n1", FACTS, index, k=2, query="mine")
    assert shown_of(found) == (
        ShownCandidate(Premise("fact a").key, 1, found[0].score),
        ShownCandidate(Premise("fact b").key, 2, found[1].score),
    )
    assert isinstance(found[0].score, float)
