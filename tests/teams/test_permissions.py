"""Who may do what: each role, in each state, to their own pieces and those of others, by every way in."""

from collections.abc import Callable
from itertools import product

import pytest
import sqlalchemy as sa

from entail.errors import TeamError, UnknownTreeError
from entail.teams.comments import Comments
from entail.teams.permissions import PieceId, allowed, allowed_pieces
from entail.teams.policy import ROLES, RULES, STATES, Action, Role, State
from entail.trees.log.acts import Create, Write
from entail.trees.log.tree import ROOT
from entail.trees.store import schema
from entail.trees.store.authors import Authors, Identity, SignedIn
from tests.teams.conftest import Team, refused

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
def test_the_library_does_what_the_table_allows(team: Team, role: Role | None) -> None:
    """Each act by a member of a role, on a piece of each state, of their own and of another annotator."""
    ann, letter = team.sign_in("Ann"), "-" if role is None else LETTERS[role]
    team.sign_in("Bob")
    acts: dict[Action, Callable[[PieceId, str], object]] = {
        "take": lambda piece, _: team.work.take(piece, actor=ann),
        "assign": lambda piece, _: team.work.assign(piece, None, actor=ann),
        "edit": lambda _, tree: team.log.act(tree, Write(node=ROOT, text="x"), author=ann, base=1),
        "comment": lambda _, tree: Comments(team.database).add(tree, "why?", actor=ann),
    }
    for move in sorted({*COPIES, *AGREED} - {*acts, "drop", "curate"}):
        acts[move] = lambda piece, _, move=move: team.work.move(piece, move, actor=ann, reason="x")
    cases = [
        case
        for case in product(acts, STATES, ("Ann", "Bob"), (0, 1))
        if case[0] in (COPIES if case[3] else AGREED) and case[1:3] != ("open", "Ann")
    ]
    project = team.start(*map(str, cases), members={} if role is None else {"ann@lab.example": role})
    trees = team.log.create_all([Create(hypothesis=str(case)) for case in cases], author="Bob")
    pieces = [PieceId(project.id, number, case[3]) for number, case in enumerate(cases, start=1)]
    with team.database.writing() as connection:
        connection.execute(sa.delete(schema.pieces))
        for piece, (_, state, annotator, _), tree in zip(pieces, cases, trees, strict=True):
            own = {"state": state, "annotator": None if state == "open" else annotator, "moves": 0}
            row = {**piece._asdict(), **own, "at": project.created_at}
            connection.execute(sa.insert(schema.pieces).values(**row))
            row = {**piece._asdict(), "tree_id": tree, "annotator": annotator}
            connection.execute(sa.insert(schema.copies).values(**row))

    def is_allowed(action: Action, state: State, annotator: str, copy: int) -> bool:
        roles, states, own = (COPIES if copy else AGREED).get(action, ("", set(), False))
        return letter in roles and state in states and (not own or annotator == "Ann")

    for action, roles in PROJECT.items():
        assert allowed(team.database, ann, action, project.id).allowed == (letter in roles), action
    for action in RULES.keys() - PROJECT.keys():
        expected = {piece for piece, case in zip(pieces, cases, strict=True) if is_allowed(action, *case[1:])}
        assert set(allowed_pieces(team.database, ann, action, project.id)) == expected, action
    for piece, (action, *case), tree in zip(pieces, cases, trees, strict=True):
        decision = allowed(team.database, ann, action, piece)
        assert (decision.allowed, bool(decision.message)) == (is_allowed(action, *case), not decision.allowed)
        try:
            acts[action](piece, tree)
        except (TeamError, UnknownTreeError):
            assert not decision.allowed, (action, *case)
        else:
            assert decision.allowed, (action, *case)


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
    for number, way in enumerate(ways.values()):
        if number < may:
            way()
        else:
            with refused("role"):
                way()


def test_roles_are_not_enforced_where_nobody_signs_in(team: Team) -> None:
    project = team.start("ice melts", "bees fly")
    team.next(project, "Ann")
    team.projects.set_member(project.id, "Bob", "annotator", actor="Eve")
    assert team.work.assign_evenly(project.id, actor="Eve") == 1
    assert [p.id for p in team.projects.projects("Eve")] == [project.id]
    assert team.projects.projects(SignedIn("")) == [], "a visitor where others sign in"


def test_an_e_mail_is_that_of_the_last_sign_in_and_no_name(team: Team) -> None:
    team.sign_in("Ann")
    project = team.start("ice melts", members={"ann@lab.example": "owner", "ann@new.example": "reader"})
    identity = Identity("https://id.example", "17", "ann@lab.example", "eve@lab.example")
    mallory = Authors(team.database).sign_in(identity)
    assert mallory == "ann@lab.example"
    assert not allowed(team.database, mallory, "view", project.id).allowed
    assert team.projects.projects(mallory) == []
    assert allowed(team.database, SignedIn("Ann"), "manage", project.id).allowed
    Authors(team.database).sign_in(Identity("https://id.example", "Ann", "Ann", "ann@new.example"))
    assert not allowed(team.database, SignedIn("Ann"), "manage", project.id).allowed
    assert allowed(team.database, SignedIn("Ann"), "view", project.id).allowed
    for resource, action in (("12345678", "view"), (PieceId("12345678", 1, 1), "submit")):
        assert allowed(team.database, "Ann", action, resource).reason == "unknown"
