"""Ends of logs, and no secret in them."""

import logging
import logging.config
import sys
from pathlib import Path

import pytest

from entail.jobs.jobs import Jobs
from entail.operations import logs as logs_module
from entail.operations.logs import app_log, logs, tail


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
