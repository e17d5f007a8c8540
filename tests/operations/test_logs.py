"""Ends of logs, and no secret in them."""

import logging
import logging.config
import sys
from pathlib import Path

import pytest

from entail.jobs.jobs import Jobs
from entail.operations import logs as logs_module
from entail.operations.logs import app_log, logs, tail
from tests.operations.conftest import add_job


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


def test_a_job_has_a_log_of_its_own(jobs: Jobs) -> None:
    job_id = add_job(jobs, 1, "failed")
    (jobs.folder / job_id / "log.txt").write_text("began\npassword=abcdef\n")
    assert tail(job_id) == "began\npassword=***"


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


def test_where_nothing_can_be_kept_it_is_only_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    with app_log(tmp_path / "file" / "app.log"):
        sys.stderr.write("said\n")
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    with app_log(tmp_path / "log" / "app.log"):
        sys.stderr.write("said\n")
    assert capsys.readouterr().err == "said\nsaid\n"
    assert not (tmp_path / "log").exists()
