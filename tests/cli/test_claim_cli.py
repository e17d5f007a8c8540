"""`entail claim`."""

import json
from pathlib import Path
from typing import Any

import pytest

from entail.cli import main


def test_question(run_json: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claim", "When did Rome win?"]) == 0
    assert capsys.readouterr().out == "There exists a known time when Rome won.\n(when)\n"
    data = run_json("claim", "When did Rome win?", "--answer", "202 BC")
    assert (data["rule"], data["fallback"], data["how"]) == ("when", False, "inserted")
    assert data["statement"] == "Rome won in 202 BC."


def test_a_file_of_questions(run_json: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "questions.jsonl"
    rows = [{"question": "who won", "answer": ["Rome", "the Romans"]}, {"question": "谁写了红楼梦"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    data = run_json("claim", "--file", str(file))
    assert (data["questions"], data["fallback"]) == (2, 1)
    assert [claim["rule"] for claim in data["claims"]] == ["who", "general"]
    assert [claim.get("statement") for claim in data["claims"]] == ["Rome won.", None]
    assert main(["claim", "--file", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "Rome won."


@pytest.mark.parametrize("arguments", [[], ["who won", "--file", "x"], ["--file", "x", "--answer", "Rome"]])
def test_contradictory_options(arguments: list[str], run_json: Any) -> None:
    assert run_json("claim", *arguments, code=1)["error"]["type"] == "SettingsError"
