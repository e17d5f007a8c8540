"""The program that measures what a scorer saves an author, over a scorer on disk."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from entail.arcf.scoring.premises import StepScores
from entail.arcf.scoring.scorer import Scorer, ScorerForm, list_scorers, load_scorer
from entail.arcf.tower import ScorerTower
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.encoders.catalogue import resolve
from entail.evaluation.retrieval.effort import measure_effort
from entail.index.factory import retriever
from entail.training.adapters.tower import Lora


@pytest.fixture
def mine(tiny_home: Path) -> str:
    """A scorer under `models/` that was never trained."""
    base = resolve("tiny")
    ScorerTower(base, lora=Lora(rank=2), device="cpu", max_length=32).save(tiny_home / "mine")
    about = {
        "method": "arcf",
        "base": "tiny",
        "base_revision": base.revision,
        "scorer": ScorerForm(max_length=32).to_json(),
    }
    (tiny_home / "mine" / "entail.json").write_text(json.dumps(about), encoding="utf-8")
    return "mine"


@pytest.fixture
def files(grove: dict[str, Any], tmp_path: Path) -> list[str]:
    corpus, trees = tmp_path / "facts.txt", tmp_path / "trees.jsonl"
    corpus.write_text("\n".join(grove["facts"]), encoding="utf-8")
    trees.write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    return ["--corpus", str(corpus), "--trees", str(trees), "--results", str(tmp_path)]


def test_what_is_listed_says_its_revision_without_being_loaded(mine: str) -> None:
    assert [(entry.name, entry.revision) for entry in list_scorers()] == [(mine, load_scorer(mine).revision)]


def test_figures_and_page_are_written(
    load_script: Callable[[str], ModuleType], mine: str, files: list[str], tmp_path: Path
) -> None:
    script = load_script("measure_chain_effort")
    options = ["--scorer", mine, "--retrievers", "tfidf", "--k", "30", "--limit", "3", "--precision", "fp32"]
    assert script.main([*files, *options]) == 0
    result = json.loads((tmp_path / "arcf_authoring.json").read_text(encoding="utf-8"))
    figures = result["figures"]
    assert (figures["scorer"], figures["trees"], figures["k"]) == (mine, 3, 30)
    effort = figures["retrievers"]["tfidf"]
    corpus, trees = read_corpus(tmp_path / "facts.txt").corpus, list(read_trees(tmp_path / "trees.jsonl"))[:3]
    assert effort["alone"] == measure_effort(corpus, trees, retriever("tfidf", corpus)).to_json()
    assert effort["ordered"]["accepted"] == effort["alone"]["accepted"], "all is found, sooner or later"
    assert effort["ordered"]["reads"] != effort["alone"]["reads"]
    assert effort["seconds_a_node"]["count"] == 6, "two nodes a tree"
    assert effort["seconds_an_order"]["count"] == 12, (
        "each of their premises, but the last of all, orders anew"
    )
    page = (tmp_path / "arcf_authoring.md").read_text(encoding="utf-8")
    reads = effort["alone"]["reads_per_accepted"], effort["ordered"]["reads_per_accepted"]
    assert f"| tfidf | {reads[0]:.2f} | {reads[1]:.2f} |" in page
    (tmp_path / "arcf_authoring.md").unlink()
    assert script.main(["--table", "--results", str(tmp_path)]) == 0
    assert (tmp_path / "arcf_authoring.md").read_text(encoding="utf-8") == page


def test_a_scorer_that_finds_no_difference_makes_none(
    load_script: Callable[[str], ModuleType],
    files: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake: Any,
) -> None:
    script = load_script("measure_chain_effort")
    scorer = Scorer("same", "same@1", ScorerForm(), fake(lambda a, b: 0.0))
    monkeypatch.setattr(script, "load_scorer", lambda name, **options: scorer)
    assert script.main([*files, "--scorer", "same", "--retrievers", "bm25"]) == 0
    result = json.loads((tmp_path / "arcf_authoring.json").read_text(encoding="utf-8"))
    effort = result["figures"]["retrievers"]["bm25"]
    assert effort["ordered"] == effort["alone"]
    assert effort["difference"] == [0.0, 0.0]
    page = (tmp_path / "arcf_authoring.md").read_text(encoding="utf-8")
    assert "neither more nor less" in page


def test_time_is_told_by_node(
    load_script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = load_script("measure_chain_effort")
    clock = iter(range(100))
    monkeypatch.setattr(script, "perf_counter", lambda: float(next(clock)))

    def scores(scorer: Any, sentence: str, accepted: Sequence[str], candidates: Sequence[str]) -> StepScores:
        return StepScores(np.zeros(len(candidates), dtype=np.float32))

    monkeypatch.setattr(script, "score_next", scores)
    timed = script.Timed(None)
    for sentence, accepted in [("a", []), ("a", ["x"]), ("b", ["x"]), ("b", []), ("b", ["y"])]:
        timed(sentence, accepted, ["c"])
    assert timed.nodes == [2.0, 1.0, 2.0]
    assert len(timed.seconds) == 5


def test_bad_input_is_told(
    load_script: Callable[[str], ModuleType], files: list[str], tiny_home: Path
) -> None:
    script = load_script("measure_chain_effort")
    with pytest.raises(SystemExit, match="no scorer of facts is called 'gone'"):
        script.main([*files, "--scorer", "gone"])
    with pytest.raises(SystemExit, match="measure first"):
        script.main(["--table", "--results", files[-1]])
