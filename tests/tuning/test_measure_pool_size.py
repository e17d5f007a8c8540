"""The program that measures retrievers by the size of the pool, in miniature."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from entail.data.passages.files import read_questions
from entail.evaluation.passages.retrieval import Judged, evaluate_passages
from entail.evaluation.passages.store import store_passages


def test_ranks_are_those_of_a_gold_passage_among_its_pool(load_script: Callable[[str], ModuleType]) -> None:
    program = load_script("measure_pool_size")
    passages = np.array([[1, 0], [0, 1], [0.9, 0.1], [0.5, 0.5]], dtype=np.float32)
    queries = np.array([[1, 0], [0, 1]], dtype=np.float32)
    gold = [[2], [0, 3]]
    assert program.gold_ranks(queries, passages, gold, np.arange(4)).tolist() == [2, 2]
    assert program.gold_ranks(queries, passages, gold, np.array([2, 3, 0])).tolist() == [2, 1]
    assert program.gold_ranks(queries, passages, gold, np.array([2, 3])).tolist() == [1, 1]


def test_pools_grow_from_the_gold_passages_and_the_largest_is_what_is_measured_elsewhere(
    load_script: Callable[[str], ModuleType],
    squad: dict[str, Path],
    tiny_home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program, out = load_script("measure_pool_size"), tmp_path / "pools.json"
    given = ["--train", str(squad["train"]), "--dev", str(squad["dev"]), "--work", str(tmp_path / "work")]
    given += ["--encoder", "tiny", "--encoder", "other", "--sizes", "20", "5", "99", "--out", str(out)]
    assert program.main([*given, "--precision", "fp32"]) == 0
    told = json.loads(out.read_text(encoding="utf-8"))["figures"]
    tiny, other = told["encoders"]
    assert [pool["passages"] for pool in tiny["pools"]] == [12, 20, 48]
    assert tiny["pools"][0]["MRR"] >= tiny["pools"][1]["MRR"] >= tiny["pools"][2]["MRR"]
    store = store_passages([squad["train"], squad["dev"]], tmp_path / "again")
    judged = Judged(tuple(read_questions(squad["dev"])))
    found = evaluate_passages(store, judged, encoder="tiny", precision="fp32", ks=(1, 20))
    assert found.gold is not None
    for measure in ("R@1", "R@20"):
        assert tiny["pools"][-1][measure] == pytest.approx(found.gold[measure])
    page = out.with_suffix(".md").read_text(encoding="utf-8")
    first, second = tiny["pools"][0]["R@1"], other["pools"][0]["R@1"]
    assert f"| 12 | {100 * first:.2f} | {100 * second:.2f} ({100 * (second - first):+.2f}) |" in page
    out.with_suffix(".md").unlink()
    assert program.main(["--table", "--out", str(out)]) == 0
    assert out.with_suffix(".md").read_text(encoding="utf-8") == page
    capsys.readouterr()
