"""`entail convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from entail.cli import main

ROW = '{"id": "r", "hypothesis": "h", "proof": "sent1 -> hypothesis; ", "context": "sent1: a"}\n'


@pytest.fixture(autouse=True)
def trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "trees.jsonl"
    file.write_text(ROW * 3)
    return file


def test_convert(run_json: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "trees.jsonl", "out.csv"]) == 0
    assert capsys.readouterr().out == "wrote 3 trees to out.csv\n"
    assert main(["convert", "trees.jsonl", "out.svg", "--row", "2"]) == 0
    assert capsys.readouterr().out == "wrote 1 tree to out.svg\n"
    assert main(["convert", "trees.jsonl", "out.dot"]) == 0
    assert capsys.readouterr().out == "wrote 3 trees to 3 files, out-001.dot to out-003.dot\n"
    assert (tmp_path / "out-003.dot").exists()
    assert run_json("convert", "trees.jsonl", "out.dot", "--row", "1") == {"trees": 1, "files": ["out.dot"]}


@pytest.mark.parametrize("names", ["trees.jsonl out.pdf", "trees.dot out.csv", "none.jsonl out.csv"])
def test_errors(names: str, run_json: Any) -> None:
    assert run_json("convert", *names.split(), code=1)["error"]["type"] != "AssertionError"
