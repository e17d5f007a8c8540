"""The page of Figure 3, and the committed figures it was made from."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from entail.data.records import Corpus

ROOT = Path(__file__).parent.parent.parent
RESULT = ROOT / "docs" / "results" / "aeenc_bias.json"
CONFIG = {"gold": True, "rounds": 2, "k": 30}
FACTS = ["the sun is a star", "a star makes light", "the sun is near", "ice is cold", "water is wet"]


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("measure_bias")


def test_a_training_is_told_by_the_run_of_table_1_that_it_is(
    script: ModuleType, trained: Callable[..., Path], tmp_path: Path
) -> None:
    dev = {"query_excluded.MAP": 0.5}
    folder = trained("tiny-tml-single-1", figures={"dev": dev, "epoch": 2}, config=CONFIG)
    table = tmp_path / "aeenc_table1_dev.json"
    assert script.training_of(str(folder), table) == {"method": "aeenc", "config": CONFIG}
    run = {
        "trained": {"name": folder.name, "config": CONFIG, "fitted": {"best": {"figures": dev}}},
        "run": {"commit": "0123456789abcdef"},
    }
    rows = {"base": {"0": {"trained": {}}}, "+TML single": {"1": run}}
    table.write_text(json.dumps({"figures": {"rows": rows}}))
    training = script.training_of(str(folder), table)
    assert (training["row"], training["seed"]) == ("+TML single", 1)
    assert "`0123456789ab`" in script.training_in_words(folder.name, training)
    # Another training of the same name and settings is not that run.
    run["trained"]["fitted"]["best"]["figures"] = {"query_excluded.MAP": 0.6}
    table.write_text(json.dumps({"figures": {"rows": rows}}))
    assert "row" not in script.training_of(str(folder), table)
    assert script.training_of("tiny", table) is None


def test_the_script_measures_and_writes(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, letters_index: Any
) -> None:
    monkeypatch.setattr("entail.aeenc.bias.retriever", letters_index)
    monkeypatch.setattr(script, "training_of", lambda name, table: None)
    corpus, trees = tmp_path / "facts.txt", tmp_path / "dev.jsonl"
    corpus.write_text("\n".join(FACTS))
    sentences = {"sent1": FACTS[0], "sent2": FACTS[1], "sent3": FACTS[3]}
    row = {
        "id": "T1",
        "hypothesis": "the sun makes light",
        "context": " ".join(f"{name}: {text}" for name, text in sentences.items()),
        "proof": "sent1 & sent2 & sent3 -> hypothesis; ",
        "meta": {"triples": sentences, "intermediate_conclusions": {}},
    }
    trees.write_text(json.dumps(row))
    out = tmp_path / "bias.json"
    script.measure(corpus, trees, ["aeiou", "stlr", "dnw", "gh"], 2, out)
    page = script.write_page(out, script.markdown).read_text(encoding="utf-8").splitlines()
    figures = json.loads(out.read_text(encoding="utf-8"))["figures"]
    assert figures["split"] == "dev"
    assert figures["retrievers"] == list(figures["trainings"]) == ["aeiou", "stlr", "dnw", "gh"]
    assert list(script.RULES) == list(figures["rules"])
    # five panels, three groups each, by two rules
    assert sum(line.count("| TP |") + line.count("| FN |") + line.count("| FP |") for line in page) == 30
    median = figures["rules"]["all"]["panels"][3]["groups"]["FN"]["quartiles"][1]
    assert any(line.startswith("| (d) cosine, `dnw` | FN |") and f"| {median:.3f} |" in line for line in page)
    assert not any("an encoder tuned on gold triplets" in line for line in page)
    assert any(line.startswith("Of (e) the paper says nothing") for line in page)
    assert not any(line.startswith("**The paper's claim") and "(e)" in line for line in page)


def test_the_published_figures_count_every_candidate() -> None:
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    counts = result["figures"]["rules"]["all"]["counts"]
    queries, k = result["figures"]["queries"], result["figures"]["k"]
    assert counts["TP"] + counts["FP"] == queries * k
    assert counts["TP"] + counts["FN"] == 1250  # gold pairs of dev
    # The paper's panels (c) and (d) are of trainings that Table 1 records.
    _, gold, iterative, *_ = result["figures"]["trainings"].values()
    assert gold["row"].startswith("+TML single")
    assert iterative["row"] == "Iterative AE-Enc single"


@pytest.fixture
def letters_index() -> Any:
    """Return what makes an encoder's index of its name: the letters that two texts share."""
    import numpy as np

    from entail.index.protocol import Manifest

    class Letters:
        def __init__(self, name: str, corpus: Corpus, **_: Any) -> None:
            self.name, self.corpus = name, corpus
            self.manifest = Manifest(f"{name}@1", len(name), "inner_product", len(corpus), corpus.hash)

        def scores(self, queries: list[str]) -> Any:
            return self._vectors(queries) @ self._vectors(self.corpus.texts).T

        def _vectors(self, texts: Any) -> Any:
            counts = np.array([[1 + text.count(c) for c in self.name] for text in texts], np.float32)
            return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    return Letters
