"""Agreed trees: choices of reviewers, kept with their provenance."""

import pytest

from entail.errors import ConflictError, TeamError
from entail.teams.curation import Comparison, Curation
from entail.teams.moves import Piece
from entail.teams.permissions import PieceId
from entail.teams.shapes import Shape
from entail.trees.log.acts import Conclude, Edit, Write
from entail.trees.log.tree import ROOT
from tests.teams.conftest import Team, refused
from tests.trees.conftest import at_once


@pytest.fixture
def copies(team: Team) -> list[Piece]:
    """Ann has (a b) c x, Bob has (a b) c y; both are submitted."""
    project = team.start("ice melts", overlap=2, members={"Rita": "reviewer"})
    pieces = []
    for name, leaves, wording in (("Ann", "abcx", "so"), ("Bob", "abcy", "hence")):
        piece = team.next(project, name)
        team.judge(piece, dict.fromkeys(leaves, True))
        conclude = Conclude(node=ROOT, premises=("n2", "n3"), text=wording)
        team.log.act(piece.tree_id or "", conclude, author=name, base=len(leaves) + 1)
        pieces.append(piece)
    team.submit(*pieces)
    return pieces


@pytest.fixture
def curation(team: Team) -> Curation:
    return Curation(team.database, team.log)


def texts(team: Team, comparison: Comparison) -> set[str]:
    tree_id = str(comparison.piece.tree_id)
    return {node.text for node in team.log.history(tree_id).tree.nodes.values()}


def test_an_agreed_tree_begins_with_what_all_agree_on(
    team: Team, curation: Curation, copies: list[Piece]
) -> None:
    comparison = curation.begin(copies[0].id, actor="Rita")
    assert texts(team, comparison) == {"ice melts", "a", "b", "c", "so"}
    assert [(d.text, set(d.copies)) for d in comparison.open] == [("x", {0}), ("y", {1}), ("hence", {1})]
    assert curation.begin(copies[1].id, actor="Rita").piece.tree_id == comparison.piece.tree_id


def test_choices_say_whose_each_node_is(team: Team, curation: Curation, copies: list[Piece]) -> None:
    comparison = curation.begin(copies[0].id, actor="Rita")
    for text in ("y", "hence"):
        row = next(d for d in comparison.open if d.text == text)
        curation.take(comparison, row, actor="Rita")
        comparison = curation.compare(copies[0].id, actor="Rita")
    tree_id = comparison.piece.tree_id or ""
    team.log.act(tree_id, Write(node=ROOT, text="of Rita"), author="Rita", base=comparison.history.seq)
    nodes = team.log.history(tree_id).tree.nodes
    whose = {nodes[id].text: row for id, row in curation.provenance(copies[0].id, actor="Rita").items()}
    assert {text: row.authors for text, row in whose.items()} == {
        "ice melts": ("Ann", "Bob"),
        "a": ("Ann", "Bob"),
        "b": ("Ann", "Bob"),
        "c": ("Ann", "Bob"),
        "hence": ("Ann", "Bob"),
        "y": ("Bob",),
        "of Rita": ("Rita",),
    }
    assert whose["hence"].wording == ("Bob",)
    node = next(id for id, row in nodes.items() if row.text == "hence")
    team.log.act(tree_id, Edit(node=node, text="thus"), author="Rita", base=team.log.history(tree_id).seq)
    assert curation.provenance(copies[0].id, actor="Rita")[node].wording == ("Rita",)
    team.log.undo(tree_id, author="Rita")
    assert curation.provenance(copies[0].id, actor="Rita")[node].wording == ("Bob",)


def test_curating_again_keeps_earlier_choices(team: Team, curation: Curation, copies: list[Piece]) -> None:
    comparison = curation.begin(copies[0].id, actor="Rita")
    x, y = comparison.open[:2]
    curation.take(comparison, x, actor="Rita")
    comparison = curation.compare(copies[0].id, actor="Rita")
    curation.leave(comparison, y, actor="Rita")
    assert team.work.move(comparison.piece.id, "agree", actor="Rita").state == "accepted"
    with pytest.raises(TeamError):
        curation.take(comparison, comparison.open[-1], actor="Rita")
    team.work.move(copies[1].id, "send back", actor="Rita", reason="and z?")
    team.write(copies[1], "z")
    team.work.move(copies[1].id, "submit", actor="Bob")
    team.work.move(comparison.piece.id, "reopen", actor="Rita")
    again = curation.begin(copies[0].id, actor="Sue")
    assert "x" in texts(team, again)
    assert {d.text for d in again.open} == {"hence", "z"}
    assert [d.text for d in again.left] == ["y"]
    curation.leave(again, again.left[0], actor="Sue", leave=False)
    assert "y" in [d.text for d in curation.compare(copies[0].id, actor="Sue").open]


def test_a_whole_copy_is_taken(team: Team, curation: Curation, copies: list[Piece]) -> None:
    comparison = curation.begin(copies[0].id, actor="Rita")
    history = curation.take_whole(comparison, 1, actor="Rita")
    assert Shape.of_tree(history.tree) == Shape.of_tree(comparison.trees[1])
    again = curation.compare(copies[0].id, actor="Rita")
    assert curation.take_whole(again, 1, actor="Rita").seq == history.seq
    nodes = history.tree.nodes
    whose = {nodes[id].text: row for id, row in curation.provenance(copies[0].id, actor="Rita").items()}
    assert whose["y"].authors == ("Bob",)


def test_what_another_reviewer_changed_is_not_taken(
    team: Team, curation: Curation, copies: list[Piece]
) -> None:
    rita = curation.begin(copies[0].id, actor="Rita")
    sue = curation.begin(copies[0].id, actor="Sue")
    hence = sue.open[2]
    curation.take(rita, hence, actor="Rita")
    team.log.act(rita.piece.tree_id or "", Edit(node=hence.place, text="thus"), author="Rita", base=2)
    with pytest.raises(ConflictError):
        curation.take(sue, hence, actor="Sue")


def test_acts_of_a_choice_are_saved_all_or_none(team: Team, curation: Curation, copies: list[Piece]) -> None:
    comparison = curation.begin(copies[0].id, actor="Rita")
    tree_id, seq = comparison.piece.tree_id or "", comparison.history.seq
    acts = [Write(node=ROOT, text="new"), Write(node="n99", text="nowhere")]
    with pytest.raises(Exception, match="n99"):
        team.log.act_all(tree_id, acts, author="Rita", base=seq)
    assert team.log.history(tree_id).seq == seq


def test_who_curates_and_when(team: Team, curation: Curation) -> None:
    rita, ann = team.sign_in("Rita"), team.sign_in("Ann")
    project = team.start("ice melts", overlap=2, members={"Rita": "reviewer", "Ann": "annotator"})
    piece, other = team.next(project, ann), team.next(project, "Bob")
    with refused("state"):
        curation.begin(piece.id, actor=rita)
    team.submit(piece, other)
    with refused("role"):
        curation.begin(piece.id, actor=ann)
    tree_id = curation.begin(piece.id, actor=rita).piece.tree_id or ""
    with refused("role"):
        team.log.act(tree_id, Write(node=ROOT, text="x"), author=ann, base=1)
    assert team.work.next_piece(project.id, actor="Cid") is None, "an agreed tree is not handed out"
    single = team.projects.create("One copy", author="Olga")
    team.projects.add_hypotheses(single.id, ["tea cools"], actor="Olga")
    team.work.move(team.next(single, "Bob").id, "submit", actor="Bob")
    with pytest.raises(TeamError):
        curation.begin(PieceId(single.id, 1, 1), actor="Rita")


def test_two_reviewers_begin_and_take_at_once(team_of_both: Team) -> None:
    team = team_of_both
    curation = Curation(team.database, team.log)
    project = team.start("ice melts", overlap=2, members={"Rita": "reviewer", "Rob": "reviewer"})
    pieces = [team.next(project, name) for name in ("Ann", "Bob")]
    for piece in pieces:
        team.write(piece, f"said {piece.annotator}")
        team.work.move(piece.id, "submit", actor=piece.annotator or "")
    both = at_once(lambda name: curation.begin(pieces[0].id, actor=name), ["Rita", "Rob"])
    assert len({comparison.piece.tree_id for comparison in both}) == 1
    first, second = both
    curation.take(first, first.open[0], actor="Rita")
    with pytest.raises(ConflictError):
        curation.take_whole(second, 1, actor="Rob")
    curation.take(second, second.open[1], actor="Rob")
    assert texts(team, second) == {"ice melts", "said Ann", "said Bob"}
