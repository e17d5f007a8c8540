"""Halves of a team's decisions: which sentences stay together, and what each half is measured on."""

from dataclasses import replace

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


def test_each_half_is_trained_on_once_and_measured_once() -> None:
    """Ten trees of two sentences: a hypothesis over a conclusion and a fact, the conclusion over a fact."""
    decided = data_of(
        *((f"root {at}", f"conclusion {at}", True) for at in range(10)),
        *((f"root {at}", f"fact {at}", True) for at in range(10)),
        *((f"conclusion {at}", f"fact {at + 10}", True) for at in range(10)),
        *((f"root {at}", f"fact {at + 20}", False) for at in range(10)),
    )
    halves = decision_halves(decided)
    parts = [part.judgements for part, _ in halves if part.judgements]
    sentences = [set(part.accepted) for part in parts]
    assert [set(gold_children(measured.dev)) for _, measured in halves] == sentences[::-1]
    assert [len(half) for half in sentences] == [10, 10]
    assert not sentences[0] & sentences[1]
    for part, half in zip(parts, sentences, strict=True):
        roots = {name for name in half if name.startswith("root")}
        assert {name.replace("root", "conclusion") for name in roots} == half - roots
        assert set(part.rejected) == roots
    (trained, rest), _ = halves
    assert (trained.dev, trained.original, rest.judgements) == ((), FACTS, None)
    assert decision_halves(rest) == decision_halves(replace(decided, dev=rest.dev)) == ()
    for count in (FEW - 1, FEW):  # too few sentences are not split
        few = data_of(*((f"root {at}", f"fact {at}", True) for at in range(count)))
        assert len(decision_halves(few)) == (2 if count == FEW else 0)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=30, max_size=80))
def test_no_sentence_is_apart_from_its_premise(edges: list[tuple[int, int]]) -> None:
    facts = [(f"root {at}", f"fact {at}", True) for at in range(41)]
    links = [(f"root {first}", f"root {second}", True) for first, second in edges if first != second]
    for part, _ in decision_halves(data_of(*facts, *links)):
        assert part.judgements is not None
        sentences = set(part.judgements.accepted)
        assert all((first in sentences) == (second in sentences) for first, second, _ in links)
