"""Settings of an installation, read from the environment in one place.

=========================  ==========================================================================
`ENTAIL_DATA_DIR`          everything that is written: database, cached vectors (default: the user's
                           data folder of the operating system)
`ENTAIL_DATABASE_URL`      SQLAlchemy URL (default: SQLite in the data folder)
`ENTAIL_MODELS_DIR`        folder of models, in place of `models/` in the data folder and the shipped ones
`ENTAIL_BASE`              folder or Hub id of all-MiniLM-L6-v2, in place of the packaged one
`ENTAIL_DEVICE`            `auto` (default), `cpu`, `cuda`, `cuda:1` ...
`ENTAIL_QUEUE_URL`         where jobs queue: `redis://...` or `postgresql://...` when several machines share
                           the work and the data folder (default: SQLite in the data folder)
`ENTAIL_WORKER`            `auto` (default): whoever submits a job starts a worker on this machine where none
                           runs; `none`: workers are started by `entail worker` alone
`ENTAIL_MAX_PREMISE_CHARS` longest premise taken into a corpus (default 10,000)
`ENTAIL_SERVE_TOKEN`       what clients of `entail serve` must send as `Authorization: Bearer ...`, at
                           least 16 printable characters (default: none is asked for)
`ENTAIL_DEMO`              `1`: a demo for visitors, see `entail.trees.store.demo`: only each
                           visitor's own trees, which go when they leave (default `0`)
`ENTAIL_SIGN_IN`           where authors sign in (see docs/operating.md): `to-write` (default), or `to-read`,
                           when nobody sees anything before
`ENTAIL_OPERATORS`         e-mail addresses of those who may see and use the operator's page, between
                           commas (default: whoever may write)
=========================  ==========================================================================
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from entail.errors import DemoError, SettingsError

MAX_UPLOAD_MB = 200
"""Largest upload; `.streamlit/config.toml` says the same number to the web server."""

MIN_TOKEN = 16
"""Characters that a token of the HTTP API has at least."""

QUEUE_SCHEMES = ("redis://", "rediss://", "postgresql://")
"""Schemes of a queue's URL."""


@dataclass(frozen=True)
class Settings:
    """The installation's settings; see the module for each variable."""

    data_dir: Path
    database_url: str
    models_dir: Path
    device: str
    max_premise_chars: int
    shipped_models_dir: Path | None = None
    queue_url: str | None = None
    starts_worker: bool = True
    serve_token: str | None = field(default=None, repr=False)
    demo: bool = False
    sign_in: Literal["to-write", "to-read"] = "to-write"
    base: str | None = None
    operators: tuple[str, ...] = ()

    @property
    def model_dirs(self) -> tuple[Path, ...]:
        """Folders that models are looked up in: the user's own first, then the shipped one."""
        return tuple(place for place in (self.models_dir, self.shipped_models_dir) if place is not None)

    @property
    def jobs_dir(self) -> Path:
        """Folder of jobs: their specifications, progress and outcomes."""
        return self.data_dir / "jobs"

    @property
    def vectors_dir(self) -> Path:
        """Folder of cached premise vectors."""
        return self.data_dir / "vectors"


def shipped_models() -> Path:
    """Return the folder of the models that ship: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"


def is_demo() -> bool:
    """Whether this installation is a demo, which writes nothing but its visitors' own trees.

    Raises:
        SettingsError: If `ENTAIL_DEMO` is neither `0` nor `1`.
    """
    said = os.environ.get("ENTAIL_DEMO") or "0"
    if said not in ("0", "1"):
        # Taken for a no, a mistyped yes would open what should be closed.
        raise SettingsError(f"ENTAIL_DEMO must be 0 or 1, found {said!r}")
    return said == "1"


def refuse_in_demo(what: str) -> None:
    """Refuse, in a demo, what would write; called by whatever writes, before it does anything.

    Args:
        what: What was asked for, as the subject of a sentence: "a training cannot be started".

    Raises:
        DemoError: If this installation is a demo.
    """
    if is_demo():
        raise DemoError(f"this is a demo, which changes nothing of its team's: {what} here")


def load_settings() -> Settings:
    """Read the settings from the environment, now.

    Raises:
        SettingsError: If a variable has a value that cannot be used.
    """
    import platformdirs

    data_dir = Path(
        os.environ.get("ENTAIL_DATA_DIR") or platformdirs.user_data_dir("entail", appauthor=False)
    ).expanduser()
    own_models = os.environ.get("ENTAIL_MODELS_DIR")
    chars = os.environ.get("ENTAIL_MAX_PREMISE_CHARS", "10000")
    if not chars.isdigit() or int(chars) < 1:
        raise SettingsError(f"ENTAIL_MAX_PREMISE_CHARS must be a whole number above 0, found {chars!r}")
    worker = os.environ.get("ENTAIL_WORKER") or "auto"
    if worker not in ("auto", "none"):
        raise SettingsError(f"ENTAIL_WORKER must be auto or none, found {worker!r}")
    queue_url = os.environ.get("ENTAIL_QUEUE_URL") or None
    if queue_url is not None and not queue_url.startswith(QUEUE_SCHEMES):
        # The URL may hold a password: only its scheme is shown.
        raise SettingsError(
            f"ENTAIL_QUEUE_URL must begin with one of {', '.join(QUEUE_SCHEMES)}, found "
            f"{queue_url.partition(':')[0]!r}"
        )
    token = os.environ.get("ENTAIL_SERVE_TOKEN") or None
    if token is not None and (len(token) < MIN_TOKEN or not re.fullmatch(r"[!-~]+", token)):
        # It is a secret, however unusable: only its length is shown.
        raise SettingsError(
            f"ENTAIL_SERVE_TOKEN must be at least {MIN_TOKEN} printable ASCII characters without spaces, "
            f"found {len(token)} characters"
        )
    return Settings(
        data_dir=data_dir,
        database_url=os.environ.get("ENTAIL_DATABASE_URL")
        or f"sqlite:///{quote(str(data_dir / 'entail.db'))}",
        models_dir=Path(own_models or data_dir / "models").expanduser(),
        shipped_models_dir=None if own_models else shipped_models(),
        device=os.environ.get("ENTAIL_DEVICE") or "auto",
        max_premise_chars=int(chars),
        queue_url=queue_url,
        starts_worker=worker == "auto",
        serve_token=token,
        demo=is_demo(),
        sign_in=_sign_in(),
        base=os.environ.get("ENTAIL_BASE") or None,
        operators=tuple(
            address.strip().lower()
            for address in os.environ.get("ENTAIL_OPERATORS", "").split(",")
            if address.strip()
        ),
    )


def _sign_in() -> Literal["to-write", "to-read"]:
    match os.environ.get("ENTAIL_SIGN_IN") or "to-write":
        case ("to-write" | "to-read") as said:
            return said
        case said:
            raise SettingsError(f"ENTAIL_SIGN_IN must be to-write or to-read, found {said!r}")
