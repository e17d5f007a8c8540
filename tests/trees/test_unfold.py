"""Official rows and authored trees, converted into each other."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.entailment_bank.trees import check_proof, format_proof, parse_proof, row_to_tree, tree_to_row
from entail.data.records import Corpus, ExplanationTree, Premise, Step
from entail.data.text import fold, premise_key
from entail.errors import ProofError
from entail.trees.formats import entailment_bank as unfold_module
from entail.trees.formats.entailment_bank import grow, refold, unfold
from entail.trees.log.acts import (
    Conclude,
    Create,
    Edit,
    Reject,
    Remove,
    Reorder,
    Write,
    act_to_json,
    parse_act,
)
from entail.trees.log.tree import Tree, TreeBuilder
from tests.trees.conftest import Story

SENTENCES = (
    "ice is frozen water",
    "frozen water is cold",
    "snow is ice",
    "cold things melt",
    "the sun is hot",
)


def official(proof: str) -> ExplanationTree:
    """Read a row as the official files have it."""
    triples = {f"sent{i}": text for i, text in enumerate(SENTENCES, start=1)}
    about = {
        "id": "row 7",
        "question": "What is snow?",
        "answer": "It is cold.",
        "hypothesis": "snow is cold",
    }
    return row_to_tree({**about, "proof": proof, "meta": {"triples": triples}})


def proof_of(row: ExplanationTree) -> str:
    return format_proof(row.steps, row.intermediates)


PLAIN = "sent1 & sent2 -> int1: ice is cold; int1 & sent3 -> hypothesis; "


@pytest.mark.parametrize(
    ("corpus", "keys"),
    [
        (None, ["sent1", "sent2", "sent3"]),
        (Corpus.of("facts", ["snow  is ice", "ice is cold"]), ["int1", "sent3"]),
    ],
)
def test_keys_are_those_of_leaves_or_of_what_a_corpus_has(corpus: Corpus | None, keys: list[str]) -> None:
    assert [node.label for node in unfold(official(PLAIN), corpus=corpus).nodes if node.key] == keys


def made(*steps: tuple[str, str], **intermediates: str) -> ExplanationTree:
    """Make a row that no reader would let pass."""
    proof = tuple(Step(tuple(premises.split()), conclusion) for premises, conclusion in steps)
    return ExplanationTree("r1", "snow is cold", {"sent1": "snow is ice"}, intermediates, proof)


@pytest.mark.parametrize(
    "row",
    [
        made(("sent9", "hypothesis")),
        made(("sent1", "hypothesis"), ("int2", "int1"), ("int1", "int2"), int1="a", int2="b"),
        made(("sent1 hypothesis", "int1"), ("int1", "hypothesis"), int1="a"),
        made(("sent1", "hypothesis"), ("hypothesis", "int1"), int1="a"),
    ],
)
def test_an_unsound_proof_is_refused(row: ExplanationTree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfold_module, "MAX_NODES", 50)
    with pytest.raises(ProofError):
        unfold(row)


def test_a_tree_that_began_here() -> None:
    story = Story("snow is cold")
    for text in ("snow is ice", "ice is frozen water", "frozen water is cold"):
        story.ann(Write(node="n1", text=text))
    story.ann(Conclude(node="n1", premises=("n3", "n4"), text="ice is cold"))
    story.ann(Write(node="n2", text="frozen  water is cold"))  # one sentence in two positions
    for node, text in (("n1", "fire"), ("n2", "ice is cold"), ("n2", " fire")):  # the second is in the tree
        story.ann(Reject(node=node, premise=Premise(text)))
    row = refold(story.tree)
    assert proof_of(row) == (
        "sent1 -> int1: snow is ice; sent2 & sent1 -> int2: ice is cold; int1 & int2 -> hypothesis; "
    )
    assert [*row.sentences.values()] == ["frozen  water is cold", "ice is frozen water", "fire"]
    assert row.distractors == ("sent3",)
    assert (row.id, row.hypothesis, row.extra) == (premise_key("snow is cold"), "snow is cold", {})


def test_an_imported_row_after_acts() -> None:
    create = unfold(official(PLAIN))  # n1.1 is int1, n1.2 sent1, n1.3 sent2, n1.4 sent3
    story = Story(create.hypothesis, nodes=create.nodes, source=create.source)
    for act, int1, rest, distractors in (
        (Write(node="n1.1", text="new"), "sent1 & sent2 & sent6", "int1 & sent3", "sent4 sent5"),
        (Edit(node="n1.2", text="cold things  melt"), "sent4 & sent2 & sent6", "int1 & sent3", "sent5 sent1"),
        (Remove(node="n1.2"), "sent2 & sent6", "int1 & sent3", "sent4 sent5 sent1"),
        (Reorder(node="n1", order=("n1.4", "n1.1")), "sent2 & sent6", "sent3 & int1", "sent4 sent5 sent1"),
    ):
        story.ann(act)
        out = refold(story.tree)
        assert proof_of(out) == f"{int1} -> int1: ice is cold; {rest} -> hypothesis; "
        assert " ".join(out.distractors) == distractors
        assert row_to_tree(tree_to_row(out)).steps == out.steps
    story.ann(Conclude(node="n1", premises=("n1.1",), text="top"))
    steps = "sent2 & sent6 -> int1: ice is cold; int1 -> int2: top; sent3 & int2 -> hypothesis; "
    assert proof_of(refold(story.tree)) == steps


TEXTS = st.sampled_from(["a", "b", "c", "a b", "a  b", "x , y", "x, y"])


@st.composite
def rows(draw: st.DrawFn) -> ExplanationTree:
    """Draw a sound row; few texts, so that many sentences say the same."""
    sentences = {f"sent{i}": draw(TEXTS) for i in range(1, draw(st.integers(1, 6)) + 1)}
    names = [f"int{i}" for i in draw(st.permutations(range(1, draw(st.integers(0, 4)) + 1)))]
    identifiers, steps = list(sentences), []
    for conclusion in (*names, "hypothesis"):
        premises = draw(st.lists(st.sampled_from(identifiers), min_size=1, max_size=4))
        steps.append(Step(tuple(premises), conclusion))
        identifiers.append(conclusion)
    used = {premise for step in steps for premise in step.premises}
    unused = draw(st.permutations([label for label in sentences if label not in used]))
    return ExplanationTree(
        id=draw(st.sampled_from(["r1", ""])) or "r2",
        hypothesis=draw(TEXTS),
        sentences=sentences,
        intermediates={name: draw(TEXTS) for name in names},
        steps=tuple(steps),
        distractors=tuple(unused),
        question=draw(st.sampled_from(["", "why?"])),
        extra={"meta": {"n": [1, {"x": None}]}},
    )


@given(rows())
def test_an_untouched_row_comes_back_as_it_was(row: ExplanationTree) -> None:
    act = unfold(row)
    back = parse_act("create", json.dumps(act_to_json(act)))
    assert isinstance(back, Create)
    again = refold(grow(back))
    assert again == row
    assert list(again.intermediates) == list(row.intermediates)


@given(rows(), st.data())
def test_a_tree_that_was_worked_on_gives_a_sound_row_that_says_the_same(
    row: ExplanationTree, data: st.DataObject
) -> None:
    tree = change(grow(unfold(row)), data)
    out = refold(tree)
    check_proof(out.steps, out.intermediates, out.sentences)
    assert parse_proof(proof_of(out)) == (out.steps, dict(out.intermediates))
    pairs = {(fold(tree.nodes[n.parent].text), fold(n.text)) for n in tree.nodes.values() if n.parent}
    if tree.root.children:
        assert {(fold(parent), fold(child)) for parent, child in out.pairs} == pairs
        used = set(out.leaves)
        assert set(out.distractors) == set(out.sentences) - used
    assert refold(grow(unfold(out))) == out


def change(tree: Tree, data: st.DataObject) -> Tree:
    """Do some edits and removals, without the checks of the log: texts may repeat anywhere."""
    builder = TreeBuilder(tree)
    for seq in range(2, 2 + data.draw(st.integers(0, 5))):
        now = builder.freeze(seq=seq - 1)
        node, text = data.draw(st.sampled_from([*now.nodes.values()])), data.draw(TEXTS)
        acts: list[Any] = [Edit(node=node.id, text=text), Write(node=node.id, text=text)]
        acts.append(Reject(node=node.id, premise=Premise(text)))
        if node.children:
            premises = data.draw(st.sets(st.sampled_from(node.children), min_size=1))
            acts.append(Conclude(node=node.id, premises=tuple(premises), text=text))
        if node.parent is not None:
            acts += [Remove(node=node.id, keep_premises=keep) for keep in (False, True)]
        builder.apply(data.draw(st.sampled_from(acts)), seq=seq, author="Ann")
    return builder.freeze(seq=99)
