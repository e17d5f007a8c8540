from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("build_sample")


def row(name: str, hypothesis: str, steps: int, *sentences: str) -> dict[str, Any]:
    proof = "".join(f"{'sent1' if n == 0 else f'int{n}'} -> int{n + 1}: c{n}; " for n in range(steps - 1))
    last = f"int{steps - 1}" if steps > 1 else "sent1"
    return {
        "id": name,
        "context": " ".join(f"sent{n}: {text}" for n, text in enumerate(sentences, start=1)),
        "question": f"Q of {name}?",
        "answer": f"A of {name}",
        "hypothesis": hypothesis,
        "proof": f"{proof}{last} -> hypothesis; ",
        "meta": {
            "question_text": f"Q of {name}?",
            "answer_text": f"A of {name}",
            "triples": {f"sent{n}": text for n, text in enumerate(sentences, start=1)},
        },
    }


@pytest.fixture
def release(tmp_path: Path) -> Path:
    rows = [
        row("MCAS_1", "h1", 1, "ice is cold", "fire / flame is hot"),
        row("Mercury_2", "h2", 1, "mercury is a metal"),
        row("MCAS_3", "h3", 1, "ice  is cold", "cats purr"),
        row("MCAS_1", "h4", 2, "dogs bark"),
        row("VASoL_5", "h5", 2, "birds sing"),
        row("VASoL_6", "h5", 3, "fish swim"),
    ]
    uids = {
        "ET_addon:0": "DUMMY",
        "ET_addon:1": "ice is cold",
        "ab12": "ice is cold",
        "cd34": "fire; flame is hot",
    }
    (tmp_path / "dataset" / "task_2").mkdir(parents=True)
    (tmp_path / "supporting_data").mkdir()
    (tmp_path / "dataset/task_2/train.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in rows))
    (tmp_path / "supporting_data/worldtree_corpus_sentences_extended.json").write_text(json.dumps(uids))
    return tmp_path


def test_what_is_taken_and_what_is_left_out(script: ModuleType, release: Path, tmp_path: Path) -> None:
    script.build(release, tmp_path / "out")
    trees = read_trees(tmp_path / "out" / "trees.jsonl.gz")
    assert [(tree.id, tree.hypothesis) for tree in trees] == [
        ("MCAS_1", "h1"),
        ("MCAS_3", "h3"),
        ("VASoL_5", "h5"),
    ]
    assert all(not tree.question and not tree.answer for tree in trees)
    assert all(set(tree.extra["meta"]) == {"triples"} for tree in trees)
    premises = read_corpus(tmp_path / "out" / "premises.jsonl.gz").corpus.premises
    assert {premise.text: premise.source_id for premise in premises} == {
        "ice is cold": "ab12",
        "fire / flame is hot": "cd34",
        "cats purr": None,
        "dogs bark": None,
        "birds sing": None,
        "fish swim": None,
    }


def test_sizes_take_turns(script: ModuleType, release: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        script.build(release, tmp_path / name, count=2)
    assert sorted(len(tree.steps) for tree in read_trees(tmp_path / "a" / "trees.jsonl.gz")) == [1, 2]
    for file in ("trees.jsonl.gz", "premises.jsonl.gz"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
