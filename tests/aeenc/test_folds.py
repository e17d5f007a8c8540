"""Halves of a team's decisions: which sentences stay together, and what each half is measured on."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.aeenc.source import TrainingData, decision_halves
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, gold_children
from entail.evaluation.retrieval.paired import FEW

FACTS = Corpus.of("facts", [f"fact {at}" for at in range(60)])


def data_of(*pairs: tuple[str, str, bool]) -> TrainingData:
    judgements = Judgements.of_pairs(JudgedPair(*pair) for pair in pairs)
    return TrainingData(FACTS, FACTS, (), judgements, ())


@pytest.fixture
def decided() -> TrainingData:
    """Ten trees of two sentences: a hypothesis over a conclusion and a fact, the conclusion over a fact."""
    pairs = []
    for at in range(10):
        pairs += [
            (f"root {at}", f"conclusion {at}", True),
            (f"root {at}", f"fact {at}", True),
            (f"conclusion {at}", f"fact {at + 10}", True),
            (f"root {at}", f"fact {at + 20}", False),
        ]
    return data_of(*pairs)


def test_each_half_is_trained_on_once_and_measured_once(decided: TrainingData) -> None:
    assert decided.judgements is not None
    (first, rest), (second, other) = decision_halves(decided)
    assert first.judgements is not None
    assert second.judgements is not None
    trained = [set(half.judgements.accepted) for half in (first, second) if half.judgements]
    assert trained[0] | trained[1] == set(decided.judgements.accepted)
    assert not trained[0] & trained[1]
    assert [len(half) for half in trained] == [10, 10]
    assert set(gold_children(rest.dev)) == trained[1]
    assert set(gold_children(other.dev)) == trained[0]
    assert rest.judgements is None
    assert (first.dev, first.original) == ((), FACTS)


def test_sentences_of_a_tree_stay_together(decided: TrainingData) -> None:
    for part, _ in decision_halves(decided):
        assert part.judgements is not None
        roots, below = (
            {name.split()[1] for name in part.judgements.accepted if name.startswith(kind)}
            for kind in ("root", "conclusion")
        )
        assert roots == below
        assert set(part.judgements.rejected) == {f"root {at}" for at in roots}


def test_too_few_sentences_gold_trees_and_dev_trees_are_not_split(decided: TrainingData) -> None:
    few = data_of(*((f"root {at}", f"fact {at}", True) for at in range(FEW - 1)))
    assert decision_halves(few) == ()
    enough = data_of(*((f"root {at}", f"fact {at}", True) for at in range(FEW)))
    assert len(decision_halves(enough)) == 2
    (_, rest), _ = decision_halves(decided)
    assert decision_halves(rest) == ()
    assert decision_halves(replace(decided, dev=rest.dev)) == ()


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=30, max_size=80))
def test_no_sentence_is_apart_from_its_premise(edges: list[tuple[int, int]]) -> None:
    facts = [(f"root {at}", f"fact {at}", True) for at in range(41)]
    links = [(f"root {first}", f"root {second}", True) for first, second in edges if first != second]
    for part, _ in decision_halves(data_of(*facts, *links)):
        assert part.judgements is not None
        sentences = set(part.judgements.accepted)
        assert all((first in sentences) == (second in sentences) for first, second, _ in links)
