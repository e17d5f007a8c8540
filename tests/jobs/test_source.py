"""Training data: previewed, and kept as they were."""

import json
from pathlib import Path
from typing import Any

import pytest

from entail.aeenc.config import AeencConfig
from entail.aeenc.method import AEENC, preview
from entail.aeenc.source import TrainingData, TreeSource, hold_out
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus
from entail.errors import JobError
from entail.training.cards.sources import TEAM


@pytest.fixture
def files(tmp_path: Path, grove: dict[str, Any]) -> TreeSource:
    (tmp_path / "trees.jsonl").write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    (tmp_path / "facts.txt").write_text("\n".join(grove["facts"][:-1]), encoding="utf-8")
    return TreeSource(trees=tmp_path / "trees.jsonl", corpus=tmp_path / "facts.txt")


def test_a_preview_counts_what_would_be_learnt_from(files: TreeSource) -> None:
    report = preview(files.read(), AeencConfig())
    # Eight trees of two parents with two children each, and a distractor for each parent but one.
    assert (report.counts["queries"], report.counts["positives"], report.counts["negatives"]) == (16, 32, 14)
    assert report.counts["premises"] == 39
    assert len(report.rows) == 46
    assert {row[2] for row in report.rows} == {"explains it", "does not"}
    # The last fact, a distractor of the last tree, is not in the corpus.
    assert report.left_out == {"not in the corpus": 2}
    assert AEENC.preview is preview


def test_every_nth_tree_is_held_out_with_all_trees_of_its_hypothesis(files: TreeSource) -> None:
    whole = files.read()
    data = TreeSource(trees=files.trees, corpus=files.corpus, hold_out=3).read()
    assert len(data.trees) + len(data.dev) == len(whole.trees)
    assert [tree.id for tree in data.dev] == [tree.id for tree in whole.trees[2::3]]
    again = hold_out([*whole.trees, whole.trees[2]], every=3)
    assert [tree.id for tree in again[1]].count(whole.trees[2].id) == 2
    with_dev = TreeSource(trees=files.trees, corpus=files.corpus, dev=files.trees, hold_out=3).read()
    assert (len(with_dev.trees), len(with_dev.dev)) == (len(whole.trees), len(whole.trees))


def test_decisions_are_kept_as_they_were(tmp_path: Path) -> None:
    judgements = Judgements.of_pairs(
        [
            JudgedPair("q", "a", True),
            JudgedPair("q", "b", False),
            JudgedPair("q", "d", True),
            JudgedPair("r", "c", True),
            JudgedPair("r", "c", False),
        ],
        roots=["q"],
    )
    corpus = Corpus.of("sky", ["a", "b"])
    decisions = iter([(corpus, judgements)])
    tree_source = TreeSource(from_log="sky")
    first, again = (tree_source.read(keep=tmp_path, decisions=lambda _: next(decisions)) for _ in range(2))
    assert (
        again
        == first
        == TrainingData(Corpus.of("sky", ["a", "b", "d"]), corpus, (), judgements, (), names=(TEAM,))
    )
    (tmp_path / "decisions.json").write_text("{", encoding="utf-8")
    with pytest.raises(JobError, match="submit the job again"):
        tree_source.read(keep=tmp_path)
