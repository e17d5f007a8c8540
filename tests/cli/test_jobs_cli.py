"""``entail train --queue``, ``jobs`` and ``promote``: from a team's decisions to its active models."""

import json
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from entail.cli import main
from entail.data.records import Corpus, Premise
from entail.jobs.child import Attempt, finish
from entail.jobs.handle import JobHandle
from entail.jobs.jobs import Jobs
from entail.jobs.worker import run_job
from entail.registry.models import active
from entail.trees.log.acts import Accept, Create, Reject
from entail.trees.log.event_log import TreeLog
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database

SMALL = ["--base", "tiny", "--epochs", "2", "--set", "rank=4", "--set", "rounds=0", "--set", "precision=fp32"]
QUEUE = ["train", "aeenc", "--queue", "--out"]
pytestmark = pytest.mark.usefixtures("tiny_home")


@dataclass
class Here:
    """A training that ran in this process."""

    code: int
    pid: int = 0

    def poll(self) -> int:
        return self.code


def train_here(job: JobHandle, attempt: int, lock: int, pipe: int) -> Here:
    return Here(finish(job, Attempt(job).run()))


def accept_and_reject(log: TreeLog, corpus_id: str, rows: list[Any]) -> None:
    for row, other in zip(rows, [*rows[1:], rows[0]], strict=True):
        tree = log.create(Create(hypothesis=row["hypothesis"]), author="Ann", corpus_id=corpus_id)
        for act in (
            Accept(node="n1", premise=Premise(row["meta"]["triples"]["sent1"])),
            Accept(node="n1", premise=Premise(row["meta"]["triples"]["sent2"])),
            Reject(node="n1", premise=Premise(other["meta"]["triples"]["sent3"])),
        ):
            log.act(tree, act, author="Ann", base=log.history(tree).seq)


def test_submit_train_promote(
    run_json: Any, tmp_path: Path, grove: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    database = open_database()
    corpus = CorpusStore(database).add_corpus(Corpus.of("ours", grove["facts"]), author="Ann")
    log = TreeLog(database)
    accept_and_reject(log, corpus.id, grove["rows"][:4])
    dev = tmp_path / "dev.jsonl"
    dev.write_text("\n".join(map(json.dumps, grove["rows"][4:])), encoding="utf-8")
    job = run_json(*QUEUE, "models/mine", "--from-log", "ours", "--dev", str(dev), *SMALL)
    expected = {"state": "queued", "place": 1, "name": "mine", "about": "the decisions on ours"}
    assert job.items() >= expected.items()
    assert run_json("jobs", "list")["jobs"][0]["id"] == job["id"]
    jobs = Jobs()
    promoted = run_json("promote", "tiny", "--anyway")
    assert promoted["encoder"] == "tiny"
    run_job(jobs.handle(job["id"]), stopping=lambda: False, spawn=train_here)
    details = run_json("jobs", "show", job["id"][:-2])
    assert (details["state"], details["result"]["counts"]["positives"]) == ("done", 8), jobs.log_tail(
        job["id"]
    )
    # What was learnt from is kept: the team goes on deciding.
    accept_and_reject(log, corpus.id, grove["rows"][5:8])
    folder = jobs.handle(job["id"]).path
    assert len(json.loads((folder / "decisions.json").read_text(encoding="utf-8"))["accepted"]) == 4

    assert run_json("promote", "mine", "--corpus", "theirs", code=1)["error"]["type"] == "CorpusError"
    assert run_json("promote", "mine", "--corpus", "ours", "--anyway")["corpus"] == "ours"
    now = active("ours")
    assert (now.encoder, active().encoder) == ("mine", "tiny")
    assert now.pointer is not None
    assert now.pointer.evaluation is not None
    assert now.pointer.evaluation["active"] == active().revision
    # One tower learnt: the premise vectors are those of the base, and were there before the pointer moved.
    assert now.premise_revision == active().revision
    assert list((tmp_path / "data" / "vectors").glob("tiny*/*.json"))
    data = run_json("promote", "--corpus", corpus.id)
    assert (data["active"]["encoder"], len(data["history"])) == ("mine", 1)
    run_json("promote", "--back", "--corpus", "ours")
    assert active("ours").encoder == "tiny"
    assert run_json("promote", "--back", "--corpus", "ours", code=1)["error"]["type"] == "PromotionError"

    capsys.readouterr()
    assert main(["jobs", "show", job["id"]]) == 0
    text = capsys.readouterr().out
    assert "the decisions on ours" in text
    assert "MAP, query excluded" in text
    assert run_json("jobs", "delete", job["id"])["bytes"] > 0
    assert run_json("jobs")["jobs"] == []


def test_cancel_resume_errors(run_json: Any, grove_files: tuple[Path, Path]) -> None:
    facts, trees = grove_files
    options = ["--corpus", str(facts), "--trees", str(trees), *SMALL]
    job = run_json(*QUEUE, "mine", *options)["id"]
    assert run_json(*QUEUE, "mine", *options, code=1)["error"]["type"] == "JobError"
    assert run_json("jobs", "delete", job, code=1)["error"]["message"].endswith("cancel it first")
    assert run_json("jobs", "cancel", job)["state"] == "cancelled"
    assert run_json("jobs", "resume", job)["place"] == 1
    assert run_json("jobs", "resume", job, code=1)["error"]["type"] == "JobError"
    assert run_json("logs", job)["text"] == ""
    assert run_json("jobs", "show", "nothing", code=1)["error"]["type"] == "UnknownJobError"
    for arguments in (["show"], ["list", job]):
        assert run_json("jobs", *arguments, code=1)["error"]["type"] == "SettingsError"
    assert run_json(*QUEUE, "x", code=1)["error"]["type"] == "SettingsError"
    assert run_json("promote", "tiny", code=1)["error"]["type"] == "PromotionError"
    assert run_json("promote", "tiny", "--back", code=1)["error"]["type"] == "SettingsError"


def test_promote_and_roll_back_by_role(run_json: Any, tiny_home: Path, gaussian: str, tmp_path: Path) -> None:
    dev = tmp_path / "dev.jsonl"
    pair = {"sentence1": "ba be bi bo", "sentence2": "ba", "gold_label": "entailment"}
    dev.write_text(json.dumps(pair), encoding="utf-8")
    shutil.copytree(tiny_home / gaussian, tiny_home / "gausscse-minilm")
    measured = ["evaluate", "nli", "--direction", "--data", str(dev)]
    assert run_json(*measured)["encoder"] == "gausscse-minilm"
    assert run_json("promote")["in_use"]["direction"]["encoder"] == "gausscse-minilm"
    promoted = run_json("promote", "mine")
    assert (promoted["role"], promoted["evaluation"]["primary"]) == ("direction", "Direction")
    assert promoted["evaluation"]["rivals"]
    assert run_json(*measured)["encoder"] == "mine"
    run_json("promote", "tiny", "--anyway")
    back = run_json("promote", "--back", "--role", "direction")
    assert (back["in_use"]["direction"]["encoder"], back["active"]["encoder"]) == ("gausscse-minilm", "tiny")
    assert [move["role"] for move in back["history"] if "role" in move] == ["direction"] * 2
    assert run_json("promote", "--back")["active"]["encoder"] == "minilm"
    assert run_json("promote", "--back", code=1)["error"]["type"] == "PromotionError"


@pytest.mark.parametrize(
    ("name", "role", "settings"),
    [
        ("judge", "judge", {"rank": 2, "epochs": 1}),
        ("arcf", "chains", {"rank": 2, "epochs": 1, "token_budget": 9000, "k": 20, "power": 0}),
    ],
)
def test_a_model_trained_on_the_sample_is_compared_promoted_and_rolled_back(
    run_json: Any, tiny_home: Path, name: str, role: str, settings: dict[str, int]
) -> None:
    options = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    run_json("train", name, "--sample", "--base", "tiny", *options, "--out", str(tiny_home / "own-1"))
    shutil.copytree(tiny_home / "own-1", tiny_home / "own-2")
    assert run_json("promote")["in_use"][role]["encoder"] == "own-1", "the first one that is installed"
    promoted = run_json("promote", "own-2")
    assert promoted["role"] == role
    assert all(0 <= figure <= 1 for figure in promoted["evaluation"]["rivals"].values())
    assert promoted["evaluation"]["rivals"], "a simple rule on the same data"
    assert run_json("promote", "--back", "--role", role)["in_use"][role]["encoder"] == "own-1"


def test_the_command_that_undoes_a_promotion_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    CorpusStore(open_database()).add_corpus(Corpus.of("Ann's facts", ["ba be"]), author="Ann")
    assert main(["promote", "tiny", "--corpus", "Ann's facts", "--anyway"]) == 0
    match = re.search(r"`entail (.*)`", capsys.readouterr().out)
    assert match is not None
    assert main(shlex.split(match[1])) == 0
    assert active("Ann's facts").encoder != "tiny"
