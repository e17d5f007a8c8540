"""A file that grows block by block: what is begun can be gone on with, whenever it was cut off."""

from pathlib import Path
from typing import Any

import pytest

from entail.data import writing as appending
from entail.data.writing import append, begin_file
from entail.errors import DataError, SettingsError

OURS, OTHERS = {"scorer": "a"}, {"scorer": "b"}


class Killed(BaseException):
    """The process ends here."""


def begin(file: Path, told: dict[str, str] = OURS, *, resume: bool = True) -> bool:
    return begin_file(file, told, resume=resume, what="rankings")


def test_what_is_there_is_gone_on_with_if_it_is_of_the_same(tmp_path: Path) -> None:
    file = tmp_path / "some.tsv"
    assert not begin(file)
    append(file, "one\n", what="rankings")
    assert begin(file)
    with pytest.raises(SettingsError, match="scorer: expected 'b', found 'a'"):
        begin(file, OTHERS)
    assert file.read_text(encoding="utf-8") == "one\n"
    assert not begin(file, OTHERS, resume=False)
    assert file.read_bytes() == b""


@pytest.mark.parametrize("before", [None, OURS, OTHERS])
def test_killed_before_its_settings_were_written_it_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: dict[str, str] | None
) -> None:
    file = tmp_path / "some.tsv"
    if before is not None:
        begin(file, before)
        append(file, "what was there\n", what="rankings")
    with monkeypatch.context() as patch:
        patch.setattr(appending, "write_text", _killed)
        with pytest.raises(Killed):
            begin(file, resume=False)
    # Nothing of the old file stands under the new settings, and the same command goes on.
    assert not begin(file)
    append(file, "one\n", what="rankings")
    assert begin(file)


def test_what_nothing_is_said_of_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "letters.txt"
    file.write_text("dear reader\n", encoding="utf-8")
    with pytest.raises(DataError, match="without its settings"):
        begin(file)
    assert file.read_text(encoding="utf-8") == "dear reader\n"
    with pytest.raises(DataError, match=r"x\.tsv: expected to write rankings here, found: No such file"):
        begin(tmp_path / "none" / "x.tsv")


def _killed(*given: Any) -> None:
    raise Killed
