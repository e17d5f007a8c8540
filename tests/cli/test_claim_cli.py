"""`entail claim`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from entail.cli import main


def test_a_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claim", "When did Rome win?"]) == 0
    assert capsys.readouterr().out == "There exists a known time when Rome won.\n(when)\n"
    assert main(["claim", "When did Rome win?", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "question": "When did Rome win?",
        "claim": "There exists a known time when Rome won.",
        "rule": "when",
    }


def test_a_file_of_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "asked.txt"
    file.write_text("who won\n谁写了红楼梦\n", encoding="utf-8")
    assert main(["claim", "--file", str(file), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["questions"], data["fallback"], data["rules"]) == (2, 1, {"who": 1, "topic": 1})
    assert data["claims"][0] == {
        "id": "1",
        "question": "who won",
        "claim": "There exists a known person who won.",
        "rule": "who",
    }
    assert main(["claim", "--file", str(file)]) == 0
    assert "1 of 2 by no rule for questions" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["who won", "--file", "x"]])
def test_one_of_the_two_is_needed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claim", *arguments]) == 1
    assert "either a question" in capsys.readouterr().err
