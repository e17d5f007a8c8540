"""Decisions of a team as training data: votes that differ, and reviewed trees that are held out."""

import pytest

from entail.data.records import Corpus, Premise
from entail.trees.log.acts import Accept, Reject
from entail.trees.log.tree import ROOT
from entail.trees.review.decisions import read_decisions
from entail.trees.store.corpora import CorpusStore
from tests.teams.conftest import Team

FACTS = Corpus.of("facts", ["a", "b"])


@pytest.fixture
def team_of_three(team: Team, monkeypatch: pytest.MonkeyPatch) -> Team:
    """Ann and Ben accept a and reject b of four claims, Cid the other way round; Ann's are accepted."""
    monkeypatch.setenv("ENTAIL_DATABASE_URL", team.database.url)
    corpus = CorpusStore(team.database).add_corpus(FACTS, author="Olga")
    claims = [f"claim {n}" for n in range(4)]
    project = team.start(*claims, overlap=3, corpus_id=corpus.id, members={"Rita": "reviewer"})
    for name in ("Ann", "Ben", "Cid"):
        for _ in claims:
            piece = team.next(project, name)
            yes, no = map(Premise, "ba" if name == "Cid" else "ab")
            for base, act in enumerate((Accept(node=ROOT, premise=yes), Reject(node=ROOT, premise=no)), 1):
                team.log.act(piece.tree_id or "", act, author=name, base=base)
            team.work.move(piece.id, "submit", actor=name)
    for piece in team.work.pieces(project.id, actor="Rita"):
        if piece.annotator == "Ann":
            team.work.move(piece.id, "accept", actor="Rita")
    return team


@pytest.mark.usefixtures("team_of_three")
def test_votes_that_differ_are_left_out_or_decided() -> None:
    _, judgements, reviewed = read_decisions("facts")
    assert (judgements.accepted, len(judgements.contradictions), reviewed) == ({}, 8, {})
    for merging in ("majority", "weighted"):
        judgements = read_decisions("facts", merging)[1]
        assert {claim: list(own) for claim, own in judgements.accepted.items()} == {
            f"claim {n}": ["a"] for n in range(4)
        }
        assert all(judgements.explains(claim, "b") is False for claim in judgements.accepted)
    assert {len(own) for own in judgements.weights.values()} == {1}


@pytest.mark.usefixtures("team_of_three")
def test_reviewed_trees_are_held_out_with_all_copies_of_their_hypothesis() -> None:
    _, judgements, reviewed = read_decisions("facts", "majority", 2)
    assert reviewed == {"claim 1": {"a": None}, "claim 3": {"a": None}}
    assert {*judgements.queries} == {*judgements.roots} == {"claim 0", "claim 2"}
