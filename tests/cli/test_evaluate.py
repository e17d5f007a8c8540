import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.data.entailment_bank.trees import read_trees
from entail.data.records import gold_children
from entail.data.text import premise_key
from entail.encoders.card import write_training_queries

FACTS = [
    "a star is a kind of celestial object",
    "the sun is a kind of star",
    "the sun is a celestial object",
    "earth is a kind of planet",
    "the sun is the star that is closest to earth",
    "ice is frozen water",
    "water freezes at zero degrees",
    "the sun makes light , and heat",
]


def row(*, hypothesis: str, sentences: dict[str, str], proof: str, tree_id: str = "T1") -> dict[str, Any]:
    """Make a row of official EntailmentBank JSONL, task 1."""
    intermediates = dict(re.findall(r"-> (int\d+): ([^;]+);", proof))
    return {
        "id": tree_id,
        "context": " ".join(f"{name}: {text}" for name, text in sentences.items()),
        "hypothesis": hypothesis,
        "proof": proof,
        "meta": {"triples": sentences, "intermediate_conclusions": intermediates, "distractors": []},
    }


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "facts.txt.gz"
    path.write_bytes(gzip.compress("\n".join(FACTS).encode()))
    return path


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    rows = [
        row(
            hypothesis="the sun is the celestial object that is closest to earth",
            sentences={"sent1": FACTS[0], "sent2": FACTS[1], "sent3": FACTS[4]},
            proof="sent1 & sent2 -> int1: the sun is a celestial object; int1 & sent3 -> hypothesis; ",
        ),
        row(
            hypothesis="ice melts above zero degrees",
            sentences={"sent1": FACTS[5], "sent2": "a fact of nowhere"},
            proof="sent1 & sent2 -> hypothesis; ",
            tree_id="T2",
        ),
    ]
    path = tmp_path / "dev.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps(r) for r in rows).encode()))
    return path


@pytest.fixture
def evaluate(corpus: Path, trees: Path) -> list[str]:
    """Return the command with its files and a first retriever."""
    files = ["--corpus", str(corpus), "--trees", str(trees)]
    return ["evaluate", "premises", *files, "--retriever", "tfidf"]


def test_json(run_json: Any, evaluate: list[str]) -> None:
    figures = run_json(*evaluate)
    for protocol in ("paper", "query_excluded"):
        assert {"MAP", "NDCG", "Hit@10", "Hit@50"} <= set(figures[protocol])
        assert all(0 <= value <= 1 for value in figures[protocol].values())
    assert (figures["trees"], figures["queries"], figures["pairs"]) == (2, 3, 6)
    assert figures["retriever"] == "tfidf"
    assert figures["missing"] == {"count": 1, "texts": ["a fact of nowhere"]}
    # eight facts, so ten candidates are all: only the fact of nowhere is not found
    assert figures["paper"]["Hit@10"] == pytest.approx(5 / 6)
    assert figures["query_excluded"]["MAP"] > figures["paper"]["MAP"]
    assert figures["effort"]["accepted"] == 5
    assert figures["effort"]["missing_share"] == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("content", "advice", "options"),
    [
        ("id;text\n1;caf\xe9s\n".encode("cp1252"), "encoding", ["--encoding", "cp1252"]),
        ("id;text\n1;\u6c37\n".encode("cp932"), "encoding", ["--encoding", "cp932"]),
        (b"id;Fakt\n1;ice\n", "column", ["--column", "Fakt"]),
    ],
)
def test_what_an_error_advises_can_be_done(
    run_json: Any, evaluate: list[str], tmp_path: Path, content: bytes, advice: str, options: list[str]
) -> None:
    file = tmp_path / "facts.csv"
    file.write_bytes(content)
    arguments = [*evaluate, "--corpus", str(file)]
    assert advice in run_json(*arguments, code=1)["error"]["message"]
    assert run_json(*arguments, *options)["manifest"]["count"] == 1


def test_unseen_queries(
    run_json: Any, evaluate: list[str], trees: Path, tiny_models: Path, tmp_path: Path
) -> None:
    mine = Path(shutil.copytree(tiny_models / "tiny", tmp_path / "mine"))
    queries = list(gold_children(read_trees(trees)))
    write_training_queries(mine, [premise_key(queries[0])])
    evaluate += ["--retriever", str(mine), "--no-effort"]
    figures = run_json(*evaluate)
    assert "unseen" not in figures
    (other,) = figures["others"]
    assert other["unseen"]["queries"] == len(queries) - 1
    assert other["unseen"]["paper"]["MAP"] != other["paper"]["MAP"]
    write_training_queries(mine, map(premise_key, queries))
    assert run_json(*evaluate)["others"][0]["unseen"] == {"queries": 0}


def test_comparison(run_json: Any, evaluate: list[str], tmp_path: Path) -> None:
    alone = run_json(*evaluate)
    assert not {"others", "comparison"} & set(alone)
    path = tmp_path / "both.json"
    figures = run_json(*evaluate, "--retriever", "bm25", "--retriever", "tfidf", "--out", str(path))
    assert {name: figures[name] for name in alone if name != "measured"} | {
        "measured": figures["measured"][: len(alone["measured"])]
    } == alone
    assert figures["comparison"] == {"level": 0.95, "samples": 10_000, "seed": 0}
    bm25, tfidf = figures["others"]
    assert (bm25["retriever"], tfidf["retriever"]) == ("bm25", "tfidf")
    for protocol in ("paper", "query_excluded"):
        assert set(bm25["against_first"][protocol]) == set(figures[protocol])
        for measure, difference in bm25["against_first"][protocol].items():
            assert difference["first"] == pytest.approx(figures[protocol][measure])
            assert difference["second"] == pytest.approx(bm25[protocol][measure])
        assert {d["p"] for d in tfidf["against_first"][protocol].values()} == {1.0}
    written = json.loads(path.read_text())
    assert (written["figures"], written["seed"]) == (figures, 0)
    assert {"commit", "hardware", "command", "wall_seconds"} <= set(written)


def test_bias(run_json: Any, evaluate: list[str], tiny_home: Path) -> None:
    encoders = [*evaluate[:-1], "tiny", "--retriever", "other", "--bias", "--no-effort"]
    bias = run_json(*encoders)["bias"]
    assert (bias["retrievers"], bias["queries"]) == (["tiny", "other"], 3)
    assert bias["counts"]["TP"]
    assert "'tfidf' has no vectors" in run_json(*evaluate, "--bias", code=1)["error"]["message"]


@pytest.mark.parametrize(
    ("files", "arguments", "expected"),
    [
        (
            {
                "pool.tsv": "docno\ttext\tlang\n7\tthe moon pulls the tide\ten\n",
                "topics.csv": "qid,query,year\n3,the tide,1970\n",
                "qrels": "3 0 7 1\n4 0 7 1\n",
            },
            "--passages pool.tsv --questions topics.csv --qrels qrels",
            {"R@1": 1, "unread_columns": ["year"], "judged_without_question": 1},
        ),
        (
            {"pool.txt": 'Galileo\'s "Dialogue"\nthe sun', "qas.csv": 'Galileo who?\t"[""Galileo\'s""]"\n'},
            "--passages pool.txt --questions qas.csv",
            {"Success@1": 1, "by": "answer"},
        ),
    ],
    ids=["columns", "quotes"],
)
def test_passages_of_data_sets(
    run_json: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    arguments: str,
    expected: dict[str, Any],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    figures = run_json("evaluate", "passages", *arguments.split())
    assert {name: figures[name] for name in expected} == expected


ROWS = [
    ("a dog runs far in the park", "a dog runs", "entailment"),
    ("ice", "ice is frozen", "entailment"),
    ("a dog runs far in the park", "a dog sleeps", "contradiction"),
    ("ice", "fire", "neutral"),
    ("ice", "fire", "-"),
]


@pytest.fixture
def evaluate_nli(run_json: Any, tiny_home: Path, tmp_path: Path) -> Callable[..., Any]:
    """Return what runs the command on `ROWS`."""
    path = tmp_path / "dev.jsonl.gz"
    lines = [json.dumps({"sentence1": p, "sentence2": h, "gold_label": label}) for p, h, label in ROWS]
    path.write_bytes(gzip.compress("\n".join([*lines, "{broken"]).encode()))
    return lambda *more, **code: run_json("evaluate", "nli", "--data", str(path), *more, **code)


def test_point_encoder(evaluate_nli: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "results" / "tiny.json"
    figures = evaluate_nli("--encoder", "tiny", "--out", str(path))
    assert json.loads(path.read_text())["figures"] == figures
    assert (figures["threshold_from"], figures["encoder"]) == ("data", "tiny")
    assert figures["accuracy"] >= figures["majority"] == 0.5
    assert figures["data"]["skipped"]["unreadable"] == 1
    refused = evaluate_nli("--direction", "--encoder", "tiny", code=1)["error"]["message"]
    assert "a point encoder given where a Gaussian one is needed" in refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--encoder", "tiny", "--judge", "nli-minilm"], "--judge"),
        (["--encoder", "tiny", "--direction", "--dev", "x.tsv"], "--direction"),
    ],
)
def test_options_that_exclude_each_other(
    evaluate_nli: Callable[..., Any], options: list[str], message: str
) -> None:
    assert message in evaluate_nli(*options, code=1)["error"]["message"]
