"""Corpora that grow: versions, corrections, and what cannot be a premise."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entail.data.records import Corpus, Premise
from entail.data.text import premise_key
from entail.errors import ActError, CorpusError
from entail.trees.store import corpora as corpora_module
from entail.trees.store.corpora import CorpusInfo, CorpusStore
from entail.trees.store.database import Database, open_database
from entail.trees.store.health import examine

ICE, FIRE, SNOW = Premise("ice is cold", "u1"), Premise("fire is hot", "u2"), Premise("snow is ice")


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


def test_texts_are_stored_raw(store: CorpusStore) -> None:
    raw = ["  two  spaces , a comma ", "<script>alert(1)</script>", "naïve — “quoted” 🌳", "tab\tand\nline"]
    info = store.add_corpus(Corpus.of("raw", raw), author="Ann")
    assert store.corpus(info.id).texts == tuple(raw)


def test_every_version_can_be_had_again(store: CorpusStore, facts: CorpusInfo) -> None:
    assert store.add(facts.id, ["water is wet", SNOW], author="Bob").version == 2
    assert store.correct(facts.id, ICE.key, "ice is very cold", author="Ann").version == 3
    assert store.retire(facts.id, [FIRE.key, SNOW.key], author="Cleo").version == 4
    assert [store.corpus(facts.id, version=version).texts for version in (1, 2, 3, 4)] == [
        ("ice is cold", "fire is hot"),
        ("ice is cold", "fire is hot", "water is wet", "snow is ice"),
        ("fire is hot", "water is wet", "snow is ice", "ice is very cold"),
        ("water is wet", "ice is very cold"),
    ]
    assert store.corpus(facts.id) == store.corpus(facts.id, version=4)
    assert store.corpus(facts.id).premises[1].source_id == "u1", "a corrected fact keeps its file's id"
    assert store.info(facts.id).count == 2
    assert store.info(facts.id).created_by == "Ann"


def test_changes_say_who_did_what(store: CorpusStore, facts: CorpusInfo) -> None:
    store.add(facts.id, [f"fact {i}" for i in range(8)], author="Bob")
    store.correct(facts.id, ICE.key, "ice is very cold", author="ANN")
    newest, middle, first = store.changes(facts.id)
    assert (newest.version, newest.change, newest.author) == (3, "correct", "Ann")
    assert (newest.added, newest.retired) == (1, 1)
    assert (newest.retired_texts, newest.added_texts) == (("ice is cold",), ("ice is very cold",))
    assert (middle.change, middle.added, middle.retired) == ("add", 8, 0)
    assert middle.added_texts == ("fact 0", "fact 1", "fact 2", "fact 3", "fact 4")
    assert (first.change, first.added, first.at) == ("create", 2, facts.created_at)
    assert first.at < middle.at < newest.at


def test_what_was_retired_can_come_back_at_the_end(store: CorpusStore, facts: CorpusInfo) -> None:
    store.retire(facts.id, [ICE.key], author="Ann")
    store.add(facts.id, [ICE], author="Ann")
    assert store.corpus(facts.id).texts == ("fire is hot", "ice is cold")
    store.retire(facts.id, [ICE.key], author="Ann")
    assert [len(store.corpus(facts.id, version=v)) for v in (1, 2, 3, 4)] == [2, 1, 2, 1]


def test_repeats_among_what_is_added_count_once(store: CorpusStore, facts: CorpusInfo) -> None:
    assert store.add(facts.id, ["a", " a", "b"], author="Ann").count == 4
    assert store.add(facts.id, "one text", author="Ann").count == 5


def test_known_ones_can_be_left_out(store: CorpusStore, facts: CorpusInfo) -> None:
    assert store.add(facts.id, [ICE, "new"], author="Ann", skip_known=True).count == 3
    assert store.corpus(facts.id).texts[-1] == "new"
    with pytest.raises(CorpusError, match="1 of 1 are in 'facts' already"):
        store.add(facts.id, [ICE], author="Ann", skip_known=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s, i: s.add(i, ["new", " ice is cold "], author="Ann"),
            "1 of 2 are in 'facts' already.*ice is cold",
        ),
        (lambda s, i: s.add(i, [], author="Ann"), "nothing to add"),
        (lambda s, i: s.add(i, ["new", " "], author="Ann"), "is empty"),
        (lambda s, i: s.add(i, ["a\0b"], author="Ann"), "NUL character: “a␀b”"),
        (lambda s, i: s.add(i, ["a\ud800b"], author="Ann"), "half a character"),
        (lambda s, i: s.add(i, [Premise("new", "u\0")], author="Ann"), "NUL"),
        (
            lambda s, i: s.add(i, ["x" * 10_000_000], author="Ann"),
            "at most 10,000 characters, found 10,000,000",
        ),
        (lambda s, i: s.correct(i, ICE.key, " ice  is cold", author="Ann"), "the same as before"),
        (
            lambda s, i: s.correct(i, ICE.key, "fire is hot", author="Ann"),
            "“fire is hot” is in 'facts' already",
        ),
        (lambda s, i: s.correct(i, ICE.key, "", author="Ann"), "is empty"),
        (lambda s, i: s.correct(i, "0" * 16, "new", author="Ann"), "no premise '0000000000000000'"),
        (lambda s, i: s.retire(i, ["0" * 16], author="Ann"), "no premise '0000000000000000'"),
        (lambda s, i: s.retire(i, [ICE.key, "x"], author="Ann"), "no premise 'x'"),
        (lambda s, i: s.retire(i, [], author="Ann"), "nothing to retire"),
        (lambda s, i: s.retire(i, [ICE.key, FIRE.key], author="Ann"), "left without a premise"),
        (lambda s, i: s.corpus(i, version=2), "versions 1 to 1, found 2"),
        (lambda s, i: s.corpus(i, version=0), "versions 1 to 1, found 0"),
    ],
)
def test_changes_that_make_no_sense_leave_nothing(
    store: CorpusStore, facts: CorpusInfo, change: Callable[..., Any], message: str
) -> None:
    with pytest.raises(CorpusError, match=message):
        change(store, facts.id)
    assert store.info(facts.id) == facts
    assert len(store.changes(facts.id)) == 1


def test_a_change_without_a_name_leaves_nothing(store: CorpusStore, facts: CorpusInfo) -> None:
    with pytest.raises(ActError, match="author's name"):
        store.add(facts.id, ["new"], author="")
    assert store.corpus(facts.id).texts == ("ice is cold", "fire is hot")


@pytest.mark.parametrize("corpus_id", ["00000000", "", "../x", "\ud800"])
def test_an_unknown_corpus(store: CorpusStore, corpus_id: str) -> None:
    for ask in (store.info, store.corpus, store.changes):
        with pytest.raises(CorpusError, match="no corpus"):
            ask(corpus_id)


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        (Corpus("empty", ()), "has no premise"),
        (Corpus.of("", ["a"]), "1 to 100 characters, found 0"),
        (Corpus.of("x" * 101, ["a"]), "1 to 100 characters, found 101"),
        (Corpus.of("../facts", ["a"]), "cannot hold /"),
        (Corpus.of("a\\b", ["a"]), "cannot hold /"),
        (Corpus.of(".hidden", ["a"]), "begin with a dot"),
        (Corpus.of("a\0b", ["a"]), "invisible"),
        (Corpus.of("a\u202eb", ["a"]), "invisible"),
        (Corpus.of("facts", ["a"]), "'facts' exists already; choose another name"),
        (Corpus.of(" FACTS ", ["a"]), "'FACTS' exists already"),
        (Corpus.of("new", ["a", "b\0"]), "NUL"),
        (Corpus.of("new", ["x" * 10_001]), "ENTAIL_MAX_PREMISE_CHARS"),
    ],
)
def test_corpora_that_cannot_be_used(
    store: CorpusStore, facts: CorpusInfo, corpus: Corpus, message: str
) -> None:
    with pytest.raises(CorpusError, match=message):
        store.add_corpus(corpus, author="Ann")
    assert store.corpora() == [facts]


def test_one_premise_is_enough(store: CorpusStore) -> None:
    assert store.add_corpus(Corpus.of("one", ["a"]), author="Ann").count == 1


def test_the_longest_premise_can_be_set(store: CorpusStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_MAX_PREMISE_CHARS", "20000")
    assert store.add_corpus(Corpus.of("long", ["x" * 20_000]), author="Ann").count == 1


def test_a_large_corpus(store: CorpusStore) -> None:
    corpus = Corpus.of("large", (f"fact {i}" for i in range(16_000)))
    info = store.add_corpus(corpus, author="Ann")
    assert store.corpus(info.id).hash == corpus.hash
    keys = corpus.keys[::2]
    assert store.retire(info.id, keys, author="Ann").count == 8_000
    assert store.corpus(info.id).keys == corpus.keys[1::2]


def test_a_corpus_is_read_once(
    store: CorpusStore, facts: CorpusInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = store.corpus(facts.id)
    assert store.corpus(facts.id) is first
    monkeypatch.setattr(corpora_module, "CACHED_CORPORA", 1)
    store.add(facts.id, ["new"], author="Ann")
    assert len(store.corpus(facts.id)) == 3
    assert store.corpus(facts.id, version=1) == first
    assert len(store._corpora) == 1


def test_two_who_add_at_once(store: CorpusStore, facts: CorpusInfo, database_url: str) -> None:
    start = threading.Barrier(3)

    def add(author: str) -> None:
        mine = open_database(database_url)
        start.wait()
        for i in range(5):
            CorpusStore(mine).add(facts.id, [f"{author} {i}"], author=author)
        mine.close()

    threads = [threading.Thread(target=add, args=(name,)) for name in ("Ann", "Bob", "Cleo")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.info(facts.id).version == 16
    assert len(store.corpus(facts.id)) == 17


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_changes_add_up(sqlite: Database, data: st.DataObject) -> None:
    """Model: the list of texts in force."""
    store = CorpusStore(sqlite)
    letters = st.sampled_from("abcdefgh")
    texts = [data.draw(letters)]
    name = f"corpus {len(store.corpora())}"
    info = store.add_corpus(Corpus.of(name, texts), author="Ann")
    versions = [list(texts)]
    for _ in range(data.draw(st.integers(0, 8))):
        match data.draw(st.sampled_from(["add", "correct", "retire"])):
            case "add":
                new = data.draw(st.lists(letters, min_size=1, unique=True))
                change = lambda: store.add(info.id, new, author="Ann")  # noqa: E731, B023 - called below
                after = None if set(new) & set(texts) else [*texts, *new]
            case "correct":
                old, new = data.draw(st.sampled_from(texts)), data.draw(letters)
                change = lambda: store.correct(info.id, premise_key(old), new, author="Ann")  # noqa: E731, B023 - called below
                after = None if new in texts else [*(t for t in texts if t != old), new]
            case _:
                gone = data.draw(st.lists(st.sampled_from(texts), min_size=1, unique=True))
                change = lambda: store.retire(info.id, map(premise_key, gone), author="Ann")  # noqa: E731, B023 - called below
                after = [t for t in texts if t not in gone] or None
        if after is None:
            with pytest.raises(CorpusError):
                change()
        else:
            assert change().count == len(after)
            texts = after
            versions.append(list(texts))
    for version, expected in enumerate(versions, 1):
        assert list(CorpusStore(sqlite).corpus(info.id, version=version).texts) == expected
    assert examine(sqlite).problems == ()
