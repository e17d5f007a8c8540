"""``entail sample`` and ``entail train aeenc``, from files and from decisions in the app."""

import gzip
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import entail
from entail.aeenc.config import decisions_config
from entail.cli import main
from entail.data.records import Corpus, Premise
from entail.trees.log.acts import Accept, Conclude, Create, Finish, Reject
from entail.trees.log.event_log import TreeLog
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database

SAMPLE = ["sample", "--retriever", "tiny", "--k", "8"]
SMALL = ["--base", "tiny", "--rank", "4", "--epochs", "2", "--k", "8", "--batch-size", "8"]


@pytest.fixture
def gold(grove_files: tuple[Path, Path]) -> list[str]:
    facts, trees = grove_files
    return ["--corpus", str(facts), "--trees", str(trees)]


@pytest.fixture
def out(tiny_home: Path) -> Path:
    return tiny_home / "mine"


@pytest.fixture
def train(out: Path) -> list[str]:
    return ["train", "aeenc", "--out", str(out), *SMALL]


@pytest.fixture
def dev(grove_files: tuple[Path, Path]) -> list[str]:
    return ["--dev", str(grove_files[1])]


@pytest.fixture
def team(tiny_home: Path, grove: dict[str, Any]) -> str:
    """Author the first five trees as the grove has them, from a corpus without conclusions; its name."""
    conclusions = {row["meta"]["intermediate_conclusions"]["int1"] for row in grove["rows"]}
    facts = [text for text in grove["facts"] if text not in conclusions]
    database = open_database()
    corpus = CorpusStore(database).add_corpus(Corpus.of("ours", facts), author="Ann")
    log = TreeLog(database)
    for row, other in zip(grove["rows"][:5], grove["rows"][1:6], strict=True):
        sentences = row["meta"]["triples"]
        conclusion = row["meta"]["intermediate_conclusions"]["int1"]
        foreign = other["meta"]["triples"]
        tree = log.create(Create(hypothesis=row["hypothesis"]), author="Ann", corpus_id=corpus.id)
        for act in (
            Accept(node="n1", premise=Premise(sentences["sent1"])),  # n2
            Accept(node="n1", premise=Premise(sentences["sent2"])),  # n3
            Accept(node="n1", premise=Premise(sentences["sent3"])),
            Conclude(node="n1", premises=("n2", "n3"), text=conclusion),  # n5
            Reject(node="n1", premise=Premise(sentences["sent4"])),
            Finish(node="n1", premises=(Premise(foreign["sent1"]), Premise(foreign["sent2"]))),
            Reject(node="n5", premise=Premise(sentences["sent4"])),
        ):
            log.act(tree, act, author="Ann", base=log.history(tree).seq)
    database.close()
    return "ours"


def test_sample(
    run_json: Any, gold: list[str], tiny_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pairs.jsonl.gz"
    assert main([*SAMPLE, *gold, "--out", str(file)]) == 0
    assert "tiny: 16 queries" in capsys.readouterr().out
    rows = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert {"query", "positives", "negatives"} == set(rows[0])
    assert all(row["positives"] for row in rows)
    report = run_json(*SAMPLE, *gold)
    assert (report["k"], report["queries"]) == (8, 16)
    assert report["positives"] + report["negatives"] + report["dropped"]["unjudged"] == 16 * 8
    assert report["revision"].startswith("tiny@")
    assert report["negative_scores"]["p0"] <= report["negative_scores"]["p100"] <= 1.001
    report = run_json(*SAMPLE, *gold, "--start", "hypotheses")
    assert 8 <= report["queries"] < 16
    assert report["depth"] <= 1


def test_sample_with_missing_premises(
    run_json: Any,
    gold: list[str],
    tiny_home: Path,
    grove: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    lost = grove["rows"][0]["meta"]["triples"]["sent1"]
    Path(gold[1]).write_text("\n".join(text for text in grove["facts"] if text != lost), encoding="utf-8")
    assert run_json(*SAMPLE, *gold)["missing"] == {"count": 1, "texts": [lost]}
    assert main([*SAMPLE, *gold]) == 0
    assert repr(lost) in capsys.readouterr().out
    assert main([*SAMPLE, *gold, "--extend"]) == 0
    assert "not in the corpus" not in capsys.readouterr().out


def test_train_and_resume(run_json: Any, train: list[str], gold: list[str], dev: list[str]) -> None:
    report = run_json(*train, *gold, *dev)
    assert report["name"] == "mine"
    assert report["config"]["epochs"] == 2
    assert report["counts"]["positives"] == 32
    assert [e["epoch"] for e in report["fitted"]["evaluations"]] == [0, 1, 2]
    assert report["fitted"]["best"]["epoch"] in (1, 2)
    assert len(report["samples"]) == 1
    assert report["missing"] == {"count": 0, "texts": []}
    assert entail.load("mine").entry.method == "aeenc"
    # Once more, and there is nothing left to do.
    again = run_json(*train, *gold, *dev)
    assert again["fitted"]["resumed"] == 1
    assert again["samples"] == report["samples"]
    assert again["fitted"]["evaluations"] == report["fitted"]["evaluations"]


def test_distillation(run_json: Any, train: list[str], gold: list[str], out: Path) -> None:
    distil = [*train, *gold, "--taught", gold[1], "--distil", "1"]
    assert run_json(*distil, "--teacher", "other")["fitted"]["steps"] == 4
    about = json.loads((out / "entail.json").read_text(encoding="utf-8"))
    assert about["trained_on"]["teachers"] == ["other"]
    sentences = about["trained_on"]["sentences"]
    shutil.rmtree(out)
    shutil.rmtree(out.with_name(f"{out.name}.training"))
    run_json(*distil, "--teacher", "other", "--near", "3")
    about = json.loads((out / "entail.json").read_text(encoding="utf-8"))
    assert about["trained_on"]["sentences"] > sentences + 10
    assert "--teacher and --taught together" in run_json(*distil, code=1)["error"]["message"]


def test_train_with_missing_premises(
    run_json: Any,
    train: list[str],
    gold: list[str],
    dev: list[str],
    out: Path,
    grove: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    conclusions = {row["meta"]["intermediate_conclusions"]["int1"] for row in grove["rows"]}
    facts = [text for text in grove["facts"] if text not in conclusions]
    Path(gold[1]).write_text("\n".join(facts), encoding="utf-8")
    assert main([*train, *gold, *dev]) == 0
    text = capsys.readouterr().out
    for piece in (
        "8 gold premises are not in the corpus",
        "epoch  query_excluded.MAP",
        "kept the weights of epoch",
        f"wrote {out}",
    ):
        assert piece in text
    report = run_json(*train, *gold, *dev, "--extend", "--no-resume")
    assert report["missing"]["count"] == 0
    assert report["counts"]["positives"] == 32
    # Measured on the corpus as given: a third is not there to be found.
    assert report["fitted"]["evaluations"][0]["figures"]["query_excluded.Hit@50"] == pytest.approx(24 / 32)


def test_train_from_decisions(run_json: Any, train: list[str], team: str, dev: list[str], out: Path) -> None:
    report = run_json(*train, "--from-log", team, *dev)
    config = json.loads((out / "entail.json").read_text(encoding="utf-8"))["config"]
    options = {"base": "tiny", "rank": 4, "epochs": 2, "k": 8, "batch_size": 8}
    assert config == asdict(decisions_config(**options)), "what is not given is as on the Trees page"
    assert report["counts"] == {"queries": 10, "positives": 20, "negatives": 20, "triplets": 40}
    assert report["missing"]["count"] == 0
    assert report["fitted"]["evaluations"][0]["figures"]["query_excluded.Hit@50"] == pytest.approx(24 / 32)


def test_sample_from_decisions(run_json: Any, team: str) -> None:
    report = run_json(*SAMPLE, "--from-log", team)
    assert report["queries"] == 10
    assert report["dropped"]["unjudged"] == 80 - report["positives"] - report["negatives"]
    less = run_json(*SAMPLE, "--from-log", team, "--no-extend", "--k", "100")
    assert less["k"] == 32
    assert less["positives"] == 15  # the five conclusions are not in the corpus


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "either --trees FILE or --from-log CORPUS"),
        (["--trees", "a", "--from-log", "b"], "either --trees FILE or --from-log CORPUS"),
        (["--trees", "nowhere.jsonl"], "--corpus FILE beside --trees"),
        (["--from-log", "nothing"], "nothing"),
        (["--from-log", "new"], "accept some candidates of a tree first"),
        (["--trees", "nowhere.jsonl", "--corpus", "nowhere.txt"], "nowhere.txt"),
        (["--from-log", "new", "--towers", "dual", "--live-k", "5"], "live_k needs a frozen premise tower"),
    ],
)
def test_errors(run_json: Any, train: list[str], arguments: list[str], message: str) -> None:
    database = open_database()
    CorpusStore(database).add_corpus(Corpus.of("new", ["ba be"]), author="Ann")
    database.close()
    assert message in run_json(*train, *arguments, code=1)["error"]["message"]
