"""`entail claim`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from entail.cli import main


def test_question(run_json: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claim", "When did Rome win?"]) == 0
    assert capsys.readouterr().out == "There exists a known time when Rome won.\n(when)\n"
    assert main(["claim", "When did Rome win?", "--answer", "202 BC"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Rome won in 202 BC."
    assert run_json("claim", "When did Rome win?", "--answer", "202 BC") == {
        "id": "1",
        "fallback": False,
        "question": "When did Rome win?",
        "claim": "There exists a known time when Rome won.",
        "rule": "when",
        "answer": "202 BC",
        "statement": "Rome won in 202 BC.",
        "how": "inserted",
    }


def test_a_file_of_questions_with_answers(
    run_json: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "asked.jsonl"
    rows = [{"question": "who won", "answer": ["Rome", "the Romans"]}, {"question": "who lost"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    first, second = run_json("claim", "--file", str(file))["claims"]
    assert first["statement"] == "Rome won."
    assert "statement" not in second
    assert main(["claim", "--file", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Rome won.", "There exists a known person who lost."]


@pytest.mark.parametrize(
    "arguments",
    [[], ["who won", "--file", "x"], ["--file", "x", "--answer", "Rome"]],
)
def test_contradictory_options(arguments: list[str], run_json: Any) -> None:
    assert run_json("claim", *arguments, code=1)["error"]["type"] == "SettingsError"


def test_a_file_of_questions(run_json: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "asked.txt"
    file.write_text("who won\n谁写了红楼梦\n", encoding="utf-8")
    data = run_json("claim", "--file", str(file))
    assert (data["questions"], data["fallback"]) == (2, 1)
    assert [claim["rule"] for claim in data["claims"]] == ["who", "general"]
    assert data["claims"][0] == {
        "id": "1",
        "question": "who won",
        "claim": "There exists a known person who won.",
        "rule": "who",
        "fallback": False,
    }
    assert main(["claim", "--file", str(file)]) == 0
    assert "1 of 2" in capsys.readouterr().out
