"""Facts of an installation: machine, licences, backups; and the commands that tell of it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from entail.cli import main
from entail.data.records import Corpus
from entail.errors import DemoError
from entail.jobs.jobs import Jobs
from entail.operations.doctor import UNKNOWN, _licence, data_licences, encoder_licences, package_licences
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
    monkeypatch.setattr(machine_module, "_MEMORY_LIMITS", ((most, now),))
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


@pytest.mark.parametrize(
    ("expression", "classifiers", "text", "licence"),
    [
        ("MIT", ["License :: OSI Approved :: BSD License"], "GPL", "MIT"),
        (None, ["License :: OSI Approved :: BSD License"], "BSD-3-Clause", "BSD-3-Clause"),
        (None, ["License :: OSI Approved :: BSD License"], "Copyright\nall rights", "BSD License"),
        (None, ["Topic :: Text"], "UNKNOWN", UNKNOWN),
        ("A" * 80, [], "", "A" * 59 + "…"),
    ],
)
def test_a_packages_licence_is_the_most_exact_word_of_it(
    expression: str | None, classifiers: list[str], text: str, licence: str
) -> None:
    assert _licence(expression, classifiers, text) == licence


def test_everything_that_is_here_has_a_line() -> None:
    packages = {package.name.lower(): package for package in package_licences()}
    assert {"streamlit", "torch", "sqlalchemy", "authlib"} <= set(packages)
    assert not packages["streamlit"].look
    assert {encoder.name: encoder.licence for encoder in encoder_licences()}["minilm"] == "apache-2.0"
    data_sets = data_licences([("ours", 2, "CC BY-NC 4.0"), ("theirs", 1, "")])
    assert [(data_set.name, data_set.look) for data_set in data_sets[1:]] == [
        ("ours", True),
        ("theirs", True),
    ]


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


def test_logs_and_licences_on_the_command_line(
    jobs: Jobs, run_json: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logs"]) == 0
    assert capsys.readouterr().out == "the log is empty\n"
    job_id = add_job(jobs, 1, "failed")
    assert run_json("logs", job_id[:15])["text"] == "a step was made"
    assert "no job has the id" in run_json("logs", "nothing", code=1)["error"]["message"]
    assert {licence["kind"] for licence in run_json("doctor", "--licences")["licences"]} == {
        "encoder",
        "sample",
        "package",
    }
