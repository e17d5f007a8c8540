"""Decisions of a team, and the training data made from them."""

import pytest

from entail.data.records import Corpus
from entail.errors import TrainingError
from entail.trees.log.acts import Accept, Act, Conclude, Create, Evidence, Finish, Reject, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.review.decisions import (
    DecisionCounts,
    check_name,
    count_decisions,
    describe_missing,
    judgements_of,
    propose_name,
)
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database

FACTS = Corpus.of("facts", [f"fact {letter}" for letter in "abcdefgh"])
A, B, C, D, E = FACTS.premises[:5]


@pytest.fixture
def log(sqlite: Database) -> TreeLog:
    return TreeLog(sqlite)


@pytest.fixture
def corpus(sqlite: Database) -> str:
    """Return the id of a corpus of `FACTS`."""
    return CorpusStore(sqlite).add_corpus(FACTS, author="Ann").id


def grow(log: TreeLog, hypothesis: str, *acts: Act, corpus: str | None = None, example: bool = False) -> str:
    """Make a tree with acts of Ann's and return its id."""
    tree = log.create(Create(hypothesis=hypothesis), author="Ann", corpus_id=corpus, example=example)
    for base, act in enumerate(acts, 1):
        log.act(tree, act, author="Ann", base=base)
    return tree


def test_what_stands_below_explains_and_what_was_rejected_does_not(log: TreeLog) -> None:
    grow(
        log,
        "root",
        Accept(node="n1", premise=A),  # n2
        Accept(node="n1", premise=B),  # n3
        Reject(node="n1", premise=C),
        Conclude(node="n1", premises=("n2", "n3"), text="both"),  # n5
        Write(node="n1", text="my own"),
        Finish(node="n1", premises=(C, D)),
    )
    judgements = judgements_of(log)
    assert list(judgements.accepted["root"]) == ["both", "my own"]
    assert set(judgements.accepted["both"]) == {A.text, B.text}
    assert set(judgements.rejected["root"]) == {C.text, D.text}
    assert judgements.explains("root", E.text) is None
    assert judgements.explains("root", A.text) is None  # it was hung lower down since
    assert (judgements.roots, judgements.closed) == (("root",), False)


def test_rejected_hits_of_own_words_are_no_training_data(log: TreeLog) -> None:
    tree = grow(log, "root", Accept(node="n1", premise=A))
    for base, (premise, own_words) in enumerate(((B, True), (C, False)), 2):
        evidence = Evidence(
            retriever="minilm", revision="1", corpus_version=1, query="my words", own_words=own_words
        )
        log.act(tree, Reject(node="n1", premise=premise), author="Ann", base=base, evidence=evidence)
    assert set(judgements_of(log).rejected["root"]) == {C.text}


def test_only_own_trees_on_this_corpus_count_archived_ones_too(log: TreeLog, corpus: str) -> None:
    trees = {
        name: grow(log, name, Accept(node="n1", premise=A), corpus=of, example=name == "example")
        for name, of in {"here": corpus, "archived": corpus, "example": corpus, "elsewhere": None}.items()
    }
    log.archive(trees["archived"], author="Ann")
    assert set(judgements_of(log, corpus_id=corpus).queries) == {"here", "archived"}
    assert set(judgements_of(log).queries) == {"here", "archived", "elsewhere"}


def test_rejections_count_where_something_is_accepted(log: TreeLog, corpus: str) -> None:
    grow(
        log,
        "h",
        Accept(node="n1", premise=A),  # n2
        Reject(node="n1", premise=B),
        Finish(node="n1", premises=(C, D)),
        Reject(node="n2", premise=E),  # nothing explains it
        corpus=corpus,
    )
    assert count_decisions(log, corpus_id=corpus) == DecisionCounts(accepted=1, rejected=3, nodes=1)
    tree = grow(log, "i", Accept(node="n1", premise=A), Reject(node="n1", premise=B), corpus=corpus)
    assert count_decisions(log, corpus_id=corpus) == DecisionCounts(2, 4, 2)
    log.undo(tree, author="Ann")
    log.archive(tree, author="Ann")
    assert count_decisions(log, corpus_id=corpus) == DecisionCounts(2, 3, 2)


@pytest.mark.parametrize(
    ("counts", "needs"),
    [
        ((3, 7, 2), "7 more premises, some of them for 1 more sentence, "),
        ((10, 10, 1), "a premise for 2 more sentences "),
        ((10, 0, 3), ""),
    ],
)
def test_missing_decisions(counts: tuple[int, int, int], needs: str) -> None:
    assert describe_missing(DecisionCounts(*counts)).partition("before")[0].removeprefix("Accept ") == needs


@pytest.mark.parametrize(
    ("corpus", "taken", "name"),
    [
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


@pytest.mark.parametrize(
    "name",
    [
        *("", "../x", "a/b", "-x", "x y", "x.training", "x.", "é", "x" * 81, "x\n"),
        *("minilm", "MiniLM", "all-MiniLM-L6-v2", "bm25", "TEAM-sky-1"),
    ],
)
def test_names_that_are_no_folder_or_taken(name: str) -> None:
    with pytest.raises(TrainingError):
        check_name(name, ("team-sky-1",))
