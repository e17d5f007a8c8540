"""Keys and acts on the authoring screen: stale lists, a locked database, conflicts."""

import sqlite3
from dataclasses import replace

import pytest

from entail.data.records import Corpus
from entail.errors import EncoderError
from entail.index.lexical import TfidfIndex
from entail.trees.log.acts import Conclude, Edit, Finish, Remove, Write
from entail.trees.review.commands import Command
from entail.ui.shared.resources import Workspace
from entail.ui.trees.page import TreePage
from tests.ui.conftest import page_of, press, redrawn


@pytest.fixture
def context(shared: Workspace) -> TreePage:
    """Return Ada's context at a tree over twelve premises: two pages of candidates."""
    corpus = Corpus.of("twelve", [f"ice is cold as number {word}" for word in "abcdefghijkl"])
    return page_of(shared, corpus, "ice is cold")


def test_a_failed_search_leaves_the_tree(context: TreePage, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise EncoderError("the weights are broken")

    with monkeypatch.context() as broken:
        broken.setattr(TfidfIndex, "search", fail)
        session = redrawn(context)
        assert (session.shown, session.evidence) == ((), None)
        assert context.screen.notice == ("error", "the weights are broken")
        assert session.act(Write(node="n1", text="written meanwhile"))
    assert redrawn(context).shown


def kinds(context: TreePage) -> list[str]:
    return [event.act.kind for event in context.shared.log.history(context.summary.id).events]


def notice_kind(context: TreePage) -> str | None:
    return context.screen.notice[0] if context.screen.notice else None


def finished(context: TreePage) -> int:
    """Return the number of premises that the last act rejected."""
    act = context.shared.log.history(context.summary.id).events[-1].act
    assert isinstance(act, Finish)
    return len(act.premises)


def test_an_accepted_candidate_is_taken_back_while_nothing_is_below_it(context: TreePage) -> None:
    session = press(context, "1")
    (child,) = session.tree.root.children
    key = session.tree.node(child).key
    accepted = next(candidate for candidate in session.shown if candidate.premise.key == key)
    assert session.may_withdraw(accepted)
    session.run(Command("withdraw", accepted.premise.key))
    session = redrawn(context)
    assert (session.tree.root.children, dict(session.tree.judgements)) == ((), {})
    session = press(context, "1")
    (child,) = session.tree.root.children
    session.act(Write(node=child, text="ice is water"))
    session = redrawn(context)
    accepted = next(candidate for candidate in session.shown if candidate.is_child)
    assert not session.may_withdraw(accepted)
    session.run(Command("withdraw", accepted.premise.key))
    assert kinds(context) == ["create", "accept", "remove", "accept", "write"]


@pytest.mark.parametrize("key", ["f", "1", "shift+1"])
def test_a_key_about_a_list_not_yet_drawn_is_ignored(context: TreePage, key: str) -> None:
    list_stamp = context.with_candidates().stamp
    press(context, "n", list_stamp)  # the second page is requested, but not on the screen yet
    press(context, key, list_stamp)
    assert (kinds(context), notice_kind(context)) == (["create"], "stale")
    press(context, "f")
    assert finished(context) == 12


@pytest.mark.parametrize("change", ["sentence", "corpus"])
def test_finish_spares_a_page_that_came_with_a_colleagues_change(context: TreePage, change: str) -> None:
    press(context, "n")
    shared, tree = context.shared, context.summary
    if change == "sentence":
        shared.log.act(tree.id, Edit(node="n1", text="number l"), author="Bo", base=1)
    else:
        assert tree.corpus_id is not None
        info = shared.corpora.add(tree.corpus_id, ["ice is cold", "cold ice is cold"], author="Bo")
        corpus = shared.corpora.corpus(info.id)
        index = TfidfIndex(corpus)
        context = replace(context, corpus=corpus, corpus_version=info.version, index=index)
    session = redrawn(context)  # as Ada's page is drawn again
    press(context, "f")
    assert finished(context) == len(session.shown) == 10
    assert session.shown[0].rank == 1


@pytest.mark.parametrize("judged", [False, True])
def test_finish_with_nothing_open_is_refused(context: TreePage, judged: bool) -> None:
    if judged:
        press(context, "1")
        press(context, "f")
    else:
        context = replace(context, index=None)
    before = kinds(context)
    press(context, "f")
    assert (kinds(context), notice_kind(context)) == (before, "stale")
    assert ("n1" in context.shared.log.history(context.summary.id).tree.finished) is judged


def test_an_act_on_a_locked_database_is_refused_and_can_be_repeated(
    context: TreePage, writer: sqlite3.Connection
) -> None:
    stamp = context.with_candidates().stamp
    for keys, saved in (("1", ["create", "accept"]), ("u", ["create", "accept", "undo"])):
        writer.execute("BEGIN IMMEDIATE")
        press(context, keys, stamp)
        assert (kinds(context), notice_kind(context)) == (saved[:-1], "error")
        writer.execute("ROLLBACK")
        press(context, keys, stamp)
        assert (kinds(context), notice_kind(context)) == (saved, None)


CONCLUSION = Conclude(node="n2", premises=("n4",), text="mine")
WRITTEN = Write(node="n2", text="mine")


@pytest.mark.parametrize(
    ("keep_premises", "own", "restored"),
    [
        (True, Edit(node="n3", text="mine"), CONCLUSION),
        (True, Conclude(node="n3", premises=("n4",), text="mine"), CONCLUSION),
        (False, Conclude(node="n3", premises=("n4",), text="mine"), WRITTEN),
        (True, Write(node="n3", text="mine"), WRITTEN),
        (False, Edit(node="n4", text="mine"), WRITTEN),
    ],
)
def test_a_sentence_for_a_removed_node_waits_until_it_is_restored_where_it_was(
    context: TreePage, keep_premises: bool, own: Edit, restored: Write
) -> None:
    log, tree, screen = context.shared.log, context.summary.id, context.screen
    for seq, node in enumerate(("n1", "n2", "n3"), 1):
        log.act(tree, Write(node=node, text=f"below {node}"), author="Ada", base=seq)
    session = redrawn(context)
    log.act(tree, Remove(node="n3", keep_premises=keep_premises), author="Bo", base=4)
    assert not session.act(own)
    assert screen.recovery == restored
    press(context, "1")  # another act does not take it away, nor does one that fails
    assert not redrawn(context).act(Write(node="n1", text=""))
    assert screen.recovery == restored
    redrawn(context).recover()
    assert "mine" in {node.text for node in log.history(tree).tree.nodes.values() if node.parent == "n2"}
    assert (screen.recovery, screen.notice) == (None, None)


def test_undo_says_what_it_passed_over(context: TreePage) -> None:
    log, tree = context.shared.log, context.summary.id
    press(context, "1")
    press(context, "2")
    log.act(tree, Write(node="n3", text="below it"), author="Bo", base=3)
    redrawn(context)
    press(context, "u")
    assert (kinds(context)[-1], notice_kind(context)) == ("undo", "stale")
    assert set(log.history(tree).tree.nodes) == {"n1", "n3", "n4"}


@pytest.mark.parametrize("change", [Remove(node="n2"), Edit(node="n2", text="ice is warm")])
def test_a_sentence_that_waited_for_its_authors_name_is_not_lost(
    context: TreePage, change: Edit | Remove
) -> None:
    press(context, "1")
    context.visitor.name = None
    assert not redrawn(context).act(Write(node="n2", text="my words"))
    context.shared.log.act(context.summary.id, change, author="Bo", base=2)
    # The name is given: the page is drawn again before the act goes on.
    context.visitor.name = "Ada"
    screen = context.screen
    redrawn(context).resume()
    assert notice_kind(context) == "conflict"
    assert screen.recovery == Write(node="n1" if isinstance(change, Remove) else "n2", text="my words")
    assert redrawn(context).act(screen.recovery)
    assert screen.recovery is None


def test_a_sentence_that_cannot_be_saved_under_a_new_name_stays_on_the_page(context: TreePage) -> None:
    context.visitor.name = None
    twin = Write(node="n1", text="ice is cold")
    assert not redrawn(context).act(twin)
    context.visitor.name = "Ada"
    context.resume()
    assert (notice_kind(context), context.screen.recovery) == ("error", twin)
