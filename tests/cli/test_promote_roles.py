"""``entail promote`` of direction models and chain scorers."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.cli import main
from entail.data.records import Corpus
from entail.registry.models import active
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database

pytestmark = pytest.mark.usefixtures("tiny_home")


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    file = tmp_path / "dev.jsonl"
    rows = [("ba be bi bo", "ba"), ("fa fe fi", "fa fe"), ("la le li", "lo"), ("sa", "se si")]
    lines = [
        {"sentence1": p, "sentence2": h, "gold_label": label}
        for (p, h), label in zip(rows, ["entailment", "entailment", "neutral", "contradiction"], strict=True)
    ]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return file


def test_promote_and_roll_back_by_role(run_json: Any, tiny_home: Path, gaussian: str, dev: Path) -> None:
    shutil.copytree(tiny_home / gaussian, tiny_home / "gausscse-minilm")
    measured = ["evaluate", "nli", "--direction", "--data", str(dev)]
    assert run_json(*measured)["encoder"] == "gausscse-minilm"
    assert run_json("promote")["in_use"]["direction"]["encoder"] == "gausscse-minilm"
    assert run_json("promote", "mine", code=1)["error"]["type"] == "PromotionError"
    assert run_json("promote", "mine", "--anyway")["role"] == "direction"
    assert run_json(*measured)["encoder"] == "mine"
    run_json("promote", "tiny", "--anyway")
    back = run_json("promote", "--back", "--role", "direction")
    assert (back["in_use"]["direction"]["encoder"], back["active"]["encoder"]) == ("gausscse-minilm", "tiny")
    assert [move["role"] for move in back["history"] if "role" in move] == ["direction"] * 2
    assert run_json("promote", "--back")["active"]["encoder"] == "minilm"
    assert run_json("promote", "--back", code=1)["error"]["type"] == "PromotionError"


def test_the_command_that_undoes_a_promotion_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    CorpusStore(open_database()).add_corpus(Corpus.of("Ann's facts", ["ba be"]), author="Ann")
    assert main(["promote", "tiny", "--corpus", "Ann's facts", "--anyway"]) == 0
    match = re.search(r"`entail (.*)`", capsys.readouterr().out)
    assert match is not None
    assert main(shlex.split(match[1])) == 0
    assert active("Ann's facts").encoder != "tiny"


def test_card_figures_are_compared(
    run_json: Any, scorer_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    scorer_folder("arcf-minilm", chains={"dev": 0.5})
    scorer_folder("mine", chains={"dev": 0.6, "other": 0.4})
    assert main(["promote", "mine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("MAP" in line and "0.500" in line and "0.600" in line for line in lines)
    assert any("other" in line and line.rstrip().endswith("no") for line in lines)
    assert "entail promote --back --role chains" in lines[-1]
