"""Settings of an installation, read from the environment in one place.

`docs/operate.md` explains each variable.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from entail.errors import DemoError, SettingsError

MAX_UPLOAD_MB = 200
"""Largest upload that is read as a whole."""

MAX_CORPUS_MB = 2_000
"""Largest upload of premises, which are read in parts; `.streamlit/config.toml` has the same number."""

MIN_TOKEN = 16
"""Least characters of a token of the HTTP API."""

_VARIABLES = (
    *(f"ENTAIL_{name}" for name in ("DATA_DIR", "DATABASE_URL", "MODELS_DIR", "BASE", "DEVICE", "WORKER")),
    *(f"ENTAIL_{name}" for name in ("MAX_PREMISE_CHARS", "SERVE_TOKEN", "DEMO", "SIGN_IN", "OPERATORS")),
    *("ENTAIL_INDEX", "ENTAIL_INDEX_URL", "ENTAIL_ARTIFACTS", "HOME", "USERPROFILE", "XDG_DATA_HOME"),
)
"""Variables that the settings depend on; the last ones name the folders of the user."""


@dataclass(frozen=True)
class Settings:
    """Settings of an installation; see the module for each variable."""

    data_dir: Path
    database_url: str
    models_dir: Path
    device: str
    max_premise_chars: int
    shipped_models_dir: Path | None = None
    starts_worker: bool = True
    serve_token: str | None = field(default=None, repr=False)
    demo: bool = False
    sign_in: Literal["to-write", "to-read"] = "to-write"
    base: str | None = None
    index: str = "auto"
    index_url: str | None = field(default=None, repr=False)
    operators: tuple[str, ...] = ()
    artifacts: str | None = None

    @property
    def model_dirs(self) -> tuple[Path, ...]:
        """Folders that models are looked up in: the user's own first, then the shipped one."""
        return tuple(folder for folder in (self.models_dir, self.shipped_models_dir) if folder is not None)

    @property
    def jobs_dir(self) -> Path:
        """Folder of jobs: what they write on this machine."""
        return self.data_dir / "jobs"

    @property
    def vectors_dir(self) -> Path:
        """Folder of cached premise vectors."""
        return self.data_dir / "vectors"


def shipped_models() -> Path:
    """Return the folder of the models that ship: inside the package, or next to it in a checkout."""
    package = Path(__file__).parent
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"


def expand_home(path: str) -> str:
    """Return a path with the home of a user for `~` or `~user` at its start; unchanged without that user."""
    return os.path.expanduser(path)  # noqa: PTH111 - that of Path raises RuntimeError without that user


def _path(variable: str, default: str = "") -> str:
    """Return the path of a variable, whose home must be known."""
    path = expand_home(os.environ.get(variable) or default)
    if path.startswith("~"):
        raise SettingsError(
            f"{variable} must be a path, found {path!r}, but no user of this machine has such a home"
        )
    return path


def _choice(variable: str, *choices: str) -> str:
    """Return the value of a variable, the first choice by default."""
    value = os.environ.get(variable) or choices[0]
    if value not in choices:
        raise SettingsError(f"{variable} must be {' or '.join(choices)}, found {value!r}")
    return value


def is_demo() -> bool:
    """Return whether this installation is a demo, which writes only its visitors' own trees.

    Raises:
        SettingsError: If `ENTAIL_DEMO` is neither `0` nor `1`: a mistyped yes must not count as a no.
    """
    return _choice("ENTAIL_DEMO", "0", "1") == "1"


def refuse_in_demo(action: str) -> None:
    """Raise `DemoError` in a demo; called before anything is written.

    Args:
        action: Refused action as the subject of a sentence: "a training cannot be started".
    """
    if is_demo():
        raise DemoError(f"this is a demo, which changes nothing of its team's: {action} here")


def load_settings() -> Settings:
    """Return the settings; the environment is read again when one of its variables has changed.

    Raises:
        SettingsError: If a variable has an invalid value.
    """
    return _read_settings(tuple(map(os.environ.get, _VARIABLES)))


@lru_cache(maxsize=1)
def _read_settings(_: tuple[str | None, ...]) -> Settings:
    import platformdirs

    def get(variable: str) -> str | None:
        return os.environ.get(variable) or None

    data_dir = Path(_path("ENTAIL_DATA_DIR", platformdirs.user_data_dir("entail", appauthor=False)))
    own_models = _path("ENTAIL_MODELS_DIR")
    chars = os.environ.get("ENTAIL_MAX_PREMISE_CHARS", "10000")
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", chars):
        raise SettingsError(
            f"ENTAIL_MAX_PREMISE_CHARS must be a whole number from 1 to 999999999, found {chars[:20]!r}"
        )
    token = get("ENTAIL_SERVE_TOKEN")
    if token is not None and (len(token) < MIN_TOKEN or not re.fullmatch(r"[!-~]+", token)):
        # Even an invalid token is secret: only its length is shown.
        raise SettingsError(
            f"ENTAIL_SERVE_TOKEN must be at least {MIN_TOKEN} printable ASCII characters without spaces, "
            f"found {len(token)} characters"
        )
    addresses = (address.strip().lower() for address in os.environ.get("ENTAIL_OPERATORS", "").split(","))
    return Settings(
        data_dir=data_dir,
        database_url=get("ENTAIL_DATABASE_URL") or f"sqlite:///{quote(str(data_dir / 'entail.db'))}",
        models_dir=Path(own_models or data_dir / "models"),
        shipped_models_dir=None if own_models else shipped_models(),
        device=get("ENTAIL_DEVICE") or "auto",
        max_premise_chars=int(chars),
        starts_worker=_choice("ENTAIL_WORKER", "auto", "none") == "auto",
        serve_token=token,
        demo=is_demo(),
        sign_in=_choice("ENTAIL_SIGN_IN", "to-write", "to-read"),  # type: ignore[arg-type]  # one of the two
        base=_path("ENTAIL_BASE") or None,
        index=get("ENTAIL_INDEX") or "auto",
        index_url=get("ENTAIL_INDEX_URL"),
        operators=tuple(filter(None, addresses)),
        artifacts=get("ENTAIL_ARTIFACTS"),
    )
