import pytest

from entail.data.records import Corpus, Premise
from entail.trees.log.acts import Accept, Act, Conclude, Create, Edit, Finish, Reject, Remove, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.review.decisions import judgements_of
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database

WARM, MELTS, COLD, HOT = "spring is warm", "warm snow melts", "ice is cold", "fire is hot"


@pytest.fixture
def log(sqlite: Database) -> TreeLog:
    return TreeLog(sqlite)


def act(log: TreeLog, tree: str, *acts: Act) -> None:
    for one in acts:
        log.act(tree, one, author="Ann", base=log.history(tree).seq)


def test_what_stands_below_explains_and_what_was_rejected_does_not(log: TreeLog) -> None:
    tree = log.create(Create(hypothesis="snow melts in spring"), author="Ann")
    act(
        log,
        tree,
        Accept(node="n1", premise=Premise(WARM)),  # n2
        Accept(node="n1", premise=Premise(MELTS)),  # n3
        Reject(node="n1", premise=Premise(COLD)),
        Conclude(node="n1", premises=("n2", "n3"), text="snow melts then"),  # n5
        Write(node="n1", text="it lies there till then"),
        Finish(node="n1", premises=(Premise(COLD), Premise(HOT))),
    )
    judgements = judgements_of(log)
    root = "snow melts in spring"
    assert list(judgements.accepted[root]) == ["snow melts then", "it lies there till then"]
    assert set(judgements.accepted["snow melts then"]) == {WARM, MELTS}
    assert set(judgements.rejected[root]) == {COLD, HOT}
    assert judgements.explains(root, "never looked at") is None
    assert judgements.explains(root, WARM) is None  # it was hung lower down since
    assert judgements.roots == (root,)
    assert not judgements.closed


def test_what_was_taken_back_is_neither(log: TreeLog) -> None:
    tree = log.create(Create(hypothesis="snow melts"), author="Ann")
    act(log, tree, Accept(node="n1", premise=Premise(WARM)), Reject(node="n1", premise=Premise(COLD)))
    log.undo(tree, author="Ann")
    act(log, tree, Remove(node="n2"))
    assert judgements_of(log).queries == ()


def test_a_rejection_stays_with_the_words_it_was_made_on(log: TreeLog) -> None:
    tree = log.create(Create(hypothesis="snow melts"), author="Ann")
    act(log, tree, Reject(node="n1", premise=Premise(COLD)), Edit(node="n1", text="snow stays"))
    judgements = judgements_of(log)
    assert judgements.explains("snow melts", COLD) is False
    assert judgements.explains("snow stays", COLD) is None


def test_only_own_trees_on_this_corpus_count_archived_ones_too(sqlite: Database, log: TreeLog) -> None:
    store = CorpusStore(sqlite)
    ours = store.add_corpus(Corpus.of("ours", [WARM, COLD]), author="Ann")
    corpora = {"here": ours.id, "archived": ours.id, "example": ours.id, "elsewhere": None}
    made = {
        name: log.create(Create(hypothesis=name), author="Ann", corpus_id=corpus, example=name == "example")
        for name, corpus in corpora.items()
    }
    for tree in made.values():
        act(log, tree, Accept(node="n1", premise=Premise(WARM)))
    log.archive(made["archived"], author="Ann")
    assert set(judgements_of(log, corpus_id=ours.id).queries) == {"here", "archived"}
    assert set(judgements_of(log).queries) == {"here", "archived", "elsewhere"}
