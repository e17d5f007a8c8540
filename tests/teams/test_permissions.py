"""Who may do what: each role, in each state, to their own pieces and those of others, by every way in."""

from collections.abc import Callable
from itertools import product

import pytest
import sqlalchemy as sa

from entail.errors import TeamError, UnknownTreeError
from entail.teams.comments import Comments
from entail.teams.permissions import PieceId, allowed, allowed_pieces
from entail.teams.policy import ROLES, RULES, STATES, Action, Role
from entail.trees.log.acts import Create, Write
from entail.trees.log.tree import ROOT
from entail.trees.store import schema
from entail.trees.store.authors import Authors, Identity, SignedIn
from tests.teams.conftest import Team

WRITABLE = {"in progress", "sent back"}
COPIES: dict[str, tuple[str, set[str], bool]] = {  # action: roles by their first letters, states, own alone
    "take": ("ora", {"open"}, False),
    "assign": ("o", {"open", *WRITABLE}, False),
    "drop": ("o", {"open", "in progress"}, False),
    "release": ("ora", WRITABLE, True),
    "submit": ("ora", WRITABLE, True),
    "take back": ("ora", {"submitted"}, True),
    "edit": ("ora", WRITABLE, True),
    "comment": ("ora", set(STATES), False),
    "review": ("or", {"submitted"}, False),
    "accept": ("or", {"submitted", "in review"}, False),
    "send back": ("or", {"submitted", "in review", "accepted"}, False),
}
AGREED: dict[str, tuple[str, set[str], bool]] = {
    "curate": ("or", {"open", "in progress"}, False),
    "agree": ("or", {"in progress"}, False),
    "reopen": ("or", {"accepted"}, False),
    "comment": ("ora", set(STATES), False),
}
PROJECT = {"view": "orax", "annotate": "ora", "export": "or", "oversee": "or", "manage": "o"}
LETTERS: dict[Role, str] = {"owner": "o", "reviewer": "r", "annotator": "a", "reader": "x"}


@pytest.mark.parametrize("role", [*ROLES, None])
def test_the_table_of_permissions(team: Team, role: Role | None) -> None:
    ann = team.sign_in("Ann")
    team.sign_in("Bob")
    cases = list(product(STATES, ("Ann", "Bob")))
    project = team.start(
        *(f"claim {case}" for case in cases), members={} if role is None else {"ann@lab.example": role}
    )
    pieces = {}
    with team.database.writing() as connection:
        connection.execute(sa.delete(schema.pieces))
        for number, (state, annotator) in enumerate(cases, start=1):
            for copy in (0, 1):
                piece = PieceId(project.id, number, copy)
                row = {"state": state, "annotator": annotator, "at": project.created_at, "moves": 0}
                connection.execute(sa.insert(schema.pieces).values(**piece._asdict(), **row))
                pieces[piece] = (state, annotator)
    letter = "-" if role is None else LETTERS[role]
    for action, roles in PROJECT.items():
        assert allowed(team.database, ann, action, project.id).allowed == (letter in roles), action
    for action in RULES.keys() - PROJECT.keys():
        expected = set()
        for piece, (state, annotator) in pieces.items():
            roles, states, own = (COPIES if piece.copy else AGREED).get(action, ("", set(), False))
            if letter in roles and state in states and (not own or annotator == "Ann"):
                expected.add(piece)
            decision = allowed(team.database, ann, action, piece)
            assert (decision.allowed, bool(decision.message)) == (piece in expected, piece not in expected)
        assert set(allowed_pieces(team.database, ann, action, project.id)) == expected, action


@pytest.mark.parametrize("role", [*ROLES, None])
def test_the_library_does_what_the_table_allows(team: Team, role: Role | None) -> None:
    """Each act by a member of a role, on a piece of each state, of their own and of another annotator."""
    ann = team.sign_in("Ann")
    team.sign_in("Bob")
    acts: dict[str, Callable[[PieceId, str], object]] = {
        "take": lambda piece, _: team.work.take(piece, actor=ann),
        "assign": lambda piece, _: team.work.assign(piece, None, actor=ann),
        "edit": lambda _, tree: team.log.act(tree, Write(node=ROOT, text="x"), author=ann, base=1),
        "comment": lambda _, tree: Comments(team.database).add(tree, "why?", actor=ann),
    }
    moves: tuple[Action, ...] = (
        "release",
        "submit",
        "take back",
        "review",
        "accept",
        "send back",
        "agree",
        "reopen",
    )
    for move in moves:
        acts[move] = lambda piece, _, move=move: team.work.move(piece, move, actor=ann, reason="x")
    cases = [
        case
        for case in product(acts, STATES, ("Ann", "Bob"), (0, 1))
        if case[0] in (COPIES if case[3] else AGREED) and case[1:3] != ("open", "Ann")
    ]
    project = team.start(*map(str, cases), members={} if role is None else {"ann@lab.example": role})
    trees = team.log.create_all([Create(hypothesis=str(case)) for case in cases], author="Bob")
    with team.database.writing() as connection:
        connection.execute(sa.delete(schema.pieces))
        for number, ((_, state, annotator, copy), tree) in enumerate(zip(cases, trees, strict=True), start=1):
            piece = PieceId(project.id, number, copy)._asdict()
            holder = None if state == "open" else annotator
            row = {"state": state, "annotator": holder, "at": project.created_at, "moves": 0}
            connection.execute(sa.insert(schema.pieces).values(**piece, **row))
            connection.execute(sa.insert(schema.copies).values(**piece, tree_id=tree, annotator=annotator))
    letter = "-" if role is None else LETTERS[role]
    for number, ((action, state, annotator, copy), tree) in enumerate(
        zip(cases, trees, strict=True), start=1
    ):
        roles, states, own = (COPIES if copy else AGREED)[action]
        is_allowed = letter in roles and state in states and (not own or annotator == "Ann")
        try:
            acts[action](PieceId(project.id, number, copy), tree)
        except (TeamError, UnknownTreeError):
            assert not is_allowed, (action, state, annotator, copy)
        else:
            assert is_allowed, (action, state, annotator, copy)


@pytest.mark.parametrize("role", [*ROLES, None])
def test_every_way_in_asks_for_the_role(team: Team, role: Role | None) -> None:
    ann = team.sign_in("Ann")
    members: dict[str, Role] = {"Bob": "annotator"} | ({} if role is None else {"ann@lab.example": role})
    project = team.start("ice melts", "bees fly", "tea cools", members=members)
    submitted = team.next(project, "Bob")
    team.work.move(submitted.id, "submit", actor="Bob")
    free = PieceId(project.id, 3, 1)
    ways = {
        "view": lambda: team.projects.guidelines(project.id, actor=ann),
        "view members": lambda: team.projects.members(project.id, actor=ann),
        "view project": lambda: team.projects.project(project.id, actor=ann),
        "view pieces": lambda: team.work.pieces(project.id, actor=ann),
        "take": lambda: team.next(project, ann),
        "accept": lambda: team.work.move(submitted.id, "accept", actor=ann),
        "assign": lambda: team.work.assign(free, "Bob", actor=ann),
        "assign evenly": lambda: team.work.assign_evenly(project.id, actor=ann),
        "guidelines": lambda: team.projects.write_guidelines(project.id, "x", actor=ann),
        "hypotheses": lambda: team.projects.add_hypotheses(project.id, ["new"], actor=ann),
        "change": lambda: team.projects.change(project.id, actor=ann, name="x"),
        "add": lambda: team.projects.set_member(project.id, "Eve", "reader", actor=ann),
        "remove": lambda: team.projects.remove_member(project.id, "Bob", actor=ann),
        "archive": lambda: team.projects.archive(project.id, actor=ann),
    }
    may = {None: 0, "reader": 4, "annotator": 5, "reviewer": 6, "owner": 14}[role]
    for number, (name, way) in enumerate(ways.items()):
        if number < may:
            way()
        else:
            with pytest.raises(TeamError) as refusal:
                way()
            assert refusal.value.reason == "role", name


def test_a_tree_is_written_by_its_annotator_while_they_have_the_role(team: Team) -> None:
    ann, eve = team.sign_in("Ann"), team.sign_in("Eve")
    project = team.start("ice melts", members={"Ann": "annotator", "Eve": "owner"})
    piece = team.next(project, ann)
    team.write(piece, author=ann)
    with pytest.raises(TeamError) as refusal:
        team.write(piece, "more", author=eve)
    assert refusal.value.reason == "own"
    team.projects.set_member(project.id, "Ann", "reader", actor=eve)
    with pytest.raises(TeamError) as refusal:
        team.write(piece, "more", author=ann)
    assert refusal.value.reason == "role"


def test_roles_are_not_enforced_where_nobody_signs_in(team: Team) -> None:
    project = team.start("ice melts", "bees fly")
    team.next(project, "Ann")
    team.projects.set_member(project.id, "Bob", "annotator", actor="Eve")
    assert team.work.assign_evenly(project.id, actor="Eve") == 1
    assert [p.id for p in team.projects.projects("Eve")] == [project.id]
    assert team.projects.projects(SignedIn("")) == [], "a visitor where others sign in"


def test_nobody_is_a_member_by_calling_themselves_an_e_mail(team: Team) -> None:
    team.sign_in("Ann")
    project = team.start("ice melts", members={"ann@lab.example": "owner"})
    identity = Identity("https://id.example", "17", "ann@lab.example", "eve@lab.example")
    mallory = Authors(team.database).sign_in(identity)
    assert mallory == "ann@lab.example"
    assert not allowed(team.database, mallory, "view", project.id).allowed
    assert team.projects.projects(mallory) == []


def test_a_new_e_mail_counts_from_the_next_sign_in(team: Team) -> None:
    team.sign_in("Ann")
    project = team.start(members={"ann@new.example": "reader"})
    assert not allowed(team.database, SignedIn("Ann"), "view", project.id).allowed
    Authors(team.database).sign_in(Identity("https://id.example", "Ann", "Ann", "ann@new.example"))
    assert allowed(team.database, SignedIn("Ann"), "view", project.id).allowed


def test_an_unknown_resource_is_refused(team: Team) -> None:
    for resource, action in (("12345678", "view"), (PieceId("12345678", 1, 1), "submit")):
        assert allowed(team.database, "Ann", action, resource).reason == "unknown"
