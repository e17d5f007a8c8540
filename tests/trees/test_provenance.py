"""Who ranked what was judged, in words."""

from dataclasses import replace

import pytest

from entail.data.records import Premise
from entail.trees.log.acts import Accept, Evidence, Finish, Proposal, Reject, Shown, Write
from entail.trees.review.provenance import describe_provenance, describe_rank

A, B, C = (Premise(f"fact {letter}") for letter in "abc")
THEN = Evidence(
    retriever="team-x-1",
    revision="team-x-1@aaa",
    corpus_version=2,
    query="why is ice cold",
    shown=(Shown(A.key, 1, 0.9), Shown(B.key, 2, 0.8), Shown(C.key, 3, 0.7)),
)
HERE = {"team-x-1": "team-x-1@aaa"}


@pytest.mark.parametrize(
    ("here", "words"),
    [
        (HERE, "ranked 3rd by team-x-1"),
        ({"team-x-1": None}, "ranked 3rd by team-x-1"),
        ({"team-x-1": "team-x-1@bbb"}, "ranked 3rd by an earlier team-x-1 (team-x-1@aaa)"),
        ({"minilm": "m"}, "ranked 3rd by team-x-1 (team-x-1@aaa, removed since)"),
    ],
)
def test_encoders_that_are_gone_or_other_now_are_named(here: dict[str, str | None], words: str) -> None:
    assert describe_rank(THEN, C.key, here) == words


def test_a_premise_that_was_not_shown() -> None:
    words = describe_rank(THEN, "another", HERE, called=str.upper)
    assert words == "not among the top 3 of TEAM-X-1"


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (Accept(node="n1", premise=A), "ranked 1st by team-x-1, 3 shown"),
        (Reject(node="n1", premise=B), "ranked 2nd by team-x-1, 3 shown"),
        (Finish(node="n1", premises=(B, C)), "ranked 2nd to 3rd by team-x-1, 3 shown"),
        (Finish(node="n1", premises=(C,)), "ranked 3rd by team-x-1, 3 shown"),
        (Finish(node="n1", premises=()), "before a list of team-x-1, 3 shown"),
        (Write(node="n1", text="own"), "before a list of team-x-1, 3 shown"),
    ],
)
def test_grounds_of_each_act(act: Accept | Reject | Finish | Write, words: str) -> None:
    assert describe_provenance(act, THEN, HERE) == words


def test_own_words_are_told() -> None:
    own = Evidence(retriever="bm25", revision="r", corpus_version=1, query="cold", own_words=True, shown=())
    assert describe_provenance(Accept(node="n1", premise=A), own, {"bm25": None}).endswith(
        "0 shown, searched “cold”"
    )


NEXT = replace(
    THEN,
    proposal=Proposal(means="next", k=60),
    shown=tuple(replace(s, retrieved=9 - s.rank) for s in THEN.shown),
)
DRAFT = replace(THEN, proposal=Proposal(means="draft", after=("k1", "k2")))


@pytest.mark.parametrize(
    ("act", "then", "words"),
    [
        (
            Accept(node="n1", premise=B),
            NEXT,
            "proposed 2nd to come next by x, before any premise (retrieved 7th)",
        ),
        (
            Finish(node="n1", premises=(B, C)),
            NEXT,
            "proposed 2nd to 3rd to come next by x, before any premise",
        ),
        (Reject(node="n1", premise=A), DRAFT, "proposed 1st in a chain by x, after 2 premises"),
        (Finish(node="n1", premises=(C,)), DRAFT, "proposed 3rd in a chain by x, after 2 premises"),
    ],
)
def test_proposals_are_told_from_what_was_ranked(
    act: Accept | Reject | Finish, then: Evidence, words: str
) -> None:
    assert describe_provenance(act, then, HERE, called=lambda name: "x") == f"{words}, 3 shown"
