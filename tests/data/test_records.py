"""Records, keys of texts, and judgements."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.entailment_bank.trees import parse_proof
from entail.data.judgements import JudgedPair, Judgements
from entail.data.premises import Premises
from entail.data.records import Corpus, ExplanationTree, Premise, gold_children
from entail.data.text import corpus_hash, fold, is_blank, premise_key, without_surrogates
from entail.errors import CorpusError


def tree(proof: str, hypothesis: str = "h", **sentences: str) -> ExplanationTree:
    steps, intermediates = parse_proof(proof)
    return ExplanationTree(
        id="x", hypothesis=hypothesis, sentences=sentences, intermediates=intermediates, steps=steps
    )


def test_a_corpus_drops_repeats_by_folded_and_composed_text() -> None:
    corpus = Corpus.of("c", ["ice , cold", Premise("fire", "7"), "ice, cold", "fire"])
    assert corpus.premises == (Premise("ice , cold"), Premise("fire", "7"))
    assert len(corpus) == 2
    assert corpus.position("ice,  cold") == corpus.position("ice , cold") == 0
    assert corpus.position("snow") is None
    for stored in (COMPOSED, DECOMPOSED):
        corpus = Corpus.of("c", ["ice", stored, DECOMPOSED, COMPOSED])
        assert corpus.texts == ("ice", stored)
        assert [corpus.position(text) for text in (COMPOSED, DECOMPOSED)] == [1, 1]
    with pytest.raises(CorpusError):
        Corpus("c", (Premise("ice"), Premise(" ice ")))
    with pytest.raises(CorpusError):
        Corpus.of("c", ["ice", "a\ud800b"])


COMPOSED, DECOMPOSED = "caf\xe9s roast", "cafe\u0301s roast"


def test_the_hash_knows_members_and_order_but_no_white_space() -> None:
    assert Corpus.of("c", ["a", "b"]).hash == Corpus.of("d", ["a ", " b"]).hash
    hashes = {Corpus.of("c", texts).hash for texts in (["a", "b"], ["b", "a"], ["a"], ["a", "c"], [])}
    assert len(hashes) == 5


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.text(" ,.'ab\t\n")))
def test_columns_hold_what_went_in(texts: list[str]) -> None:
    premises = Premises.of(texts)
    assert premises.texts == tuple(texts)
    assert premises.keys == tuple(map(premise_key, texts))
    assert premises.numbers.tolist() == [int(key, 16) for key in premises.keys]
    corpus = Corpus.of("c", texts)
    assert corpus.hash == corpus_hash(list(corpus.keys))
    assert dict(corpus.positions) == {key: at for at, key in enumerate(corpus.keys)}
    assert (corpus.numbers.dtype, corpus.numbers.flags.writeable) == (np.uint64, False)


ROWS = (Premise("ice", "1", (("by", "Ann"), ("ä", "ü"))), Premise("fire"), Premise("sun", ""), Premise("sea"))


def test_columns_are_read_as_a_tuple_is() -> None:
    corpus = Corpus("c", ROWS)
    assert (corpus.premises, hash(corpus.premises)) == (ROWS, hash(ROWS))
    for part in (slice(None), slice(1, 3), slice(3, 1), slice(None, None, -2), slice(-2, 9)):
        assert (corpus.premises[part], corpus.texts[part]) == (ROWS[part], tuple(p.text for p in ROWS[part]))
    assert (corpus.texts[-1], "fire" in corpus.texts, corpus.texts.index("sun")) == ("sea", True, 2)
    with pytest.raises(IndexError):
        corpus.texts[4]
    for key in ("0" * 16, "x", "", f" {corpus.keys[0]}", None):
        assert key not in corpus.positions
    assert replace(corpus, name="d").premises is corpus.premises


def test_a_changed_corpus_shares_the_texts_that_stay() -> None:
    premises = Premises.of(ROWS)
    for retired in ([], [0], [3], [1, 2], [0, 1, 2, 3]):
        changed = premises.changed(Premises.of(["new"]), np.array(retired, dtype=np.int64))
        expected = Premises.of([*(p for at, p in enumerate(ROWS) if at not in retired), Premise("new")])
        assert (changed, changed.keys) == (tuple(expected), tuple(expected.keys))
    long = Premises.of(map(str, range(1000)))
    halved = long.changed(Premises.of([]), np.arange(0, 1000, 2))
    assert (halved.texts, halved.keys) == (long.texts[1::2], long.keys[1::2])
    grown = premises.changed(Premises.of(["new"]), np.array([1], dtype=np.int64))
    first, own = (part.table.column(0).chunk(0).buffers()[2] for part in (grown, premises))
    assert first.address == own.address
    for number in range(200):
        grown = grown.changed(Premises.of([f"new {number}"]), np.array([0], dtype=np.int64))
    assert grown.texts == tuple(f"new {number}" for number in range(196, 200)), "its chunks are joined"


def test_texts_leaves_and_children_of_a_tree() -> None:
    t = tree(
        "sent2 & sent1 -> int1: melts; int1 & sent2 -> hypothesis", sent1="ice", sent2="sun", sent3="cat"
    )
    assert [t.text(name) for name in ("sent1", "int1", "hypothesis")] == ["ice", "melts", "h"]
    assert t.leaves == ("sent2", "sent1")
    assert t.children("hypothesis") == ("int1", "sent2")
    assert t.children("sent1") == ()
    assert t.pairs == (("melts", "sun"), ("melts", "ice"), ("h", "melts"), ("h", "sun"))
    with pytest.raises(KeyError):
        t.text("sent9")


def test_equal_parents_are_one_query_with_the_union_of_children() -> None:
    trees = [
        tree("sent1 & sent2 -> hypothesis", "ice melts", sent1="a", sent2="b ."),
        tree("sent1 & sent2 -> hypothesis", "ice  melts", sent1="b.", sent2="c"),
    ]
    assert gold_children(trees) == {"ice melts": {"a": None, "b.": None, "c": None}}


@pytest.mark.parametrize(
    ("raw", "folded"),
    [
        ("the earth 's axis", "the earth's axis"),
        ("a , b ; c : d .", "a, b; c: d."),
        ("  a \t b\n", "a b"),
        ("a\u00a0 b", "a b"),
        ("a ( b ) ?", "a ( b ) ?"),
        ("Ice is COLD", "Ice is COLD"),
        ("a . . b", "a.. b"),
        ("", ""),
    ],
)
def test_the_two_rules(raw: str, folded: str) -> None:
    assert fold(raw) == folded


@given(st.text() | st.text(st.sampled_from(" ,.;:'a\n")))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("\ud800", "\ufffd"),
        ("a\udc00\ud800", "a\ufffd\ufffd"),
        ("\ud83d\ude00 b", "\U0001f600 b"),
        ("\ufeffa\ud800", "\ufeffa\ufffd"),
        ("\U0001f600 ä", "\U0001f600 ä"),
    ],
)
def test_no_text_is_left_with_half_a_character(text: str, whole: str) -> None:
    assert without_surrogates(text) == whole


def test_blank_texts_have_no_visible_character() -> None:
    assert all(map(is_blank, ["", " \n", "\u200b\u200b", "\0", "\u2060\u200d\ufe0f", "\u3164", "\U000e0041"]))
    assert not any(map(is_blank, ["a", "\u200b.", "\u0301", "\ufffd", "\U0001f600", "\ue000", "\u0661"]))


TEXTS = st.sampled_from(["a", "b", "c", " a ", "a  b", "a b"])
PAIRS = st.lists(st.builds(JudgedPair, TEXTS, TEXTS, st.booleans()), max_size=12)


def test_trees_say_no_to_all_that_is_not_a_child_of_a_query_they_know() -> None:
    judgements = Judgements.of_trees(
        [
            tree("sent1 -> hypothesis", "q", sent1="a"),
            tree("sent1 -> hypothesis", "q", sent1="b"),
            tree("", "bare"),
        ]
    )
    assert [judgements.explains("q", text) for text in ("a", "b", "c", "q")] == [True, True, False, False]
    assert judgements.explains("another", "a") is None
    assert judgements.roots == ("q",)
    assert judgements.queries == ("q",)


@given(PAIRS)
def test_a_pair_is_accepted_rejected_or_neither_and_never_two_of_them(pairs: list[JudgedPair]) -> None:
    judgements = Judgements.of_pairs(pairs)
    for pair in pairs:
        key = fold(pair.query), fold(pair.premise)
        both = len({p.accepted for p in pairs if (fold(p.query), fold(p.premise)) == key}) == 2
        assert judgements.explains(pair.query, pair.premise) is (None if both else pair.accepted)
    again = Judgements.of_pairs(judgements.pairs())
    assert (again.accepted, again.rejected) == (judgements.accepted, judgements.rejected)
    assert again.contradictions == ()
