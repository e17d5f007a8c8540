"""The committed figures of the retrievers that need no training, and the table made from them."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
RESULT = ROOT / "docs" / "results" / "premises_dev.json"

# MAP, NDCG, NDCG@10, Hit@10, Hit@20, Hit@50 as worked out independently of this project
EXPECTED = {
    ("tfidf", "paper"): (0.342, 0.525, 0.449, 0.642, 0.734, 0.819),
    ("tfidf", "query_excluded"): (0.454, 0.622, 0.549, 0.654, 0.738, 0.822),
    ("minilm", "paper"): (0.368, 0.555, 0.484, 0.689, 0.782, 0.868),
    ("minilm", "query_excluded"): (0.491, 0.661, 0.592, 0.699, 0.788, 0.869),
}


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("evaluate_baselines")


@pytest.mark.parametrize(("name", "protocol"), EXPECTED, ids="-".join)
def test_dev_figures_are_the_known_ones(result: dict[str, Any], name: str, protocol: str) -> None:
    found = result["figures"]["retrievers"][name]
    assert (found["queries"], found["pairs"], found["missing"]["count"]) == (594, 1250, 0)
    measured = [found[protocol][m] for m in ("MAP", "NDCG", "NDCG@10", "Hit@10", "Hit@20", "Hit@50")]
    assert measured == pytest.approx(EXPECTED[name, protocol], abs=0.003)


def test_the_table_is_made_from_the_figures(result: dict[str, Any], script: ModuleType) -> None:
    page = (ROOT / "docs" / "results" / "premises.md").read_text(encoding="utf-8")
    results = {
        path.stem.removeprefix("premises_"): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(RESULT.parent.glob("premises_*.json"))
    }
    assert results["dev"] == result
    assert page.splitlines() == list(script.markdown(results))


def test_the_script_measures_and_writes(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(script, "RESULTS", tmp_path)
    corpus, trees = tmp_path / "facts.txt", tmp_path / "trees.jsonl"
    corpus.write_text("ice is cold\nsnow is a kind of ice\nfire is hot\n")
    sentences = {"sent1": "ice is cold", "sent2": "snow is a kind of ice"}
    row = {
        "id": "T1",
        "hypothesis": "snow is cold",
        "context": " ".join(f"{name}: {text}" for name, text in sentences.items()),
        "proof": "sent1 & sent2 -> hypothesis; ",
        "meta": {"triples": sentences, "intermediate_conclusions": {}},
    }
    trees.write_text(json.dumps(row))
    arguments = [
        "x",
        "--corpus",
        str(corpus),
        "--trees",
        str(trees),
        *["--split", "tiny", "--retrievers", "tfidf"],
    ]
    monkeypatch.setattr("sys.argv", arguments)
    assert script.main() == 0
    written = json.loads((tmp_path / "premises_tiny.json").read_text())
    assert written["figures"]["retrievers"]["tfidf"]["paper"]["MAP"] == 1.0
    page = (tmp_path / "premises.md").read_text()
    assert "## tiny" in page
    assert "| tfidf | 1.000 |" in page
