"""Comments: threads, mentions, and who sees them."""

import pytest

from entail.errors import TeamError, UnknownTreeError
from entail.teams.comments import Anchor, Comments
from entail.teams.versions import Versions
from entail.trees.log.acts import Create
from tests.teams.conftest import Team, refused


@pytest.fixture
def comments(team: Team) -> Comments:
    return Comments(team.database)


@pytest.fixture
def tree_id(team: Team) -> str:
    return team.log.create(Create(hypothesis="ice melts"), author="Ann")


def test_threads_are_about_something_get_replies_and_are_resolved(comments: Comments, tree_id: str) -> None:
    anchor = Anchor("candidate", "n1", "0123456789abcdef")
    first = comments.add(tree_id, " why not? ", actor="Rita", anchor=anchor)
    comments.add(tree_id, "nice", actor="Rita")
    comments.add(tree_id, "since it is wet", actor="Ann", thread=first)
    on_candidate, on_tree = comments.threads(tree_id, actor="Bob")
    assert on_candidate.anchor == anchor
    assert [(c.author, c.text) for c in on_candidate.comments] == [
        ("Rita", "why not?"),
        ("Ann", "since it is wet"),
    ]
    assert (on_tree.anchor.about, len(on_tree.comments)) == ("tree", 1)
    comments.resolve(tree_id, first, actor="Ann")
    thread = comments.threads(tree_id, actor="Ann")[0]
    assert (thread.resolved_by, thread.resolved_at is not None) == ("Ann", True)
    comments.add(tree_id, "no", actor="Rita", thread=first)
    assert comments.threads(tree_id, actor="Ann")[0].resolved_by is None, "a reply opens it again"
    comments.resolve(tree_id, first, actor="Ann")
    comments.resolve(tree_id, first, actor="Ann", resolved=False)
    assert comments.threads(tree_id, actor="Ann")[0].resolved_by is None


def test_mentions_are_of_authors(team: Team, comments: Comments, tree_id: str) -> None:
    for name in ("Ann Lee", "Bob", "Cid"):
        team.log.create(Create(hypothesis="h"), author=name)
    number = comments.add(tree_id, "@ann lee and @BOB, see @nobody, me@cid.example", actor="Rita")
    (thread,) = comments.threads(tree_id, actor="Rita")
    assert thread.comments[0].mentions == ("Ann Lee", "Bob")
    assert [t.number for t in comments.mentioning("Ann Lee")] == [number]
    assert comments.mentioning("Ann") == []
    comments.resolve(tree_id, number, actor="Bob")
    assert comments.mentioning("Bob") == []


def test_an_unknown_thread_or_tree_and_a_text_of_no_usual_length_are_refused(
    comments: Comments, tree_id: str
) -> None:
    number = comments.add(tree_id, "why?", actor="Ann")
    reply = comments.add(tree_id, "so", actor="Ann", thread=number)
    for thread in (reply, 9):
        with pytest.raises(TeamError):
            comments.resolve(tree_id, thread, actor="Ann")
    for text in ("", " \n", "x" * 10_001):
        with pytest.raises(TeamError):
            comments.add(tree_id, text, actor="Ann")
    with pytest.raises(UnknownTreeError):
        comments.add("12345678", "why?", actor="Ann")


def test_readers_do_not_comment(team: Team, comments: Comments) -> None:
    rex, ann = team.sign_in("Rex"), team.sign_in("Ann")
    project = team.start("ice melts", members={"Rex": "reader", "Ann": "annotator"})
    tree_id = team.next(project, ann).tree_id or ""
    comments.add(tree_id, "mine", actor=ann)
    assert len(comments.threads(tree_id, actor=rex)) == 1
    with refused("role"):
        comments.add(tree_id, "hm", actor=rex)
    with pytest.raises(TeamError):
        Versions(team.database, team.log).name(tree_id, "mine", seq=1, actor=rex)
    for actor in (rex, ann):
        with pytest.raises(TeamError):
            team.work.review_queue(project.id, actor=actor)
