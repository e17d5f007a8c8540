"""A release as a folder and as a ZIP; self-made."""

import zipfile
from pathlib import Path

import pytest

from entail.data.worldtree.release import read_release
from entail.errors import FormatError

TABLE = "A\t[SKIP] UID\nice is cold\tu1\nsnow is ice\tu2\n"
HEAD = "QuestionID\tAnswerKey\tquestion\texplanation\tflags\tarcset\n"
ROW = "M1\tA\tHow is snow? (A) cold (B) red\t{}\tSUCCESS\tEasy\n"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Return a folder as of 2020: tables, questions with and without explanations, something else."""
    folder = tmp_path / "mine"
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / "T.tsv").write_text(TABLE, encoding="utf-8")
    (folder / "questions.blind.tsv").write_text(HEAD + ROW.format(""), encoding="utf-8")
    (folder / "questions.train.tsv").write_text(HEAD + ROW.format("u1|CENTRAL"), encoding="utf-8")
    (folder / "index.tsv").write_text("no\tquestions\n", encoding="utf-8")
    (folder / "README.txt").write_text("words", encoding="utf-8")
    return folder


def zipped(folder: Path, *, above: str = "") -> Path:
    place = folder.with_suffix(".zip")
    with zipfile.ZipFile(place, "w") as packed:
        for path in sorted(folder.rglob("*")):
            packed.write(path, f"{above}{path.relative_to(folder)}")
    return place


def test_tables_and_questions_are_found(release: Path) -> None:
    found = read_release(release)
    assert found.name == "mine"
    assert found.facts.texts == ("ice is cold", "snow is ice")
    assert [one.source for one in found.readings] == ["questions.train.tsv", "questions.blind.tsv"]
    assert found.readings[0].questions[0].gold == {"u1": "CENTRAL"}
    assert len(found.problems) == 1
    assert "index.tsv" in found.problems[0]


@pytest.mark.parametrize("above", ["", "release-1/", "../../"])
def test_a_zip_is_read_alike_and_writes_nowhere(release: Path, tmp_path: Path, above: str) -> None:
    packed = zipped(release, above=above)
    before = sorted(tmp_path.rglob("*"))
    found, plain = read_release(packed, name="mine"), read_release(release)
    assert found.facts == plain.facts
    assert found.readings == plain.readings
    assert sorted(tmp_path.rglob("*")) == before


def test_questions_may_stand_in_a_folder_of_their_own(release: Path) -> None:
    (release / "questions").mkdir()
    (release / "questions.train.tsv").rename(release / "questions" / "Elem-Train.tsv")
    assert "Elem-Train.tsv" in [one.source for one in read_release(release).readings]


def test_what_is_no_release_is_told(release: Path, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="found nothing here"):
        read_release(tmp_path / "none")
    with pytest.raises(FormatError, match="expected a folder with tables/"):
        read_release(release / "tables")
    packed = zipped(release)
    packed.write_bytes(packed.read_bytes()[:150])
    with pytest.raises(FormatError, match="expected a ZIP of a release"):
        read_release(packed)
