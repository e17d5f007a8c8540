"""Whether a team decided enough, what a training would take in, and what it would be called."""

import pytest

from entail.data.records import Corpus
from entail.errors import TrainingError
from entail.trees.log.acts import Accept, Act, Create, Finish, Reject, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.review.decisions import (
    DecisionCounts,
    check_name,
    count_decisions,
    describe_missing,
    lesson_of,
    propose_name,
)
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database

FACTS = Corpus.of("facts", [f"fact {letter}" for letter in "abcdefgh"])
A, B, C, D, E = FACTS.premises[:5]


@pytest.fixture
def stores(sqlite: Database) -> tuple[TreeLog, str]:
    return TreeLog(sqlite), CorpusStore(sqlite).add_corpus(FACTS, author="Ann").id


def grow(stores: tuple[TreeLog, str], hypothesis: str, *acts: Act, example: bool = False) -> str:
    log, corpus = stores
    tree = log.create(Create(hypothesis=hypothesis), author="Ann", corpus_id=corpus, example=example)
    for act in acts:
        log.act(tree, act, author="Ann", base=log.history(tree).seq)
    return tree


def test_rejections_count_where_something_is_accepted(stores: tuple[TreeLog, str]) -> None:
    log, corpus = stores
    grow(
        stores,
        "h",
        Accept(node="n1", premise=A),  # n2
        Reject(node="n1", premise=B),
        Finish(node="n1", premises=(C, D)),
        Reject(node="n2", premise=E),  # nothing explains it
    )
    assert count_decisions(log, corpus_id=corpus) == DecisionCounts(accepted=1, rejected=3, nodes=1)


def test_counts_follow_each_act_and_undo(stores: tuple[TreeLog, str]) -> None:
    log, corpus = stores
    trees = [grow(stores, h, Accept(node="n1", premise=A), Reject(node="n1", premise=B)) for h in "hi"]
    assert count_decisions(log, corpus_id=corpus) == DecisionCounts(2, 2, 2)
    log.undo(trees[0], author="Ann")
    log.archive(trees[1], author="Ann")
    grow(stores, "an example", Accept(node="n1", premise=A), example=True)
    assert count_decisions(log, corpus_id=corpus) == DecisionCounts(2, 1, 2)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((3, 7, 2), "7 more accepted and 3 more rejected premises, below 1 more sentence."),
        ((10, 9, 3), "needs 1 more rejected premise."),
        ((10, 10, 1), "needs an accepted premise below 2 more sentences."),
        ((10, 10, 3), ""),
    ],
)
def test_missing_decisions_in_words(counts: tuple[int, int, int], words: str) -> None:
    described = describe_missing(DecisionCounts(*counts))
    assert described.endswith(words)
    assert bool(described) == bool(words)


def test_a_lesson_says_what_it_takes_in_and_leaves_out(stores: tuple[TreeLog, str]) -> None:
    log, corpus = stores
    grow(
        stores,
        "h",
        Accept(node="n1", premise=A),
        Accept(node="n1", premise=B),
        Write(node="n1", text="own words"),
        Reject(node="n1", premise=C),
        Reject(node="n1", premise=D),
    )
    grow(stores, "h", Reject(node="n1", premise=B))  # a colleague says otherwise
    grow(stores, "another", Reject(node="n1", premise=E))
    grow(stores, "untouched")
    grow(stores, "an example", Accept(node="n1", premise=A), example=True)
    lesson = lesson_of(log, FACTS, corpus_id=corpus)
    assert lesson.trees == 3
    assert lesson.pairs.counts == {"queries": 1, "positives": 2, "negatives": 2, "triplets": 4}
    assert lesson.counts == DecisionCounts(2, 2, 1)
    assert lesson.outside == ("own words",)
    assert lesson.left_out == {
        "accepted and also rejected for the same sentence": 1,
        "rejected for sentences of which nothing is accepted": 1,
    }
    assert set(lesson.rows()) == {
        ("h", "fact a", "explains it", True),
        ("h", "own words", "explains it", False),
        ("h", "fact c", "does not", True),
        ("h", "fact d", "does not", True),
        ("h", "fact b", "left out: judged both ways", True),
        ("another", "fact e", "left out: nothing is accepted for it", True),
    }


def test_nothing_accepted(stores: tuple[TreeLog, str]) -> None:
    log, corpus = stores
    grow(stores, "h", Reject(node="n1", premise=B))
    with pytest.raises(TrainingError, match="accept some candidates"):
        lesson_of(log, FACTS, corpus_id=corpus)


@pytest.mark.parametrize(
    ("corpus", "taken", "name"),
    [
        ("EntailmentBank sample", (), "team-entailmentbank-sample-1"),
        ("sky", ("team-sky-1", "Team-Sky-2"), "team-sky-3"),
        ("Größe & Maß", (), "team-groe-ma-1"),
        ("星", (), "team-corpus-1"),
        ("../../etc", (), "team-etc-1"),
        ("x" * 300, (), f"team-{'x' * 40}-1"),
    ],
)
def test_names(corpus: str, taken: tuple[str, ...], name: str) -> None:
    assert propose_name(corpus, taken) == name
    check_name(name, taken)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "-x", "x y", "x.training", "x.", "é", "x" * 81, "x\n"])
def test_names_that_are_no_folder(name: str) -> None:
    with pytest.raises(TrainingError, match="expected a name of letters"):
        check_name(name, ())


@pytest.mark.parametrize("name", ["minilm", "MiniLM", "bm25", "TEAM-sky-1"])
def test_a_name_stands_for_one_encoder(name: str) -> None:
    with pytest.raises(TrainingError, match="choose another name"):
        check_name(name, ("team-sky-1",))
