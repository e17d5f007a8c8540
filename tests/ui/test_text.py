"""Text and times as the pages show them."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from entail.ui.shared.text import label, local

NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(("zone", "hour"), [("Asia/Tokyo", 21), ("America/New_York", 8), ("UTC", 12)])
def test_times_are_those_of_the_browser(monkeypatch: pytest.MonkeyPatch, zone: str, hour: int) -> None:
    monkeypatch.setattr("entail.ui.shared.text.st", SimpleNamespace(context=SimpleNamespace(timezone=zone)))
    assert (local(NOON).hour, local(NOON)) == (hour, NOON)


@pytest.mark.parametrize("zone", [None, "Mars/Base", "../../etc/passwd"])
def test_an_unknown_zone_is_that_of_the_server(monkeypatch: pytest.MonkeyPatch, zone: str | None) -> None:
    monkeypatch.setattr("entail.ui.shared.text.st", SimpleNamespace(context=SimpleNamespace(timezone=zone)))
    assert local(NOON).utcoffset() == NOON.astimezone().utcoffset()


def test_codes_of_emoji_stay_as_written_and_times_whole() -> None:
    assert "\u200b" in label("a :sun: is hot")
    assert "\u200b" not in label("at 17:05:12")
