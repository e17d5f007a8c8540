"""What a key does that was pressed before the screen had caught up."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace

import pytest

from entail.data.records import Corpus
from entail.errors import EncoderError
from entail.index.lexical import TfidfIndex
from entail.index.protocol import PremiseIndex
from entail.trees.log.acts import Create, Edit, Finish, Write
from entail.trees.store import database as database_module
from entail.ui.components.keyboard import KeyPress
from entail.ui.frame.author import Visitor
from entail.ui.shared.resources import Workspace
from entail.ui.shared.tasks import Task
from entail.ui.trees.authoring import TreeContext, handle_key, load_session, stamp
from entail.ui.trees.screen import Screen


@pytest.fixture
def context(shared: Workspace) -> TreeContext:
    """Return Ada's context at a tree over twelve facts: two pages of candidates."""
    corpus = Corpus.of("twelve", [f"ice is cold as number {word}" for word in "abcdefghijkl"])
    info = shared.corpora.add_corpus(corpus, author="Ada")
    tree = shared.log.create(Create(hypothesis="ice is cold"), author="Ada", corpus_id=info.id)
    building = Task(value=TfidfIndex(corpus))
    return TreeContext(shared, shared.log.summary(tree), corpus, 1, building, Screen(tree), Visitor("Ada"))


def press(context: TreeContext, key: str, drawn: str) -> None:
    """Press a key while what `drawn` stamps is on the screen."""
    handle_key(context, KeyPress(key, 1, drawn))


def test_a_search_that_fails_is_told_and_the_tree_goes_on(
    context: TreeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise EncoderError("the weights are broken")

    with monkeypatch.context() as broken:
        broken.setattr(TfidfIndex, "search", fail)
        session = load_session(context)
        assert (session.shown, session.evidence) == ((), None)
        assert context.screen.notice == ("error", "the weights are broken")
        assert session.act(Write(node="n1", text="written meanwhile"))
    assert load_session(context).shown


def test_an_index_that_is_made_while_the_page_is_drawn_waits_for_the_next_run(context: TreeContext) -> None:
    building: Task[PremiseIndex] = Task()
    begun = replace(context, building=building)
    assert not load_session(begun).shown
    building.value = context.building.value
    # Were it there now, the page would draw a list of nothing, and nobody would draw it again.
    assert begun.index is None
    assert replace(begun).index is not None


def test_finish_rejects_what_was_on_the_screen(context: TreeContext) -> None:
    press(context, "f", stamp(load_session(context)))
    act = context.shared.log.history(context.summary.id).events[-1].act
    assert isinstance(act, Finish)
    assert len(act.premises) == 10


@pytest.mark.parametrize("key", ["f", "1", "shift+1"])
def test_a_key_about_a_list_not_yet_drawn_does_nothing_and_says_so(context: TreeContext, key: str) -> None:
    drawn = stamp(load_session(context))
    press(context, "n", drawn)  # the second page is asked for, but not on the screen yet
    press(context, key, drawn)
    assert len(context.shared.log.history(context.summary.id).events) == 1
    assert context.screen.notice is not None
    assert context.screen.notice[0] == "stale"
    press(context, "f", stamp(load_session(context)))
    act = context.shared.log.history(context.summary.id).events[-1].act
    assert isinstance(act, Finish)
    assert len(act.premises) == 12


@pytest.mark.parametrize(
    ("why", "indexed", "judged"),
    [("no candidates are shown", False, False), ("judged or in the tree. Key n", True, True)],
)
def test_finish_with_nothing_open_is_refused_with_the_reason(
    context: TreeContext, why: str, indexed: bool, judged: bool
) -> None:
    context = context if indexed else replace(context, building=Task())
    if judged:
        press(context, "1", stamp(load_session(context)))
        press(context, "f", stamp(load_session(context)))
    before = context.shared.log.history(context.summary.id)
    press(context, "f", stamp(load_session(context)))
    after = context.shared.log.history(context.summary.id)
    assert after.events == before.events
    assert ("n1" in after.tree.finished) is judged
    assert context.screen.notice is not None
    assert context.screen.notice[0] == "stale"
    assert why in context.screen.notice[1]


@pytest.fixture
def locked(context: TreeContext, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Let another process hold the lock on the database; acts give up at once."""
    monkeypatch.setattr(database_module, "ACT_WAIT", 0.02)
    assert context.shared.database.file is not None
    other = sqlite3.connect(context.shared.database.file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


def kinds(context: TreeContext) -> list[str]:
    return [event.act.kind for event in context.shared.log.history(context.summary.id).events]


def test_acts_that_find_the_database_locked_are_kept_and_can_be_tried_again(
    context: TreeContext, locked: sqlite3.Connection
) -> None:
    drawn = stamp(load_session(context))
    for key in ("1", "shift+3", "1"):
        press(context, key, drawn)
    screen = context.screen
    assert screen.notice is not None
    assert screen.notice[0] == "locked"
    assert [kept.description for kept in screen.pending] == [
        "accepted “ice is cold as number a” for “ice is cold”",
        "rejected “ice is cold as number c” for “ice is cold”",
    ]
    load_session(context).retry_pending()
    assert (kinds(context), len(screen.pending)) == (["create"], 2)
    locked.execute("ROLLBACK")
    load_session(context).retry_pending()
    assert kinds(context) == ["create", "accept", "reject"]
    assert (screen.pending, screen.notice) == ((), None)
    assert len(context.shared.log.evidence(context.summary.id)[3].shown) == 10


def test_pressing_again_once_the_lock_is_gone_does_it_once(
    context: TreeContext, locked: sqlite3.Connection
) -> None:
    drawn = stamp(load_session(context))
    press(context, "1", drawn)
    locked.execute("ROLLBACK")
    press(context, "2", drawn)
    assert [kept.description[:8] for kept in context.screen.pending] == ["accepted"], (
        "the first is still pending"
    )
    press(context, "1", drawn)
    assert kinds(context) == ["create", "accept", "accept"]
    assert (context.screen.pending, context.screen.notice) == ((), None)


def test_undo_takes_back_what_was_not_saved_yet(context: TreeContext, locked: sqlite3.Connection) -> None:
    drawn = stamp(load_session(context))
    press(context, "1", drawn)
    press(context, "u", drawn)
    assert context.screen.pending == ()
    assert context.screen.notice is not None
    assert "Undone before it was saved: accepted" in context.screen.notice[1]
    locked.execute("ROLLBACK")
    press(context, "1", drawn)
    locked.execute("BEGIN IMMEDIATE")
    for _ in range(2):
        press(context, "u", drawn)
    assert [kept.act for kept in context.screen.pending] == ["undo"], "an undo pressed twice is one undo"
    locked.execute("ROLLBACK")
    press(context, "u", drawn)
    assert kinds(context) == ["create", "accept", "undo"]


def test_a_kept_act_on_what_a_colleague_changed_is_a_conflict(
    context: TreeContext, locked: sqlite3.Connection
) -> None:
    press(context, "1", stamp(load_session(context)))
    locked.execute("ROLLBACK")
    context.shared.log.act(context.summary.id, Edit(node="n1", text="ice is warm"), author="Bo", base=1)
    load_session(context).retry_pending()
    assert context.screen.notice is not None
    assert context.screen.notice[0] == "conflict"
    assert "Bo" in context.screen.notice[1]
    assert (context.screen.pending, kinds(context)) == ((), ["create", "edit"])
