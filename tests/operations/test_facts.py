"""Machine, backups and logs of an installation; the commands that tell of it."""

import json
import logging
import logging.config
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from entail import memory as memory_module
from entail.cli import main
from entail.data.records import Corpus
from entail.errors import DemoError
from entail.jobs.jobs import Jobs
from entail.operations import logs as logs_module
from entail.operations.logs import app_log, logs, tail
from entail.operations.storage import back_up, backups
from entail.runtime import machine as machine_module
from entail.runtime.machine import inspect_machine, list_gpus, parse_gpus
from entail.trees.installation.backup import restore
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database
from tests.operations.conftest import add_job

TOLD = "NVIDIA H200, 143771, 1024, 37, 580.95.05\nNVIDIA A2, 15356, 0, [N/A], 580.95.05\nnonsense\n"


def test_the_machine_and_the_limit_of_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most, now = tmp_path / "most", tmp_path / "now"
    monkeypatch.setattr(memory_module, "_MEMORY_LIMITS", ((most, now),))
    machine = inspect_machine()
    assert 0 < machine.memory_free < machine.memory
    assert 10 * 2**20 < machine.process_memory < machine.memory
    assert json.dumps(machine.to_json())
    most.write_text("1000000\n")
    now.write_text("400000\n")
    limited = inspect_machine()
    assert (limited.memory, limited.memory_free) == (1_000_000, 600_000)
    most.write_text("max\n")
    assert inspect_machine().memory == machine.memory


def test_gpus_are_what_the_tool_of_their_maker_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = parse_gpus(TOLD)
    assert (first.name, first.total, first.used, first.busy) == ("NVIDIA H200", 143771 * 2**20, 2**30, 0.37)
    assert (second.busy, second.driver) == (None, "580.95.05")
    monkeypatch.setattr(machine_module.shutil, "which", lambda name: "/bin/nvidia-smi")
    monkeypatch.setattr(
        machine_module.subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 0, TOLD, "")
    )
    assert list_gpus() == (first, second)

    def slow(*a: object, **k: object) -> None:
        raise subprocess.TimeoutExpired("nvidia-smi", 5)

    monkeypatch.setattr(machine_module.subprocess, "run", slow)
    assert list_gpus() == ()


def test_a_backup_is_whole_and_can_be_brought_back(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CorpusStore(open_database())
    store.add_corpus(Corpus.of("facts", ["ice is cold"]), author="Ada")
    first, second = back_up(), back_up()
    assert backups(jobs.settings) == [second.file, first.file]
    assert first.rows["premises"] == 1
    elsewhere = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    restore(second.file, url=elsewhere)
    assert [corpus.name for corpus in CorpusStore(open_database(elsewhere)).corpora()] == ["facts"]
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    with pytest.raises(DemoError):
        back_up()


def test_clean_lists_first_and_removes_what_is_named(
    jobs: Jobs, run_json: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    failed, done = add_job(jobs, 1, "failed"), add_job(jobs, 2, "done")
    listed = run_json("clean")["removable"]
    assert {thing["id"] for thing in listed} == {f"checkpoints/{failed}", f"checkpoints/{done}"}
    assert main(["clean", "checkpoints", "--dry-run"]) == 0
    assert f"checkpoints/{done}" in capsys.readouterr().out
    assert (jobs.folder / done / "checkpoints").exists()
    # What is likely to be needed again goes only when it is named, or with --all.
    assert [thing["id"] for thing in run_json("clean", "checkpoints")["removed"]] == [f"checkpoints/{done}"]
    assert (jobs.folder / failed / "checkpoints").exists()
    assert main(["clean", f"checkpoints/{failed}"]) == 0
    assert not (jobs.folder / failed / "checkpoints").exists()
    assert "expected one of vectors" in run_json("clean", "trees", code=1)["error"]["message"]


def test_logs_on_the_command_line(jobs: Jobs, run_json: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs"]) == 0
    assert capsys.readouterr().out == "the log is empty\n"
    job_id = add_job(jobs, 1, "failed")
    assert run_json("logs", job_id[:15])["text"] == "a step was made"
    assert "no job has the id" in run_json("logs", "nothing", code=1)["error"]["message"]


def test_a_tail_is_the_end_of_the_log(jobs: Jobs) -> None:
    worker = next(log for log in logs() if log.name == "worker")
    assert (worker.size, tail("worker")) == (0, "")
    worker.file.parent.mkdir(parents=True)
    worker.file.write_bytes(
        b"x" * 200_000 + b"\n" + b"\n".join(b"line %d" % i for i in range(500)) + b"\n\xff"
    )
    lines = tail("worker", lines=3).splitlines()
    assert lines == ["line 498", "line 499", "\ufffd"]
    assert tail("worker", lines=1) == "\ufffd"


def test_what_the_app_says_is_kept_beside_being_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ENTAIL_DEMO", raising=False)
    monkeypatch.setattr(logs_module, "LONGEST", 100)
    file, before = tmp_path / "log" / "app.log", sys.stderr
    with app_log(file):
        handler = logging.StreamHandler()
        logger = logging.getLogger("entail.test_logs")
        logger.addHandler(handler)
        logger.warning("said by a logger")
        logger.removeHandler(handler)
        logging.config.dictConfig({"version": 1, "disable_existing_loggers": False})  # as other libraries do
        sys.stderr.write("said by hand\n")
        assert not sys.stderr.isatty()
        sys.stderr.writelines(["x" * 200, "\n"])
        sys.stderr.write("after\n")
    assert sys.stderr is before
    errors = capsys.readouterr().err
    assert "said by a logger\nsaid by hand\n" in errors
    assert file.read_text() == "\nafter\n"
    assert file.with_name("app.log.before").read_text() == "said by a logger\nsaid by hand\n" + "x" * 200
