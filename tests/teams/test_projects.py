"""Projects: settings, hypotheses, members, guidelines."""

from pathlib import Path

import pytest

from entail.data.records import Corpus
from entail.errors import ActError, CorpusError, FormatError, TeamError
from entail.teams.comments import Comments
from entail.teams.projects import Plan, read_hypotheses
from entail.trees.installation.backup import backup, restore
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database
from tests.teams.conftest import Team, refused


def test_hypotheses_of_a_file_are_counted(team: Team) -> None:
    long = "x" * 10_001
    table = f"id,hypothesis\n1,ice melts\n2,\n3,ice  melts\n4,{long}\n5,bees fly\n6,{'y' * 10_000}\n"
    reading = read_hypotheses(table.encode(), name="claims.csv")
    assert [len(text) for text in reading.corpus.texts] == [9, 8, 10_000]
    assert (reading.empty, reading.repeats, reading.too_long, reading.read) == (1, 1, 1, 6)
    lines = b'{"question": "q", "text": "ice melts"}\n{"text": "bees fly"}\n'
    assert read_hypotheses(lines, name="claims.jsonl").corpus.texts == ("ice melts", "bees fly")
    assert read_hypotheses(b"ice melts\nbees fly", name="claims.txt").corpus.texts == (
        "ice melts",
        "bees fly",
    )
    bank = b'{"hypothesis": "ice melts", "context": "sent1: x", "proof": ""}\n'
    assert read_hypotheses(bank, name="task1.jsonl").corpus.texts == ("ice melts",)
    with pytest.raises(FormatError):
        read_hypotheses(table.encode(), name="claims.csv", column="claim")


def test_hypotheses_are_added_once_or_not_at_all(team: Team) -> None:
    project = team.start("ice melts")
    added = team.projects.add_hypotheses(
        project.id, ["bees fly", "ice  melts", "bees fly", "tea cools"], actor="Olga"
    )
    assert (added.numbers, added.repeats) == ((2, 3), 2)
    with pytest.raises(ActError):
        team.projects.add_hypotheses(project.id, ["new", " "], actor="Olga")
    pieces = team.work.pieces(project.id, actor="Olga")
    assert [(piece.hypothesis, piece.id.copy) for piece in pieces] == [
        ("ice melts", 1),
        ("bees fly", 1),
        ("tea cools", 1),
    ]


@pytest.mark.parametrize(("share", "pieces"), [(1.0, 30), (0.2, 14), (0.0, 10)])
def test_a_share_of_the_hypotheses_gets_the_overlap(team: Team, share: float, pieces: int) -> None:
    project = team.start(*(f"claim {n}" for n in range(5)), overlap=3, share=share)
    team.projects.add_hypotheses(project.id, (f"claim {n}" for n in range(5, 10)), actor="Olga")
    assert len(team.work.pieces(project.id, actor="Olga")) == pieces


def test_a_shuffled_project_hands_out_in_another_order(team: Team) -> None:
    texts = [f"claim {n}" for n in range(30)]
    project = team.start(*texts, shuffled=True)
    order = [team.next(project, "Ann").hypothesis for _ in texts]
    assert order != texts
    assert sorted(order) == sorted(texts)


def test_a_name_that_is_in_use_or_blank_and_a_plan_out_of_range_are_refused(team: Team) -> None:
    project = team.start()
    for name in ("BEES ", "", "\u200b"):
        with pytest.raises(TeamError):
            team.projects.create(name, author="Ann")
    for settings in ({"overlap": 0}, {"share": 1.5}, {"idle_hours": 0}, {"overlap": 21}):
        with pytest.raises(TeamError):
            Plan(**settings)
    assert team.projects.change(project.id, actor="Olga", name="bees").name == "bees"
    assert team.projects.project("bees", actor="Olga").id == project.id
    with refused("unknown"):
        team.projects.project("wasps", actor="Olga")


def test_a_project_stays_with_its_version_of_the_corpus(team: Team) -> None:
    store = CorpusStore(team.database)
    info = store.add_corpus(Corpus.of("facts", ["ice is cold"]), author="Olga")
    project = team.start("ice melts", corpus_id=info.id)
    store.add(info.id, ["ice is water"], author="Olga")
    assert team.projects.project(project.id, actor="Olga").corpus_version == 1
    assert team.projects.change(project.id, actor="Olga", corpus_version=2).corpus_version == 2
    with pytest.raises(CorpusError):
        team.projects.change(project.id, actor="Olga", corpus_version=3)
    tree_id = team.next(project, "Ann").tree_id
    assert team.log.summary(tree_id or "").corpus_id == info.id


def test_a_removed_member_gives_back_open_work(team: Team) -> None:
    project = team.start("ice melts", "bees fly", members={"Ann": "annotator", "Bob": "annotator"})
    done, begun = team.next(project, "Ann"), team.next(project, "Ann")
    team.work.move(done.id, "submit", actor="Ann")
    team.write(begun, "what Ann wrote")
    assert team.projects.remove_member(project.id, "Ann", actor="Olga") == 1
    with pytest.raises(TeamError):
        team.write(begun, "more")
    piece = team.next(project, "Bob")
    assert (piece.id, piece.tree_id != begun.tree_id) == (begun.id, True)
    assert len(team.log.history(begun.tree_id or "").tree.nodes) == 2, "what she wrote is kept"
    assert team.work.pieces(project.id, actor="Olga", states=["submitted"])[0].annotator == "Ann"


def test_a_project_keeps_an_owner(team: Team) -> None:
    project = team.start(members={"Ann": "owner"})
    team.projects.set_member(project.id, "Olga", "reader", actor="Olga")
    for change in (
        lambda: team.projects.remove_member(project.id, "Ann", actor="Ann"),
        lambda: team.projects.set_member(project.id, "Ann", "reader", actor="Ann"),
    ):
        with pytest.raises(TeamError):
            change()
    assert team.projects.members(project.id, actor="Ann") == {"Ann": "owner", "Olga": "reader"}


def test_an_archived_project_keeps_its_work(team: Team) -> None:
    project = team.start("ice melts", "bees fly")
    piece = team.next(project, "Ann")
    team.projects.archive(project.id, actor="Olga")
    assert team.projects.projects("Olga") == []
    assert team.log.trees() == []
    for attempt in (
        lambda: team.work.next_piece(project.id, actor="Bob"),
        lambda: team.write(piece),
        lambda: team.work.move(piece.id, "submit", actor="Ann"),
    ):
        with refused("archived"):
            attempt()
    team.projects.archive(project.id, actor="Olga", archived=False)
    team.write(piece)
    assert [tree.id for tree in team.log.trees()] == [piece.tree_id]
    assert team.next(project, "Bob").hypothesis == "bees fly"
    with pytest.raises(TeamError):
        team.log.archive(piece.tree_id or "", author="Ann")


def test_a_backup_holds_projects_and_keeps_copies_hidden(team: Team, tmp_path: Path) -> None:
    project = team.start("ice melts", overlap=2, members={"Rita": "reviewer"})
    piece = team.next(project, "Ann")
    Comments(team.database).add(piece.tree_id or "", "why?", actor="Rita")
    backup(tmp_path / "backup.zip", url=team.database.url)
    url = f"sqlite:///{tmp_path / 'restored.db'}"
    restore(tmp_path / "backup.zip", url=url)
    restored = Team(open_database(url))
    assert restored.projects.projects("Olga") == team.projects.projects("Olga")
    assert restored.work.pieces(project.id, actor="Olga") == team.work.pieces(project.id, actor="Olga")
    assert restored.work.moves(piece.id, actor="Ann") == team.work.moves(piece.id, actor="Ann")
    assert restored.log.trees() == []
    assert restored.log.viewed_by("Ann").summary(piece.tree_id or "").seq == 1
    assert restored.next(project, "Bob").id.copy == 2
