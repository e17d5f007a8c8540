"""Settings that are paths, and names that are: a home without a user is an error, not a trace."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from entail.encoders.catalogue import resolve
from entail.encoders.cross.encoder import cross_folder
from entail.errors import SettingsError, UnknownEncoderError
from entail.results import write_result
from entail.settings import load_settings

STRANGER = "~no-such-user/entail"


@pytest.mark.parametrize("variable", ["ENTAIL_DATA_DIR", "ENTAIL_MODELS_DIR", "ENTAIL_BASE"])
def test_a_path_in_the_home_of_no_user_is_refused(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, STRANGER)
    with pytest.raises(SettingsError, match=variable):
        load_settings()


def test_paths_in_the_own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in ("DATA_DIR", "MODELS_DIR", "BASE"):
        monkeypatch.setenv(f"ENTAIL_{name}", f"~/{name}")
    settings = load_settings()
    assert settings.data_dir == tmp_path / "DATA_DIR"
    assert settings.models_dir == tmp_path / "MODELS_DIR"
    assert settings.base is not None
    assert Path(settings.base) == tmp_path / "BASE"


def test_a_name_in_the_home_of_no_user(tmp_path: Path) -> None:
    with pytest.raises(UnknownEncoderError):
        resolve(STRANGER)
    assert cross_folder(STRANGER) is None
    assert cross_folder(Path(STRANGER)) is None
    command, started = ["entail", STRANGER], datetime.now(UTC)
    write_result(tmp_path / "r.json", figures={}, seed=None, started=started, command=command)
