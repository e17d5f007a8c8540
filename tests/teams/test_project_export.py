"""Export of a project, and its import as a new one."""

from __future__ import annotations

import pytest

from entail.errors import UnknownTreeError
from tests.teams.conftest import Team


def test_a_tree_has_the_review_of_its_last_move(team: Team) -> None:
    project = team.start("ice melts", overlap=2, members={"Rita": "reviewer"})
    ann, bob = team.next(project, "Ann"), team.next(project, "Bob")
    ann_id, bob_id = ann.tree_id or "", bob.tree_id or ""
    with pytest.raises(UnknownTreeError):
        team.log.viewed_by("Bob").review(ann_id)
    for piece in (ann, bob):
        team.work.move(piece.id, "submit", actor=piece.annotator or "")
    team.work.move(ann.id, "accept", actor="Rita")
    team.work.move(bob.id, "send back", actor="Rita", reason="why?")
    team.work.move(bob.id, "release", actor="Bob")
    assert team.next(project, "Cid").id == bob.id
    reviews = [team.log.review(tree_id) for tree_id in (ann_id, bob_id)]
    assert [(r.hypothesis, r.copy, r.annotator, r.state, r.by) for r in reviews if r] == [
        (1, 1, "Ann", "accepted", "Rita"),
        (1, 2, "Bob", "released", "Bob"),
    ]
