"""Retriever, rank and proposal behind a judgement, in words."""

from dataclasses import replace

import pytest

from entail.data.records import Premise
from entail.trees.log.acts import Accept, Act, Evidence, Finish, Proposal, Reject, ShownCandidate, Write
from entail.trees.review.provenance import describe_provenance, describe_rank, describe_retriever

A, B, C = (Premise(f"fact {letter}") for letter in "abc")
RANKED = Evidence(
    retriever="team-x-1",
    revision="team-x-1@aaa",
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
    ("revisions", "words"),
    [
        ({"team-x-1": "team-x-1@aaa"}, "TEAM-X-1"),
        ({"team-x-1": None}, "TEAM-X-1"),
        ({"team-x-1": "team-x-1@bbb"}, "an earlier TEAM-X-1 (team-x-1@aaa)"),
        ({"minilm": "m"}, "TEAM-X-1 (team-x-1@aaa, removed since)"),
    ],
)
def test_a_changed_or_removed_encoder_is_named(revisions: dict[str, str | None], words: str) -> None:
    assert describe_retriever(RANKED, revisions, display_name=str.upper) == words


def test_a_premise_that_was_not_shown() -> None:
    assert describe_rank(RANKED, "another", "x") == "not among the top 3 of x"


@pytest.mark.parametrize(
    ("act", "evidence", "words"),
    [
        (Accept(node="n1", premise=A), RANKED, "ranked 1st by x"),
        (Reject(node="n1", premise=B), RANKED, "ranked 2nd by x"),
        (Finish(node="n1", premises=(B, C)), RANKED, "ranked 2nd to 3rd by x"),
        (Write(node="n1", text="own"), RANKED, "before a list of x"),
        (
            Accept(node="n1", premise=B),
            NEXT,
            "proposed 2nd to come next by x, before any premise (retrieved 7th)",
        ),
        (Reject(node="n1", premise=A), DRAFT, "proposed 1st in a chain by x, after 2 premises"),
        (Finish(node="n1", premises=(C,)), DRAFT, "proposed 3rd in a chain by x, after 2 premises"),
    ],
)
def test_provenance_of_each_act(act: Act, evidence: Evidence, words: str) -> None:
    assert describe_provenance(act, evidence, "x") == f"{words}, 3 shown"


def test_own_words_are_quoted() -> None:
    own = replace(RANKED, query="cold", own_words=True)
    assert describe_provenance(Accept(node="n1", premise=A), own, "x").endswith("3 shown, searched “cold”")
