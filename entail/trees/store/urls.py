"""URLs of databases: parsing, the file they name, a form for messages."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from entail.errors import DatabaseError
from entail.masking import MASK, is_credential
from entail.settings import load_settings


def parse_url(url: str) -> URL:
    """Return the URL with the supported driver.

    Raises:
        DatabaseError: If it is not the URL of an SQLite file or a PostgreSQL server.

    >>> parse_url("postgres://ann@localhost/trees").drivername
    'postgresql+psycopg'
    """
    hint = "expected sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME; check ENTAIL_DATABASE_URL"
    try:
        parsed = make_url(re.sub(r"^postgres(?=:|\+)", "postgresql", url))
        backend = parsed.get_backend_name()
    except (sa.exc.SQLAlchemyError, ValueError):
        # Their messages quote the URL, which may have a password.
        raise DatabaseError(f"this is no database URL: {hint}") from None
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise DatabaseError(f"a database of the kind {backend!r} is not supported: {hint}")
    if not parsed.database or parsed.database == ":memory:":
        raise DatabaseError(f"a database in memory would lose everything: {hint}")
    return parsed.set(drivername="sqlite")


def shown_url(url: URL) -> str:
    """Return a URL without its password and other credentials, for messages."""
    secret = {name: MASK for name in url.query if is_credential(name)}
    return url.update_query_dict(secret).render_as_string(hide_password=True)


def sqlite_file(url: str | None = None) -> Path | None:
    """Return the SQLite file of a URL, of the settings by default; None for a server."""
    parsed = parse_url(url if url is not None else load_settings().database_url)
    return path_of(parsed) if parsed.get_backend_name() == "sqlite" else None


def path_of(url: URL) -> Path:
    """Return the absolute path of an SQLite URL, of the form `file:PATH`, too."""
    name = url.database or ""
    return Path(unquote(name.removeprefix("file:")) if "uri" in url.query else name).absolute()
