"""Start of a Space: check of the data folder, sign-in, then the app.

The image that `scripts/deploy_space.py` makes runs `python -m entail.hub.space_start`; `--healthy` checks a
running Space. Only the standard library is imported before the app starts.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import shutil
import sqlite3
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from entail.errors import EntailError, SettingsError
from entail.settings import is_demo, load_settings, shipped_models

PORT = 7860
"""Port of a Space, `app_port` of its README."""

HEALTH = "/_stcore/health"
"""Health check of Streamlit."""

_SIGN_IN = ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OPENID_PROVIDER_URL", "SPACE_HOST")


def main() -> None:
    """Start the app, or check its health."""
    port = int(os.environ.get("PORT") or PORT)
    if sys.argv[1:] == ["--healthy"]:
        sys.exit(0 if healthy(port) else 1)
    try:
        environment = prepare(os.environ, home=Path.home())
    except EntailError as error:
        sys.exit(f"error: {error}")
    command = ["entail", "app", "--port", str(port), "--address", "0.0.0.0"]
    os.execve(sys.executable, [sys.executable, "-m", *command], environment)


def prepare(variables: Mapping[str, str], *, home: Path) -> dict[str, str]:
    """Prepare folders and sign-in, and return the app's environment from the Space's.

    Raises:
        SettingsError: If the data folder cannot be written, and this is no demo.
    """
    environment = dict(variables)
    settings = load_settings()
    if not is_demo():
        check_data_dir(settings.data_dir)
        if environment.get("ENTAIL_MODELS_DIR"):
            seed_models(shipped_models(), settings.models_dir)
    if host := environment.get("SPACE_HOST"):
        # The page is in a frame of another host: Streamlit has to know its own address.
        environment |= {"STREAMLIT_BROWSER_SERVER_ADDRESS": host, "STREAMLIT_BROWSER_SERVER_PORT": "443"}
    if (secrets := secrets_toml(variables)) is not None:
        write_secret(home / ".streamlit" / "secrets.toml", secrets)
        # The file, which only this user can read, holds it: child processes do not need it.
        environment.pop("OAUTH_CLIENT_SECRET")
    return environment


def check_data_dir(folder: Path) -> None:
    """Raise `SettingsError` if no database can be written into a folder."""
    trial = folder / ".entail-trial.db"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove(folder, trial.name)
        for journal in ("WAL", "DELETE"):
            with contextlib.closing(sqlite3.connect(trial)) as connection:
                connection.execute(f"PRAGMA journal_mode = {journal}")
                connection.execute("CREATE TABLE IF NOT EXISTS trial (value TEXT)")
                connection.execute("INSERT INTO trial VALUES ('yes')")
                connection.commit()
        _remove(folder, trial.name)
    except (OSError, sqlite3.Error) as error:
        user = os.getuid() if hasattr(os, "getuid") else "this one"
        raise SettingsError(
            f"expected a folder at ENTAIL_DATA_DIR ({folder}) in which user {user} can write a database, "
            f"found none ({error}); the app did not start, so that no work is lost. Mount a writable volume, "
            "or deploy with --ephemeral and keep the trees in PostgreSQL (secret ENTAIL_DATABASE_URL)"
        ) from error


def _remove(folder: Path, name: str) -> None:
    for file in folder.glob(f"{name}*"):
        file.unlink()


def seed_models(shipped: Path, models: Path) -> None:
    """Copy models that ship into the folder of trained ones, unless their name is taken.

    Raises:
        SettingsError: If they cannot be written.
    """
    try:
        models.mkdir(parents=True, exist_ok=True)
        for model in sorted(shipped.iterdir()) if shipped.is_dir() else ():
            if model.is_dir() and not (models / model.name).exists():
                partial = models / f".{model.name}.partial"
                shutil.rmtree(partial, ignore_errors=True)
                shutil.copytree(model, partial)
                partial.rename(models / model.name)
    except OSError as error:
        raise SettingsError(f"the models that ship cannot be written to {models}: {error}") from error


def secrets_toml(variables: Mapping[str, str]) -> str | None:
    """Return the `secrets.toml` for sign-in with Hugging Face, None for a Space without sign-in.

    The variables come from `hf_oauth: true` in the README. A key derived from the client's secret signs
    cookies, so that sessions survive a restart; `ENTAIL_COOKIE_SECRET` replaces it.
    """
    if not all(variables.get(name) for name in _SIGN_IN):
        return None
    client, secret, provider, host = (variables[name] for name in _SIGN_IN)
    derived = hmac.new(secret.encode(), b"entail: cookies of a Space", hashlib.sha256).hexdigest()
    auth = {
        "redirect_uri": f"https://{host}/oauth2callback",
        "cookie_secret": variables.get("ENTAIL_COOKIE_SECRET") or derived,
    }
    huggingface = {
        "client_id": client,
        "client_secret": secret,
        "server_metadata_url": f"{provider.rstrip('/')}/.well-known/openid-configuration",
    }
    scopes = variables.get("OAUTH_SCOPES") or "openid profile email"
    lines = [
        "[auth]",
        *(f"{name} = {_quoted(value)}" for name, value in auth.items()),
        "\n[auth.huggingface]",
        *(f"{name} = {_quoted(value)}" for name, value in huggingface.items()),
        f"client_kwargs = {{ scope = {_quoted(scopes)} }}\n",
    ]
    return "\n".join(lines)


def write_secret(file: Path, text: str) -> None:
    """Write a file that only its owner can read, atomically.

    Raises:
        SettingsError: If it cannot be written.
    """
    partial = file.with_name(f".{file.name}.partial")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        # Created with its mode, so that no other user can open it in between.
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
            opened.write(text)
        partial.replace(file)
    except OSError as error:
        raise SettingsError(f"signing in cannot be set up, {file.name} cannot be written: {error}") from error


def healthy(port: int) -> bool:
    """Return whether the app answers on a port of this machine."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{HEALTH}", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _quoted(text: str) -> str:
    # A basic string of TOML escapes as JSON does.
    return json.dumps(text, ensure_ascii=False)


if __name__ == "__main__":
    main()
