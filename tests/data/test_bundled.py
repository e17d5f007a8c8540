from __future__ import annotations

import gzip
import json
import re
from collections import Counter

from entail.data.bundled import SAMPLE_NAME, sample_corpus, sample_dir, sample_trees


def test_trees_are_many_complete_and_varied() -> None:
    trees = sample_trees()
    assert len(trees) >= 60
    assert all(tree.steps for tree in trees)
    assert set(Counter(len(tree.steps) for tree in trees)) == set(range(1, 13))
    assert len({tree.id for tree in trees}) == len(trees)
    assert len({tree.hypothesis for tree in trees}) == len(trees)


def test_facts_are_many_and_hold_every_sentence_of_the_trees() -> None:
    corpus = sample_corpus()
    assert corpus.name == SAMPLE_NAME
    assert len(corpus) >= 3000
    for tree in sample_trees():
        assert all(corpus.position(text) is not None for text in tree.sentences.values())
    source_ids = [premise.source_id for premise in corpus.premises if premise.source_id]
    assert len(source_ids) > 4000
    assert all(re.fullmatch(r"ET_addon:\d+|[0-9a-f]{4}(-[0-9a-f]{4}){3}", uid) for uid in source_ids)


def test_nothing_of_the_exams_is_shipped() -> None:
    text = gzip.decompress((sample_dir() / "trees.jsonl.gz").read_bytes()).decode()
    for line in text.splitlines():
        row = json.loads(line)
        assert not row["id"].startswith("Mercury")
        for fields in (row, row["meta"]):
            assert not {"question", "answer", "question_text", "answer_text"} & set(fields)
    facts = gzip.decompress((sample_dir() / "premises.jsonl.gz").read_bytes()).decode()
    assert "?" not in text
    assert "?" not in facts
    assert "Mercury_" not in text


def test_origin_and_licences_lie_beside_the_files() -> None:
    text = (sample_dir() / "ATTRIBUTION.md").read_text()
    assert f"{len(sample_trees())} entailment trees" in text
    assert f"{len(sample_corpus()):,} facts" in text
    assert f"{sum(bool(p.source_id) for p in sample_corpus().premises):,} of them" in text
    for name, url in (
        ("LICENSE-EntailmentBank", "http://www.apache.org/licenses/LICENSE-2.0"),
        ("LICENSE-WorldTree", "https://creativecommons.org/licenses/by-sa/4.0/"),
    ):
        assert name in text
        assert url in (sample_dir() / name).read_text()
    assert "What was changed" in text


def test_files_are_small_and_carry_no_time() -> None:
    for file in sample_dir().glob("*.jsonl.gz"):
        data = file.read_bytes()
        assert len(data) < 1_000_000
        assert data[4:8] == b"\0\0\0\0"
