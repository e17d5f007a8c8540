"""Page and figures of `scripts/replay_aeenc.py`, which made the encoder that ships."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from entail.encoders.catalogue import resolve

RESULT = Path(__file__).parent.parent.parent / "docs" / "results" / "aeenc_replay.json"


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("replay_aeenc")


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8"))
    return record


def test_what_was_measured_ships(result: dict[str, Any]) -> None:
    measured = result["figures"]["squad_dev"]["mean"]["revision"]
    shipped = resolve("aeenc-minilm").revision
    assert measured.partition("@")[2] == str(shipped).partition("@")[2]


def test_articles_are_held_out_by_their_titles(script: ModuleType, tmp_path: Path) -> None:
    import gzip

    file = tmp_path / "train.json.gz"
    articles = [{"title": f"{letter}", "paragraphs": []} for letter in "jihgfedcbakl"]
    with gzip.open(file, "wt", encoding="utf-8") as stream:
        json.dump({"data": articles}, stream)
    replay, held_out = (
        {article["title"] for article in json.loads(part.read_text(encoding="utf-8"))["data"]}
        for part in script.split_by_article(file, tmp_path / "work")
    )
    assert held_out == {"j"}
    assert replay == set("abcdefghikl")
