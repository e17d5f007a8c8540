"""``entail claim``, ``convert``, ``backup``, ``restore`` and ``doctor``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from entail.cli import main
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database


def test_claims_of_a_question_and_of_a_file(run_json: Any, tmp_path: Path) -> None:
    assert run_json("claim", "When did Rome win?")["claim"] == "There exists a known time when Rome won."
    data = run_json("claim", "When did Rome win?", "--answer", "202 BC")
    assert (data["rule"], data["fallback"], data["how"]) == ("when", False, "inserted")
    assert data["statement"] == "Rome won in 202 BC."
    file = tmp_path / "questions.jsonl"
    rows = [{"question": "who won", "answer": ["Rome", "the Romans"]}, {"question": "谁写了红楼梦"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    data = run_json("claim", "--file", str(file))
    assert (data["questions"], data["fallback"]) == (2, 1)
    assert [claim["rule"] for claim in data["claims"]] == ["who", "general"]
    assert [claim.get("statement") for claim in data["claims"]] == ["Rome won.", None]
    for arguments in ([], ["who won", "--file", "x"], ["--file", "x", "--answer", "Rome"]):
        assert run_json("claim", *arguments, code=1)["error"]["type"] == "SettingsError"


ROW = '{"id": "r", "hypothesis": "h", "proof": "sent1 -> hypothesis; ", "context": "sent1: a"}\n'


@pytest.fixture(autouse=True)
def data(own_data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a file of three trees; return the data folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trees.jsonl").write_text(ROW * 3)
    return own_data_folder


def test_convert(run_json: Any, tmp_path: Path) -> None:
    assert run_json("convert", "trees.jsonl", "out.csv") == {"trees": 3, "files": ["out.csv"]}
    files = ["out-001.dot", "out-002.dot", "out-003.dot"]
    assert run_json("convert", "trees.jsonl", "out.dot") == {"trees": 3, "files": files}
    assert (tmp_path / "out-003.dot").exists()
    assert run_json("convert", "trees.jsonl", "out.dot", "--row", "1") == {"trees": 1, "files": ["out.dot"]}


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


def test_damaged_database(tree: str, data: Path, tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "b.zip"
    run_json("backup", str(file))
    (data / "entail.db").write_bytes(b"no database" * 1000)
    assert run_json("doctor", code=1)["problems"]
    run_json("restore", str(file), code=1)
    assert Path(run_json("restore", str(file), "--replace")["damaged"]).exists()
    assert run_json("doctor")["problems"] == []


def test_doctor(run_json: Any, tree: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run_json("doctor")
    assert (report["problems"], report["database"]["rows"]["trees"]) == ([], 1)
    assert set(report) == {"versions", "device", "database", "problems", "machine", "room", "jobs"}
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for piece in ("entail ", "torch", "device", str(data), "vectors of premises", "1 tree, 1 act"):
        assert piece in out
    assert "PROBLEM" not in out


def test_a_corpus_is_encoded_into_a_store(tiny_home: Path, run_json: Any, tmp_path: Path) -> None:
    (tmp_path / "facts.txt").write_text("ba be\nda di\n", encoding="utf-8")
    command = ("encode", "--corpus", "facts.txt", "--out", "store", "--encoder", "tiny")
    first, again = run_json(*command), run_json(*command)
    assert (first["premises"], first["encoded"], again["encoded"]) == (2, 2, 0)
    assert list((tmp_path / "store").rglob("*.rows.npy"))
    assert run_json(*command, "--workers", "2", code=1)["error"]["type"] == "SettingsError"
