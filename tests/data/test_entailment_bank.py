import copy
import gzip
import json
from dataclasses import replace
from typing import Any

import pytest

from entail.data.bundled import sample_dir, sample_trees
from entail.data.entailment_bank.trees import (
    format_trees,
    read_trees,
    row_to_tree,
    tree_to_row,
)
from entail.data.records import ExplanationTree, Step
from entail.errors import FormatError, ProofError

PROOF = "sent3 & sent1 -> int1: ice melts; int1 & sent4 -> hypothesis; "
SENTENCES = {
    "sent1": "fire is hot",
    "sent2": "a cat is an animal",
    "sent3": "ice is cold",
    "sent4": "water drips",
    "sent5": "a dog is an animal",
}
ROW: dict[str, Any] = {
    "id": "MINI_1",
    "context": "sent1: fire is hot sent2: a cat is an animal sent3: ice is cold sent4: water drips "
    "sent5: a dog is an animal",
    "question": "What drips?",
    "answer": "ice",
    "hypothesis": "ice drips",
    "proof": PROOF,
    "full_text_proof": " [BECAUSE] ice is cold [AND] fire is hot [INFER] int1: ice melts"
    " [BECAUSE] int1 [AND] water drips [INFER] int2: ice drips",
    "depth_of_proof": 2,
    "length_of_proof": 2,
    "meta": {
        "question_text": "What drips?",
        "answer_text": "ice",
        "hypothesis_id": "int2",
        "triples": SENTENCES,
        "distractors": ["sent5", "sent2"],
        "distractors_relevance": [-1.5, -2.5],
        "intermediate_conclusions": {"int1": "ice melts", "int2": "ice drips"},
        "core_concepts": ["ice is cold"],
        "step_proof": PROOF,
        "lisp_proof": "((((sent3 sent1) -> int1) sent4) -> int2)",
        "polish_proof": "# int2 & # int1 & sent3 sent1 sent4",
        "worldtree_provenance": {"sent1": {"uuid": "1-2", "original_text": "fire is hot"}},
        "add_list": [],
        "delete_list": [{"uuid": "3-4", "fact": "snow is cold"}],
    },
}
TASK_3: dict[str, Any] = {
    "id": "MINI_2",
    "context": "sent1: fire is hot sent2: fire is hot",
    "question": "Q",
    "answer": "A",
    "hypothesis": "ice drips",
    "proof": "",
    "meta": {
        "question_text": "Q",
        "answer_text": "A",
        "triples": {"sent1": "fire is hot", "sent2": "fire is hot"},
        "worldtree_provenance": [{"sid": "sent1", "uuid": "1-2", "relevance_score": 0.9}],
    },
}


def changed(*path: str, to: object = None) -> dict[str, Any]:
    """Return ROW with the field at `path` set, or taken out."""
    row = copy.deepcopy(ROW)
    inner = row
    for key in path[:-1]:
        inner = inner[key]
    if to is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return row


def jsonl(*rows: object) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


@pytest.mark.parametrize("meta", [None, {}, {"question_text": "What drips?"}])
def test_without_triples_the_context_is_parsed(meta: dict[str, Any] | None) -> None:
    row = ROW | {"meta": meta}
    tree = row_to_tree(row)
    assert tree.sentences == SENTENCES
    assert tree.distractors == ("sent2", "sent5")
    del row["meta"]
    assert row_to_tree(row).sentences == SENTENCES


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (changed("id"), "id"),
        (changed("id", to=7), "id"),
        (changed("id", to=" "), "id"),
        (changed("hypothesis", to=["a"]), "hypothesis"),
        (changed("proof", to=3), "proof"),
        (changed("meta", to="x"), "meta"),
        (changed("meta", "triples", to={"s1": "a"}), "meta.triples.s1"),
        (changed("meta", "triples", "sent3", to=5), "meta.triples.sent3"),
        (changed("meta", "distractors", to=[2]), "meta.distractors[0]"),
        ({"id": "x", "hypothesis": "h"}, "context"),
        ({"id": "x", "hypothesis": "h", "context": "a fact"}, "context"),
        ({"id": "x", "hypothesis": "h", "context": "sent1: a sent1: b"}, "context"),
        ({"id": "x", "hypothesis": "h", "context": "sent1: a sent2: "}, "context"),
    ],
)
def test_malformed_rows_name_line_and_field(row: dict[str, Any], field: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_trees(jsonl(ROW, row), name="mine.jsonl")
    assert (caught.value.source, caught.value.line, caught.value.field) == ("mine.jsonl", 2, field)


@pytest.mark.parametrize(
    ("proof", "message"),
    [
        ("sent3 & sent77 -> hypothesis; ", "sent77 is unknown"),
        ("because I say so", "found 'because I say so'"),
    ],
)
def test_unsound_proofs_name_the_line(proof: str, message: str) -> None:
    with pytest.raises(ProofError, match=rf"mine.jsonl, line 3, field 'proof': .*{message}"):
        read_trees(jsonl(ROW, ROW, changed("proof", to=proof)), name="mine.jsonl")


@pytest.mark.parametrize("row", [ROW, TASK_3])
def test_a_row_comes_back_as_it_was(row: dict[str, Any]) -> None:
    assert tree_to_row(row_to_tree(row)) == row
    assert format_trees([row_to_tree(row)]) == f"{json.dumps(row)}\n"


def test_every_derivable_field_is_derived() -> None:
    fresh = replace(row_to_tree(ROW), extra={})
    row = tree_to_row(fresh)
    not_derivable = {
        *("distractors_relevance", "core_concepts", "worldtree_provenance", "add_list", "delete_list"),
        *("lisp_proof", "polish_proof"),
    }
    expected = ROW | {"meta": {k: v for k, v in ROW["meta"].items() if k not in not_derivable}}
    assert row == expected
    assert list(row) == list(ROW)
    fresh_3 = tree_to_row(replace(row_to_tree(TASK_3), extra={}))
    assert fresh_3 | {"meta": 0} == TASK_3 | {"meta": 0}
    bare = ExplanationTree.of_premises("new", "ice drips", ["ice is cold"])
    assert list(tree_to_row(bare)) == list(ROW)
    assert row_to_tree(tree_to_row(bare)) == replace(bare, extra=tree_to_row(bare))


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"hypothesis": "ice runs"}, {"hypothesis", "full_text_proof"}),
        ({"intermediates": {"int1": "ice thaws"}}, {"proof", "full_text_proof"}),
        ({"sentences": SENTENCES | {"sent3": "ice is frozen"}}, {"context", "full_text_proof"}),
        (
            {"steps": (Step(("sent3", "sent2"), "hypothesis"),), "intermediates": {}},
            {"proof", "full_text_proof", "depth_of_proof", "length_of_proof"},
        ),
    ],
)
def test_a_changed_tree_is_derived_anew(change: dict[str, Any], fields: set[str]) -> None:
    tree = replace(row_to_tree(ROW), **change)
    row = tree_to_row(tree)
    assert {key for key in ROW if row[key] != ROW[key]} == fields | {"meta"}
    assert row["meta"]["core_concepts"] == ["ice is cold"]
    assert row["meta"]["delete_list"] == ROW["meta"]["delete_list"]
    again = row_to_tree(row)
    for part in ("hypothesis", "sentences", "intermediates", "steps", "question"):
        assert getattr(again, part) == getattr(tree, part)


def test_the_bundled_official_rows_come_back_byte_for_byte() -> None:
    official = gzip.decompress((sample_dir() / "trees.jsonl.gz").read_bytes()).decode()
    assert format_trees(sample_trees()) == official
