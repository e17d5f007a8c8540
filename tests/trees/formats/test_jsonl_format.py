"""Authored trees as official rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from entail.data.records import Corpus, Premise
from entail.errors import ProofError
from entail.trees.formats import from_jsonl, to_jsonl
from entail.trees.formats.entailment_bank import grow
from entail.trees.log.acts import Conclude, Write
from entail.trees.log.tree import Tree


def test_an_authored_tree_is_an_official_row(story: Any) -> None:
    text = to_jsonl([story.tree])
    assert text.endswith("}\n")
    row = json.loads(text)
    assert row["hypothesis"] == "snow is cold"
    assert row["context"] == "sent1: water freezes sent2: fire is hot"
    assert row["proof"] == "sent1 -> int1: ice is frozen; int1 -> int2: snow is ice; int2 -> hypothesis; "
    assert row["meta"]["distractors"] == ["sent2"]
    assert row["meta"]["lisp_proof"] == "((((((sent1) -> int1)) -> int2)) -> int3)"
    assert row["length_of_proof"] == 3


def test_many_trees_are_many_rows_and_come_back(story: Any, tmp_path: Path) -> None:
    first = story.tree
    story.ann(Conclude(node="n1", premises=("n2",), text="all ice is cold"))
    text = to_jsonl([first, story.tree])
    assert text.count("\n") == 2
    file = tmp_path / "two.jsonl"
    file.write_text(text)
    acts = from_jsonl(file)
    assert [len(act.nodes) for act in acts] == [3, 4]
    assert to_jsonl(map(grow, acts)) == text
    assert from_jsonl(text.encode()) == acts


def test_a_corpus_goes_in_and_out(story: Any) -> None:
    corpus = Corpus.of("facts", [Premise("water freezes", "uid-7")])
    text = to_jsonl([story.tree], corpus=corpus)
    row = json.loads(text)
    assert row["premise_ids"] == {"sent1": "uid-7"}
    assert (row["question"], row["answer"]) == ("", ""), "an official row has both"
    (act,) = from_jsonl(text.encode(), corpus=corpus)
    assert [node.key is not None for node in act.nodes] == [False, False, True]


def test_nasty_texts_survive(nasty: Tree) -> None:
    row = json.loads(to_jsonl([nasty]))
    meta = row["meta"]
    sentences = {row["hypothesis"], *meta["triples"].values(), *meta["intermediate_conclusions"].values()}
    (loose,) = nasty.loose
    texts = {node.text.strip() for node in nasty.nodes.values() if node.id != loose}
    assert texts <= {text.strip() for text in sentences}


def test_a_conclusion_that_the_proof_language_cannot_hold_is_refused(tell: Any) -> None:
    story = tell("h")
    story.ann(
        Conclude(node="n1", premises=(story.ann(Write(node="n1", text="a")),), text="b; sent1 -> int2: c")
    )
    with pytest.raises(ProofError, match="cannot be written as one step"):
        to_jsonl([story.tree])
