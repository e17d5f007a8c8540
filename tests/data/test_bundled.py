"""The bundled trees and facts: complete, of known origin, nothing of the exams; held-out ones unseen."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable

import pytest

from entail.data.bundled import (
    HELD_OUT_NAME,
    SAMPLE_NAME,
    held_out_corpus,
    held_out_trees,
    sample_corpus,
    sample_dir,
    sample_trees,
)
from entail.data.records import Corpus, ExplanationTree
from entail.data.text import fold, premise_key
from entail.encoders.card import read_training_queries
from entail.encoders.catalogue import model_folders
from entail.encoders.training_queries import has_training_record, training_queries_of

SHIPPED = ("aeenc-minilm", "reranker-minilm", "aeenc-minilm+bm25+reranker-minilm")


def queries(trees: Iterable[ExplanationTree]) -> list[str]:
    return [text for tree in trees for text in (tree.hypothesis, *tree.intermediates.values())]


QUERIES = queries(held_out_trees())


def test_trees_are_many_varied_and_complete_over_their_corpus() -> None:
    assert len(sample_trees()) >= 60
    assert 30 <= len(held_out_trees()) <= 60
    assert set(Counter(len(tree.steps) for tree in sample_trees())) == set(range(1, 13))
    corpora: list[tuple[tuple[ExplanationTree, ...], Corpus]] = [
        (sample_trees(), sample_corpus()),
        (held_out_trees(), held_out_corpus()),
    ]
    for trees, corpus in corpora:
        assert len({tree.id for tree in trees}) == len({tree.hypothesis for tree in trees}) == len(trees)
        for tree in trees:
            assert tree.steps
            assert all(corpus.position(text) is not None for text in tree.sentences.values())
    assert (sample_corpus().name, held_out_corpus().name) == (SAMPLE_NAME, HELD_OUT_NAME)
    assert held_out_corpus().keys[: len(sample_corpus())] == sample_corpus().keys
    source_ids = [premise.source_id for premise in sample_corpus().premises if premise.source_id]
    assert len(source_ids) > 4000
    assert all(re.fullmatch(r"ET_addon:\d+|[0-9a-f]{4}(-[0-9a-f]{4}){3}", uid) for uid in source_ids)


def test_no_held_out_query_was_learnt() -> None:
    for name in SHIPPED:
        assert has_training_record(name)
        assert training_queries_of(name, QUERIES) == frozenset()
    keys = {premise_key(text) for text in QUERIES}
    for folder in model_folders():
        assert not keys & read_training_queries(folder), folder.name
    assert not set(map(fold, queries(sample_trees()))) & set(map(fold, QUERIES))
    assert not {tree.id for tree in sample_trees()} & {tree.id for tree in held_out_trees()}


@pytest.mark.parametrize(
    ("trees", "facts"),
    [("trees.jsonl.gz", "premises.jsonl.gz"), ("held_out.jsonl.gz", "held_out_premises.jsonl.gz")],
)
def test_nothing_of_the_exams_is_shipped(trees: str, facts: str) -> None:
    texts = []
    for name in (trees, facts):
        data = (sample_dir() / name).read_bytes()
        assert len(data) < 1_000_000
        assert data[4:8] == b"\0\0\0\0"  # no time
        texts.append(gzip.decompress(data).decode())
    for text in texts:
        assert "?" not in text
        assert "Mercury_" not in text
    for line in texts[0].splitlines():
        row = json.loads(line)
        assert not {"question", "answer", "question_text", "answer_text"} & {*row, *row["meta"]}
