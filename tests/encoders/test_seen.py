"""What an encoder was trained on is told apart, by keys."""

import shutil
from pathlib import Path

import pytest

from entail.data.text import premise_key
from entail.encoders.card import SEEN, read_seen, write_seen
from entail.encoders.catalogue import seen_by


@pytest.fixture
def folder(tiny: Path, tmp_path: Path) -> Path:
    mine = Path(shutil.copytree(tiny, tmp_path / "mine"))
    write_seen(mine, map(premise_key, ["the sun is  hot", "ice is cold"]))
    return mine


def test_what_was_written_is_found_again_whatever_the_white_space(folder: Path) -> None:
    queries = ["the sun is hot", "ice is  cold", "ice is warm"]
    assert seen_by(str(folder), queries) == {"the sun is hot", "ice is  cold"}
    assert "ice" not in (folder / SEEN).read_text()


def test_who_does_not_say_has_seen_nothing(tiny: Path) -> None:
    for name in (str(tiny), "minilm", "tfidf", "never heard of"):
        assert seen_by(name, ["ice is cold"]) == frozenset()


@pytest.mark.parametrize("torn", ["", "[]", '{"queries": 3}', '{"queries": [1, null]}', "\0"])
def test_a_torn_file_says_nothing(folder: Path, torn: str) -> None:
    (folder / SEEN).write_text(torn)
    assert read_seen(folder) == frozenset()
