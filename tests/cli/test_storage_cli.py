"""``entail backup``, ``restore`` and ``doctor``, as a person and as a program see them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from entail.cli import main
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(folder))
    monkeypatch.delenv("ENTAIL_DATABASE_URL", raising=False)
    return folder


@pytest.fixture
def tree() -> str:
    database = open_database()
    tree_id = TreeLog(database).create(Create(hypothesis="h"), author="Ann")
    database.close()
    return tree_id


def test_overwrite_and_replace(run_json: Any, tree: str, tmp_path: Path) -> None:
    file = tmp_path / "b.zip"
    written = run_json("backup", str(file))
    assert (written["file"], written["bytes"]) == (str(file), file.stat().st_size)
    assert written["rows"]["trees"] == 1
    assert "--overwrite" in run_json("backup", str(file), code=1)["error"]["message"]
    run_json("backup", str(file), "--overwrite")
    assert "--replace" in run_json("restore", str(file), code=1)["error"]["message"]
    restored = run_json("restore", str(file), "--replace")
    assert (restored["rows"], restored["damaged"]) == (written["rows"], None)
    assert [restored["before"]] == [str(path) for path in (tmp_path / "data").glob("before-restore-*.zip")]


def test_damaged_database(tree: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "b.zip"
    main(["backup", str(file)])
    (data / "entail.db").write_bytes(b"no database" * 1000)
    assert main(["doctor"]) == 1
    assert "PROBLEM: the database" in capsys.readouterr().out
    assert main(["restore", str(file)]) == 1
    assert main(["restore", str(file), "--replace"]) == 0
    assert "the damaged database was moved to" in capsys.readouterr().out
    assert main(["doctor"]) == 0


def test_doctor(run_json: Any, tree: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    pieces = ("entail ", "python", "torch", "device", str(data), "vectors of premises", "revision")
    for piece in (*pieces, "1 tree, 1 act"):
        assert piece in out
    assert "PROBLEM" not in out
    report = run_json("doctor")
    assert (report["problems"], report["database"]["rows"]["trees"]) == ([], 1)
    expected = {"versions", "device", "database", "problems", "machine", "room", "jobs"}
    assert set(report) == expected
