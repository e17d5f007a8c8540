from __future__ import annotations

import pytest

from entail.data.entailment_bank.proof import parse_proof
from entail.data.records import Corpus, ExplanationTree, Premise, gold_children
from entail.errors import CorpusError


def tree(proof: str, hypothesis: str = "h", **sentences: str) -> ExplanationTree:
    steps, intermediates = parse_proof(proof)
    return ExplanationTree(
        id="x", hypothesis=hypothesis, sentences=sentences, intermediates=intermediates, steps=steps
    )


def test_a_corpus_drops_repeats_by_folded_text() -> None:
    corpus = Corpus.of("c", ["ice , cold", Premise("fire", "7"), "ice, cold", "fire"])
    assert corpus.premises == (Premise("ice , cold"), Premise("fire", "7"))
    assert len(corpus) == 2
    assert corpus.position("ice,  cold") == corpus.position("ice , cold") == 0
    assert corpus.position("snow") is None


def test_a_corpus_with_repeats_is_refused() -> None:
    with pytest.raises(CorpusError, match="2 premises but only 1 distinct"):
        Corpus("c", (Premise("ice"), Premise(" ice ")))


def test_the_hash_knows_members_and_order_but_no_white_space() -> None:
    assert Corpus.of("c", ["a", "b"]).hash == Corpus.of("d", ["a ", " b"]).hash
    hashes = {Corpus.of("c", texts).hash for texts in (["a", "b"], ["b", "a"], ["a"], ["a", "c"], [])}
    assert len(hashes) == 5


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
