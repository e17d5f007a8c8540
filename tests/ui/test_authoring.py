"""What a key does that was pressed before the screen had caught up."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace

import pytest

from entail.data.records import Corpus
from entail.errors import EncoderError
from entail.index.lexical import TfidfIndex
from entail.index.protocol import PremiseIndex
from entail.trees import database as database_module
from entail.trees.acts import Create, Edit, Finish, Write
from entail.ui.author import Visitor
from entail.ui.authoring import Place, set_desk, stamp, take_press
from entail.ui.keyboard import KeyPress
from entail.ui.resources import Workspace
from entail.ui.screen import Screen
from entail.ui.works import Work


@pytest.fixture
def place(shared: Workspace) -> Place:
    """Return Ada's place at a tree over twelve facts: two pages of candidates."""
    corpus = Corpus.of("twelve", [f"ice is cold as number {word}" for word in "abcdefghijkl"])
    info = shared.corpora.add_corpus(corpus, author="Ada")
    tree = shared.log.create(Create(hypothesis="ice is cold"), author="Ada", corpus_id=info.id)
    building = Work(value=TfidfIndex(corpus))
    return Place(shared, shared.log.summary(tree), corpus, 1, building, Screen(tree), Visitor("Ada"))


def press(place: Place, key: str, drawn: str) -> None:
    """Press a key while what `drawn` stamps is on the screen."""
    take_press(place, KeyPress(key, 1, drawn))


def test_a_search_that_fails_is_told_and_the_tree_goes_on(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise EncoderError("the weights are broken")

    with monkeypatch.context() as broken:
        broken.setattr(TfidfIndex, "search", fail)
        desk = set_desk(place)
        assert (desk.shown, desk.evidence) == ((), None)
        assert place.screen.notice == ("error", "the weights are broken")
        assert desk.act(Write(node="n1", text="written meanwhile"))
    assert set_desk(place).shown


def test_an_index_that_is_made_while_the_page_is_drawn_waits_for_the_next_run(place: Place) -> None:
    building: Work[PremiseIndex] = Work()
    begun = replace(place, building=building)
    assert not set_desk(begun).shown
    building.value = place.building.value
    # Were it there now, the page would draw a list of nothing, and nobody would draw it again.
    assert begun.index is None
    assert replace(begun).index is not None


def test_finish_rejects_what_was_on_the_screen(place: Place) -> None:
    press(place, "f", stamp(set_desk(place)))
    act = place.shared.log.history(place.summary.id).events[-1].act
    assert isinstance(act, Finish)
    assert len(act.premises) == 10


@pytest.mark.parametrize("key", ["f", "1", "shift+1"])
def test_a_key_about_a_list_not_yet_drawn_does_nothing_and_says_so(place: Place, key: str) -> None:
    drawn = stamp(set_desk(place))
    press(place, "n", drawn)  # the second page is asked for, but not on the screen yet
    press(place, key, drawn)
    assert len(place.shared.log.history(place.summary.id).events) == 1
    assert place.screen.notice is not None
    assert place.screen.notice[0] == "stale"
    press(place, "f", stamp(set_desk(place)))
    act = place.shared.log.history(place.summary.id).events[-1].act
    assert isinstance(act, Finish)
    assert len(act.premises) == 12


@pytest.mark.parametrize(
    ("why", "indexed", "judged"),
    [("no candidates are shown", False, False), ("judged already, or in the tree; key n", True, True)],
)
def test_finish_with_nothing_open_is_refused_with_the_reason(
    place: Place, why: str, indexed: bool, judged: bool
) -> None:
    place = place if indexed else replace(place, building=Work())
    if judged:
        press(place, "1", stamp(set_desk(place)))
        press(place, "f", stamp(set_desk(place)))
    before = place.shared.log.history(place.summary.id)
    press(place, "f", stamp(set_desk(place)))
    after = place.shared.log.history(place.summary.id)
    assert after.events == before.events
    assert ("n1" in after.tree.finished) is judged
    assert place.screen.notice is not None
    assert place.screen.notice[0] == "stale"
    assert why in place.screen.notice[1]


@pytest.fixture
def locked(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Let another process hold the lock on the database; acts give up at once."""
    monkeypatch.setattr(database_module, "ACT_WAIT", 0.02)
    assert place.shared.database.file is not None
    other = sqlite3.connect(place.shared.database.file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


def kinds(place: Place) -> list[str]:
    return [event.act.kind for event in place.shared.log.history(place.summary.id).events]


def test_acts_that_find_the_database_locked_are_kept_and_can_be_tried_again(
    place: Place, locked: sqlite3.Connection
) -> None:
    drawn = stamp(set_desk(place))
    for key in ("1", "shift+3", "1"):
        press(place, key, drawn)
    screen = place.screen
    assert screen.notice is not None
    assert screen.notice[0] == "locked"
    assert [kept.words for kept in screen.kept] == [
        "accepting “ice is cold as number a” for “ice is cold”",
        "rejecting “ice is cold as number c” for “ice is cold”",
    ]
    set_desk(place).try_again()
    assert (kinds(place), len(screen.kept)) == (["create"], 2)
    locked.execute("ROLLBACK")
    set_desk(place).try_again()
    assert kinds(place) == ["create", "accept", "reject"]
    assert (screen.kept, screen.notice) == ((), None)
    assert len(place.shared.log.evidence(place.summary.id)[3].shown) == 10


def test_pressing_again_once_the_lock_is_gone_does_it_once(place: Place, locked: sqlite3.Connection) -> None:
    drawn = stamp(set_desk(place))
    press(place, "1", drawn)
    locked.execute("ROLLBACK")
    press(place, "2", drawn)
    assert [kept.words[:9] for kept in place.screen.kept] == ["accepting"], "the first still waits"
    press(place, "1", drawn)
    assert kinds(place) == ["create", "accept", "accept"]
    assert (place.screen.kept, place.screen.notice) == ((), None)


def test_undo_takes_back_what_was_not_saved_yet(place: Place, locked: sqlite3.Connection) -> None:
    drawn = stamp(set_desk(place))
    press(place, "1", drawn)
    press(place, "u", drawn)
    assert place.screen.kept == ()
    assert place.screen.notice is not None
    assert "Taken back before it was saved: accepting" in place.screen.notice[1]
    locked.execute("ROLLBACK")
    press(place, "1", drawn)
    locked.execute("BEGIN IMMEDIATE")
    for _ in range(2):
        press(place, "u", drawn)
    assert [kept.what for kept in place.screen.kept] == ["undo"], "an undo pressed twice is one undo"
    locked.execute("ROLLBACK")
    press(place, "u", drawn)
    assert kinds(place) == ["create", "accept", "undo"]


def test_a_kept_act_on_what_a_colleague_changed_is_a_conflict(
    place: Place, locked: sqlite3.Connection
) -> None:
    press(place, "1", stamp(set_desk(place)))
    locked.execute("ROLLBACK")
    place.shared.log.act(place.summary.id, Edit(node="n1", text="ice is warm"), author="Bo", base=1)
    set_desk(place).try_again()
    assert place.screen.notice is not None
    assert place.screen.notice[0] == "conflict"
    assert "Bo" in place.screen.notice[1]
    assert (place.screen.kept, kinds(place)) == ((), ["create", "edit"])
