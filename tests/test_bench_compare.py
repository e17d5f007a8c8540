"""The bench of the Compare page: it measures the pair that it is given, with all panels of Figure 3."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus


@pytest.fixture
def bench(load_script: Callable[[str], ModuleType], tiny_home: Path) -> ModuleType:
    pytest.importorskip("playwright", reason="the program drives a browser; tests/requirements.txt names it")
    return load_script("bench_compare")


@pytest.fixture
def files(grove: dict[str, Any], tmp_path: Path) -> tuple[Path, Path]:
    trees, corpus = tmp_path / "trees.jsonl", tmp_path / "facts.txt"
    trees.write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    corpus.write_text("\n".join(grove["facts"]), encoding="utf-8")
    return trees, corpus


class Browser:
    """A browser, its page and what stands on it, which remembers where it went and what it waited for."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, list[str]]] = []
        self.chromium = self.first = self

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None: ...

    def launch(self, **_: Any) -> "Browser":
        return self

    def new_page(self, **_: Any) -> "Browser":
        return self

    def goto(self, address: str) -> None:
        self.seen.append((address.partition("?")[2], []))

    def locator(self, what: str) -> "Browser":
        self.seen[-1][1].append(what)
        return self

    def wait_for(self, **_: Any) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("pair", "panels"), [(("tiny", "other"), 5), (("tfidf", "tiny"), 3), (("tfidf", "bm25"), 0)]
)
def test_the_library_draws_the_panels_of_both(
    bench: ModuleType, files: tuple[Path, Path], tmp_path: Path, pair: tuple[str, str], panels: int
) -> None:
    trees, corpus = list(read_trees(files[0])), Corpus.of("facts", files[1].read_text().splitlines())
    figures = bench.library(corpus, trees, pair, tmp_path / "data", 1)
    assert figures["panels"] == panels  # (a), and of each encoder a scatter and its boxes
    assert ("bias" in figures["library_seconds"]) is (panels > 0)
    assert all(seconds >= 0 for seconds in figures["library_seconds"].values())


def test_the_page_is_opened_with_the_pair_that_was_asked_for(
    bench: ModuleType, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Browser()
    monkeypatch.setattr(bench, "sync_playwright", lambda: browser)
    monkeypatch.setattr(bench, "start", lambda _: (None, "http://here"))
    monkeypatch.setattr(bench, "stop", lambda _: None)
    monkeypatch.setattr(bench, "find_chromium", lambda: "chromium")
    arguments = ["--trees", str(files[0]), "--corpus", str(files[1]), "--out", str(tmp_path / "compare.json")]
    monkeypatch.setattr(
        "sys.argv", ["bench", *arguments, "--repeats", "1", "--left", "tiny", "--right", "other"]
    )
    bench.main()
    figures = json.loads((tmp_path / "compare.json").read_text(encoding="utf-8"))["figures"]
    assert (figures["retrievers"], figures["panels"]) == (["tiny", "other"], 5)
    modes = [(address.partition("&corpus")[0], len(waited)) for address, waited in browser.seen]
    both = "left=tiny&right=other"
    assert modes == [
        (f"mode=query&{both}", 1),
        ("mode=split&left=tiny&right=tiny", 1),  # the query vectors of each are cached before anything counts
        ("mode=split&left=other&right=other", 1),
        (f"mode=split&{both}", 2),
        (f"mode=split&{both}", 2),
        (f"mode=bias&{both}", 2),
        (f"mode=query&{both}", 1),
    ]
    assert {"bias", "bias_findings", "split", "split_claims", "vectors_other"} <= figures[
        "page_seconds"
    ].keys()


def test_the_same_retriever_twice_is_refused(
    bench: ModuleType, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    arguments = ["--trees", str(files[0]), "--corpus", str(files[1]), "--left", "tiny", "--right", "tiny"]
    monkeypatch.setattr("sys.argv", ["bench", *arguments])
    with pytest.raises(SystemExit):
        bench.main()
    assert "found tiny twice; name another one" in capsys.readouterr().err
