from hypothesis import given
from hypothesis import strategies as st

from entail.data.nli.pairs import LABELS, NliPair
from entail.data.nli.triplets import NliTriplet, nli_triplets

PAIRS = st.lists(
    st.builds(NliPair, st.sampled_from("pqr"), st.sampled_from("pabcd"), st.sampled_from(LABELS)), max_size=25
)


def pairs(*rows: tuple[str, str, str]) -> list[NliPair]:
    full = {label[0]: label for label in LABELS}
    return [NliPair(premise, hypothesis, full[label]) for premise, hypothesis, label in rows]


def test_by_hand() -> None:
    rows = "p:c1:c p:e1:e p:n1:n p:c2:c p:e2:e p:c1:c q:e3:e r:c3:c p:e1:e s:s:e p:e1:c"
    triplets = nli_triplets(pairs(*(tuple(row.split(":")) for row in rows.split())))  # type: ignore[arg-type]  # 3 each
    assert triplets.triplets == (
        NliTriplet("p", "e1", ("c1", "c2")),
        NliTriplet("p", "e2", ("c1", "c2")),
        NliTriplet("q", "e3"),
    )
    assert triplets.to_json() == {
        "triplets": 3,
        "entailment_pairs": 5,
        "premises": 2,
        "premises_with_both": 1,
        "with_contradiction": 2,
        "unentailed": 4,
        "duplicates": 1,
        "equal": 1,
        "both": 1,
    }


def test_an_epoch_goes_on_with_the_unentailed_pairs_of_the_one_before() -> None:
    rows = [*((f"p{i}", "e", "e") for i in range(3)), *((f"p{i}", "n", "n") for i in range(6))]
    triplets = nli_triplets(pairs(*rows))
    first, second, third = (triplets.draw_unentailed(seed=0, epoch=epoch) for epoch in range(3))
    assert sorted(first + second) == list(range(6))
    assert third == first
    assert first != triplets.draw_unentailed(seed=1, epoch=0)
    few = nli_triplets(pairs(*rows[:4]))
    assert few.draw_unentailed(seed=0, epoch=1) == [0, 0, 0]
    assert nli_triplets(pairs(*rows[:3])).draw_unentailed(seed=0, epoch=0) == []


def test_contradictions_rotate_by_epoch() -> None:
    triplets = nli_triplets(pairs(("p", "e", "e"), *(("p", f"c{i}", "c") for i in range(3)), ("q", "e", "e")))
    epochs = [list(triplets.draw(seed=0, epoch=epoch)) for epoch in range(4)]
    assert {rows[0][2] for rows in epochs[:3]} == {"c0", "c1", "c2"}
    assert epochs[3] == epochs[0]
    assert [rows[1] for rows in epochs] == [("q", "e", None)] * 4


@given(PAIRS)
def test_every_entailment_pair_is_accounted_for(some: list[NliPair]) -> None:
    triplets = nli_triplets(some)
    assert len(triplets) + triplets.duplicates + triplets.equal == triplets.entailment_pairs
    rows = {(pair.premise, pair.hypothesis, pair.label) for pair in some}
    for triplet in triplets.triplets:
        assert (triplet.premise, triplet.entailed, "entailment") in rows
        assert triplet.entailed not in triplet.contradicted
        assert all((triplet.premise, text, "contradiction") in rows for text in triplet.contradicted)
