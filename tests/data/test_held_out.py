"""The bundled held-out trees: nothing of them was learnt, nothing of the exams is in them."""

import gzip
import json
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from entail.data.bundled import (
    HELD_OUT_NAME,
    held_out_corpus,
    held_out_trees,
    sample_corpus,
    sample_dir,
    sample_trees,
)
from entail.data.entailment_bank.trees import read_trees
from entail.data.records import ExplanationTree
from entail.data.text import fold, premise_key
from entail.encoders.card import read_training_queries
from entail.encoders.catalogue import model_folders
from entail.encoders.training_queries import has_training_record, training_queries_of
from entail.index.vectors import shipped_premises, shipped_queries
from tests.data.test_build_sample import row

SHIPPED = ("aeenc-minilm", "reranker-minilm", "aeenc-minilm+bm25+reranker-minilm")


def queries(trees: Iterable[ExplanationTree]) -> list[str]:
    return [text for tree in trees for text in (tree.hypothesis, *tree.intermediates.values())]


QUERIES = queries(held_out_trees())


def test_no_claim_or_conclusion_is_a_training_query_of_a_shipped_model() -> None:
    for name in SHIPPED:
        assert has_training_record(name)
        assert training_queries_of(name, QUERIES) == frozenset()
    keys = {premise_key(text) for text in QUERIES}
    for folder in model_folders():
        assert not keys & read_training_queries(folder), folder.name
    learnt = {
        fold(text) for tree in sample_trees() for text in (tree.hypothesis, *tree.intermediates.values())
    }
    assert not learnt & set(map(fold, QUERIES))
    assert not {tree.id for tree in sample_trees()} & {tree.id for tree in held_out_trees()}


def test_nothing_of_the_exams_is_shipped() -> None:
    text = gzip.decompress((sample_dir() / "held_out.jsonl.gz").read_bytes()).decode()
    for line in text.splitlines():
        record = json.loads(line)
        assert not record["id"].startswith("Mercury")
        for fields in (record, record["meta"]):
            assert not {"question", "answer", "question_text", "answer_text"} & set(fields)
    facts = gzip.decompress((sample_dir() / "held_out_premises.jsonl.gz").read_bytes()).decode()
    for content in (text, facts):
        assert "?" not in content
        assert "Mercury_" not in content


def test_trees_are_complete_over_their_corpus() -> None:
    trees, corpus = held_out_trees(), held_out_corpus()
    assert 30 <= len(trees) <= 60
    assert all(tree.steps for tree in trees)
    assert corpus.name == HELD_OUT_NAME
    assert corpus.keys[: len(sample_corpus())] == sample_corpus().keys
    for tree in trees:
        assert all(corpus.position(text) is not None for text in tree.sentences.values())
    attribution = (sample_dir() / "ATTRIBUTION.md").read_text(encoding="utf-8")
    assert f"{len(trees)} held-out trees" in attribution
    assert f"{len(corpus) - len(sample_corpus())} further facts" in attribution


def test_their_vectors_ship() -> None:
    premises, keys = shipped_premises("minilm@53aa51172d14"), held_out_corpus().keys
    assert set(keys) <= set(premises)
    query_vectors = shipped_queries("minilm@53aa51172d14")
    assert {premise_key(text) for text in QUERIES} <= set(query_vectors)
    norms = [np.linalg.norm(query_vectors[premise_key(text)].astype(float)) for text in QUERIES]
    assert norms == pytest.approx([1.0] * len(norms), abs=0.01)


def test_known_and_nearly_known_claims_are_left_out(
    load_script: Callable[[str], ModuleType],
) -> None:
    script = load_script("build_held_out")

    def trees(*rows: dict[str, Any]) -> list[ExplanationTree]:
        return list(read_trees("".join(f"{json.dumps(record)}\n" for record in rows).encode(), name="rows"))

    dev = trees(
        row("Mercury_1", "ice melts in the sun", 1, "a"),
        row("MCAS_2", "the small old dog barks at me now", 1, "a"),
        row("MCAS_3", "water is wet", 1, "a"),
        row("MCAS_4", "a shipped model knows this", 1, "a"),
        row("MCAS_5", "stars are hot", 1, "a"),
    )
    train = trees(
        row("VASoL_1", "the small old dog barks at me", 1, "a"), row("VASoL_2", "water is  wet", 1, "a")
    )
    selection = script.choose(dev, train, seen={premise_key("a shipped model knows this")})
    assert [tree.id for tree in selection] == ["MCAS_5"]
    assert script.as_sample(selection[0])["hypothesis"] == "stars are hot"
    assert "question" not in script.as_sample(selection[0])
