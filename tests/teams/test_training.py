"""Decisions of a team as training data: votes that differ, and reviewed trees that are held out."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from entail.data.records import Corpus
from entail.data.stored import parse_as
from entail.errors import EntailError
from entail.jobs.jobs import Jobs
from entail.jobs.record import JobSpec
from entail.trees.review.decisions import count_decisions, read_decisions
from entail.trees.store.authors import is_signed_in
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
            team.judge(piece, {"a": name != "Cid", "b": name == "Cid"})
            team.submit(piece)
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


def test_only_who_may_export_a_project_trains_on_it(team_of_three: Team) -> None:
    team = team_of_three
    eve, rita = team.sign_in("Eve"), team.sign_in("Rita")
    (project,) = team.projects.projects("Olga")
    team.projects.set_member(project.id, rita, "reviewer", actor="Olga")
    facts = CorpusStore(team.database).find("facts").id
    for viewer, queries in ((eve, 0), (rita, 4), ("Eve", 4), (None, 4)):
        _, judgements, reviewed = read_decisions("facts", "majority", viewer=viewer)
        assert (len(judgements.queries), reviewed) == (queries, {})
        counts = count_decisions(team.log.viewed_by(viewer), corpus_id=facts)
        assert bool(counts.accepted) == bool(queries)
    source = {"from_log": "facts", "votes": "majority"}
    with pytest.raises(EntailError):
        Jobs().submit("aeenc", {}, source, name="mine", by=eve)
    spec = JobSpec("1", "aeenc", {}, source, "facts", "mine", eve, datetime.now(UTC), signed_in=True)
    stored = parse_as(JobSpec, json.dumps(spec.to_json()))
    assert is_signed_in(stored.viewer), "a worker reads what its author may"
    assert not is_signed_in(replace(stored, signed_in=False).viewer)
