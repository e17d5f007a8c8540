from hypothesis import given
from hypothesis import strategies as st

from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import ExplanationTree, Step

TEXTS = st.sampled_from(["a", "b", "c", " a ", "a  b", "a b"])
PAIRS = st.lists(st.builds(JudgedPair, TEXTS, TEXTS, st.booleans()), max_size=12)


def tree(hypothesis: str, *premises: str) -> ExplanationTree:
    sentences = {f"sent{i}": text for i, text in enumerate(premises)}
    steps = (Step(tuple(sentences), "hypothesis"),) if premises else ()
    return ExplanationTree(id="t", hypothesis=hypothesis, sentences=sentences, steps=steps)


def test_trees_say_no_to_all_that_is_not_a_child_of_a_query_they_know() -> None:
    judgements = Judgements.of_trees([tree("q", "a"), tree("q", "b"), tree("bare")])
    assert [judgements.explains("q", text) for text in ("a", "b", "c", "q")] == [True, True, False, False]
    assert judgements.explains("another", "a") is None
    assert judgements.roots == ("q",)
    assert judgements.queries == ("q",)


def test_texts_are_folded_on_both_sides() -> None:
    judgements = Judgements.of_pairs([JudgedPair(" ice  melts", "it is  warm", True)])
    assert judgements.explains("ice melts ", " it is warm") is True


@given(PAIRS)
def test_a_pair_is_accepted_rejected_or_neither_and_never_two_of_them(pairs: list[JudgedPair]) -> None:
    judgements = Judgements.of_pairs(pairs)
    for pair in pairs:
        both = {other.accepted for other in pairs if _same(pair, other)} == {True, False}
        assert judgements.explains(pair.query, pair.premise) is (None if both else pair.accepted)
    again = Judgements.of_pairs(judgements.pairs())
    assert (again.accepted, again.rejected) == (judgements.accepted, judgements.rejected)
    assert again.contradictions == ()
    assert len(list(judgements.pairs())) == sum(
        map(len, [*judgements.accepted.values(), *judgements.rejected.values()])
    )


@given(PAIRS, st.permutations(range(3)))
def test_the_order_of_pairs_does_not_matter(pairs: list[JudgedPair], order: list[int]) -> None:
    one = Judgements.of_pairs(pairs)
    other = Judgements.of_pairs(sorted(pairs, key=lambda pair: order[len(pair.premise) % 3]))
    assert (one.accepted, one.rejected) == (other.accepted, other.rejected)


def _same(one: JudgedPair, other: JudgedPair) -> bool:
    def folded(pair: JudgedPair) -> tuple[list[str], list[str]]:
        return pair.query.split(), pair.premise.split()

    return folded(one) == folded(other)
