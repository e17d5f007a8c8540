"""Corpora that grow: versions, corrections, and what cannot be a premise."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entail.data.records import Corpus, Premise
from entail.data.text import premise_key
from entail.errors import CorpusError
from entail.trees.installation.health import examine
from entail.trees.store.corpora import CorpusInfo, CorpusStore
from entail.trees.store.database import Database, open_database
from entail.trees.store.search import ALL, ID, TEXT
from tests.trees.conftest import FIRE, ICE, SNOW, at_once


@pytest.fixture
def store(database: Database) -> CorpusStore:
    return CorpusStore(database)


@pytest.fixture
def facts(store: CorpusStore) -> CorpusInfo:
    return store.add_corpus(Corpus.of("facts", [ICE, FIRE]), author="Ann", licence="CC0", source="a book")


def test_a_corpus_comes_back_as_it_came(store: CorpusStore, facts: CorpusInfo, database: Database) -> None:
    assert (facts.name, facts.version, facts.count) == ("facts", 1, 2)
    assert (facts.licence, facts.source, facts.created_by) == ("CC0", "a book", "Ann")
    assert facts.created_at.utcoffset() == timedelta(0)
    corpus = CorpusStore(database).corpus(facts.id)
    assert corpus == Corpus("facts", (ICE, FIRE))
    assert store.info(facts.id) == facts
    assert store.corpora() == [facts]
    for call in (store.info, store.corpus, store.changes):
        for unknown in ("00000000", "\ud800"):
            with pytest.raises(CorpusError):
                call(unknown)


def test_a_corrected_premise_keeps_id_and_columns_and_is_composed(store: CorpusStore) -> None:
    premises = (Premise("ice is cold", "7", (("source", "book"), ("page", "3"))), Premise("fire is hot"))
    info = store.add_corpus(Corpus("columns", premises), author="Ann")
    store.add(info.id, ["cafe\u0301s \u202eroast"], author="Ann")
    store.correct(info.id, premise_key("caf\xe9s roast"), "the cafe\u0301", author="Ann")
    store.correct(info.id, premises[0].key, "ice  is very cold", author="Ann")
    corrected = replace(premises[0], text="ice  is very cold")
    assert store.corpus(info.id).premises == (premises[1], Premise("the caf\xe9"), corrected)
    assert store.corpus(info.id, version=1).premises == premises


def test_an_archived_corpus_is_hidden_until_it_is_restored_or_changed(
    store: CorpusStore, facts: CorpusInfo
) -> None:
    archived = store.archive(facts.id, author="Bob")
    assert (archived.archived, archived.count) == (True, 2)
    assert store.archive(facts.id, author="Bob") == archived, "a second click changes nothing"
    assert (store.corpora(), store.corpora(archived=True)) == ([], [archived])
    assert store.find("facts") == archived == store.info(facts.id)
    assert store.corpus(facts.id).premises == (ICE, FIRE)
    restored = store.archive(facts.id, author="Ann", archived=False)
    assert store.corpora(archived=None) == store.corpora() == [restored]
    store.archive(facts.id, author="Bob")
    assert store.corpora() == [] != [store.add(facts.id, [SNOW], author="Ann")] == store.corpora()
    changes = [(change.change, change.author) for change in store.changes(facts.id)]
    assert changes[1:] == [("archive", "Bob"), ("restore", "Ann"), ("archive", "Bob"), ("create", "Ann")]


def test_every_version_can_be_had_again_and_says_who_made_it(store: CorpusStore, facts: CorpusInfo) -> None:
    store.add(facts.id, ["water is wet", SNOW, *(f"fact {i}" for i in range(4))], author="Bob")
    store.correct(facts.id, ICE.key, "ice is very cold", author="ANN")
    store.retire(facts.id, store.corpus(facts.id).keys[:2], author="Cleo")
    assert [len(store.corpus(facts.id, version=version)) for version in (1, 2, 3, 4)] == [2, 8, 8, 6]
    assert store.corpus(facts.id).premises[-1] == Premise("ice is very cold", "u1"), "with its file's id"
    assert (store.info(facts.id).count, store.info(facts.id).created_by) == (6, "Ann")
    last, corrected, added, first = store.changes(facts.id)
    assert [change.author for change in (last, corrected, added, first)] == ["Cleo", "Ann", "Bob", "Ann"]
    assert (corrected.first_retired, corrected.first_added) == ("ice is cold", "ice is very cold")
    assert (added.version, added.change, added.added, added.retired) == (2, "add", 6, 0)
    assert (added.first_added, added.first_retired) == ("water is wet", None)
    assert facts.created_at == first.at < added.at < corrected.at < last.at


@pytest.mark.parametrize(
    "change",
    [
        lambda s, i: s.add(i, [], author="Ann"),
        *(
            lambda s, i, text=text: s.add(i, ["new", text], author="Ann")
            for text in (" ", "a\0b", "a\ud800b", Premise("more", "u\0"), "x" * 10_001)
        ),
        lambda s, i: s.correct(i, ICE.key, " ice  is cold", author="Ann"),
        lambda s, i: s.correct(i, ICE.key, "", author="Ann"),
        lambda s, i: s.correct(i, "0" * 16, "new", author="Ann"),
        lambda s, i: s.retire(i, ["0" * 16], author="Ann"),
        lambda s, i: s.retire(i, [ICE.key, "x"], author="Ann"),
        lambda s, i: s.retire(i, [], author="Ann"),
        lambda s, i: s.corpus(i, version=2),
        lambda s, i: s.corpus(i, version=0),
    ],
)
def test_changes_that_make_no_sense_leave_nothing(sqlite: Database, change: Callable[..., Any]) -> None:
    store = CorpusStore(sqlite)
    facts = store.add_corpus(Corpus.of("facts", [ICE, FIRE]), author="Ann")
    with pytest.raises(CorpusError):
        change(store, facts.id)
    assert store.info(facts.id) == facts
    assert len(store.changes(facts.id)) == 1


@pytest.mark.parametrize("name", ["", "x" * 101, "../facts", "a\u202eb", "facts", " FACTS "])
def test_corpora_that_cannot_be_used(sqlite: Database, name: str) -> None:
    store = CorpusStore(sqlite)
    facts = store.add_corpus(Corpus.of("facts", [ICE]), author="Ann")
    for corpus in (Corpus.of(name, ["a"]), Corpus("new", ()), Corpus.of("new", ["a", "b\0"])):
        with pytest.raises(CorpusError):
            store.add_corpus(corpus, author="Ann")
    assert store.corpora() == [facts]


def test_another_process_changes_a_corpus(store: CorpusStore, facts: CorpusInfo, database_url: str) -> None:
    store.corpus(facts.id)
    theirs = CorpusStore(open_database(database_url))
    theirs.add(facts.id, [SNOW, Premise("sea", None, (("by", "Ann"),))], author="Bob")
    theirs.correct(facts.id, ICE.key, "ice is solid", author="Bob")
    theirs.retire(facts.id, [SNOW.key], author="Bob")
    assert store.corpus(facts.id).premises == theirs.corpus(facts.id).premises
    assert store.corpus(facts.id, version=2).premises[:3] == (ICE, FIRE, SNOW)


def find(store: CorpusStore, corpus_id: str, words: str, column: str = TEXT) -> list[str]:
    """Return the texts of a search, and check their count."""
    premises, count = store.find_premises(corpus_id, words, column=column, limit=10)
    assert count == len(premises)
    return [premise.text for premise in premises]


def test_premises_are_found_by_words(store: CorpusStore, facts: CorpusInfo) -> None:
    other = store.add_corpus(Corpus.of("other", ["ice is elsewhere"]), author="Ann")
    store.add(facts.id, ["Ärger 100% don't_stop", "snow is Ice", "Über-ice"], author="Bob")
    for words, texts in {
        "": ["ice is cold", "fire is hot", "Ärger 100% don't_stop", "snow is Ice", "Über-ice"],
        "is ic": ["ice is cold", "snow is Ice"],
        "ICE": ["ice is cold", "snow is Ice", "Über-ice"],
        "ärg": ["Ärger 100% don't_stop"],
        "über": ["Über-ice"],
        "don't stop": ["Ärger 100% don't_stop"],
        "%": ["Ärger 100% don't_stop"],
        '" OR *': [],
        "elsewhere": [],
    }.items():
        assert find(store, facts.id, words) == texts, words
    assert find(store, other.id, "ice") == ["ice is elsewhere"]
    store.correct(facts.id, ICE.key, "water is wet", author="Bob")
    store.retire(facts.id, [premise_key("Über-ice")], author="Bob")
    assert find(store, facts.id, "ice") == ["snow is Ice"]
    assert find(store, facts.id, "wet") == ["water is wet"]


def test_premises_are_found_in_columns_and_by_pages(store: CorpusStore) -> None:
    rows = [Premise(f"fact {n}", f"id-{n}", (("über", f"page {n}"),)) for n in range(30)]
    info = store.add_corpus(Corpus("rows", tuple(rows)), author="Ann")
    assert store.columns(info.id) == [ID, "über"]
    for column, words in ((ID, "id-25"), (ID, "D-25"), ("über", "age 25"), (ALL, "id-25"), (TEXT, "25")):
        assert find(store, info.id, words, column) == ["fact 25"]
    for column, words in ((ID, "page 7"), ("über", "id-7"), (TEXT, "page 7"), ("none", "7"), (ALL, "78")):
        assert find(store, info.id, words, column) == []
    assert find(store, info.id, "page 25 fact", ALL) == ["fact 25"]
    premises, count = store.find_premises(info.id, "fact", start=20, limit=5)
    assert (premises, count) == (rows[20:25], 30)
    assert store.find_premises(info.id, limit=2) == (rows[:2], 30)


def test_three_who_add_at_once(store: CorpusStore, facts: CorpusInfo, database_url: str) -> None:
    def add(author: str) -> None:
        mine = CorpusStore(open_database(database_url))
        for i in range(5):
            mine.add(facts.id, [f"{author} {i}"], author=author)

    at_once(add, ("Ann", "Bob", "Cleo"))
    assert (store.info(facts.id).version, len(store.corpus(facts.id))) == (16, 17)


def test_a_corpus_is_read_once_for_all_who_open_it_at_once(store: CorpusStore, database: Database) -> None:
    info = store.add_corpus(Corpus.of("large", (f"fact {number}" for number in range(3_000))), author="Ann")
    opened = at_once(CorpusStore(database).corpus, [info.id] * 8)
    assert all(corpus is opened[0] for corpus in opened)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_changes_add_up(sqlite: Database, data: st.DataObject) -> None:
    """Model: the list of texts in force."""
    store = CorpusStore(sqlite)
    letters = st.sampled_from("abcdefgh")
    texts = [data.draw(letters)]
    info = store.add_corpus(Corpus.of(f"corpus {len(store.corpora())}", texts), author="Ann")
    versions = [texts]
    for _ in range(data.draw(st.integers(0, 8))):
        new = data.draw(st.lists(letters, min_size=1, unique=True))
        gone = data.draw(st.lists(st.sampled_from(texts), min_size=1, unique=True))
        match data.draw(st.sampled_from(["add", "correct", "retire"])):
            case "add":
                change = partial(store.add, info.id, new)
                after = None if set(new) & set(texts) else [*texts, *new]
            case "correct":
                change = partial(store.correct, info.id, premise_key(gone[0]), new[0])
                after = None if new[0] in texts else [*(t for t in texts if t != gone[0]), new[0]]
            case _:
                change = partial(store.retire, info.id, list(map(premise_key, gone)))
                after = [t for t in texts if t not in gone] or None
        if after is None:
            with pytest.raises(CorpusError):
                change(author="Ann")
        else:
            assert change(author="Ann").count == len(after)
            if data.draw(st.booleans()):
                assert list(store.corpus(info.id).texts) == after, "brought forward from an earlier version"
            texts = after
            versions.append(texts)
    for version, expected in enumerate(versions, 1):
        fresh, cached = (of.corpus(info.id, version=version) for of in (CorpusStore(sqlite), store))
        assert list(fresh.texts) == expected
        assert (fresh, fresh.hash) == (cached, cached.hash)
    assert examine(sqlite).problems == ()
