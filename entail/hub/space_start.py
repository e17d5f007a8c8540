"""Start of a Space: check of the data folder, sign-in, then the app.

The image that `scripts/deploy_space.py` makes runs `python -m entail.hub.space_start`.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from entail.errors import EntailError, SettingsError
from entail.settings import is_demo, load_settings

PORT = 7860
"""Port of a Space, `app_port` of its README."""


def main() -> None:
    """Start the app in this process."""
    try:
        environment = prepare(os.environ, home=Path.home())
    except EntailError as error:
        sys.exit(f"error: {error}")
    command = ["entail", "app", "--port", os.environ.get("PORT") or str(PORT), "--address", "0.0.0.0"]
    os.execve(sys.executable, [sys.executable, "-m", *command], environment)


def prepare(variables: Mapping[str, str], *, home: Path) -> dict[str, str]:
    """Prepare data folder and sign-in, and return the app's environment from the Space's.

    Raises:
        SettingsError: If a folder cannot be written.
    """
    environment = dict(variables)
    if not is_demo():
        check_data_dir(load_settings().data_dir)
    if host := environment.get("SPACE_HOST"):
        # The page is in a frame of another host: Streamlit has to know its own address.
        environment |= {"STREAMLIT_BROWSER_SERVER_ADDRESS": host, "STREAMLIT_BROWSER_SERVER_PORT": "443"}
    if secrets := secrets_toml(variables):
        file = home / ".streamlit" / "secrets.toml"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)
            # Created with its mode, so that no other user can open it in between.
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
                opened.write(secrets)
        except OSError as error:
            raise SettingsError(
                f"signing in cannot be set up, {file.name} cannot be written: {error}"
            ) from error
        # The file, which only this user can read, holds it: child processes do not need it.
        del environment["OAUTH_CLIENT_SECRET"]
    return environment


def check_data_dir(folder: Path) -> None:
    """Raise `SettingsError` if no database can be written into a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".entail-trial-") as trial:
            for journal in ("WAL", "DELETE"):
                with contextlib.closing(sqlite3.connect(f"{trial}/{journal}.db")) as connection:
                    connection.execute(f"PRAGMA journal_mode = {journal}")
                    connection.execute("CREATE TABLE trial (value TEXT)")
                    connection.commit()
    except (OSError, sqlite3.Error) as error:
        raise SettingsError(
            f"expected a folder at ENTAIL_DATA_DIR ({folder}) in which this user can write a database, found "
            f"none ({error}); the app did not start, so that no work is lost. Mount a writable volume, or "
            "deploy with --ephemeral and keep the trees in PostgreSQL (secret ENTAIL_DATABASE_URL)"
        ) from error


def secrets_toml(variables: Mapping[str, str]) -> str | None:
    """Return the `secrets.toml` for sign-in with Hugging Face, None for a Space without sign-in.

    The variables come from `hf_oauth: true` in the README. A key derived from the client's secret signs
    cookies, so that sessions survive a restart; `ENTAIL_COOKIE_SECRET` replaces it.
    """
    names = ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OPENID_PROVIDER_URL", "SPACE_HOST")
    client, secret, provider, host = (variables.get(name) or "" for name in names)
    if not (client and secret and provider and host):
        return None
    cookies = (
        variables.get("ENTAIL_COOKIE_SECRET")
        or hmac.new(secret.encode(), b"entail: cookies of a Space", hashlib.sha256).hexdigest()
    )
    quoted = partial(json.dumps, ensure_ascii=False)  # a basic string of TOML escapes as JSON does
    return f"""[auth]
redirect_uri = {quoted(f"https://{host}/oauth2callback")}
cookie_secret = {quoted(cookies)}
[auth.huggingface]
client_id = {quoted(client)}
client_secret = {quoted(secret)}
server_metadata_url = {quoted(f"{provider.rstrip('/')}/.well-known/openid-configuration")}
client_kwargs = {{ scope = {quoted(variables.get("OAUTH_SCOPES") or "openid profile email")} }}
"""


if __name__ == "__main__":
    main()
