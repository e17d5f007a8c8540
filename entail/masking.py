"""Secrets in texts: passwords and tokens of the environment, of URLs and of anything that looks like one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, unquote

MASK = "***"

_SHORTEST = 6
_NAMED = re.compile(r"token|secret|passw|passfile|api_?key|sslkey|credential", re.IGNORECASE)
_PATHS = "STREAMLIT_SECRETS_FILES"  # where secrets are, which a message about them names
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # user:password@ of any URL
    (re.compile(r"(?<=://)([^\s:/@]*):([^\s@]+)(?=@)"), rf"\1:{MASK}"),
    (re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]+", re.IGNORECASE), rf"\1 {MASK}"),
    (re.compile(r"\bhf_[A-Za-z0-9]{8,}"), MASK),
    # A JSON Web Token
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]+(\.[\w-]*)?"), MASK),
    (
        re.compile(
            r"(?i)\b([\w-]*(?:token|secret|password|passwd|passfile|sslkey|api[_-]?key|cookie|code_verifier|authorization))"
            r"(['\"]?\s*[=:]\s*['\"]?)(?!\*\*\*)(?!Bearer|Basic)"
            # A value in quotes ends at the same quote or with the line.
            r"(?:(?<=\")(?:\\.|[^\"\\\n])+|(?<=')(?:\\.|[^'\\\n])+|[^\s'\",;&)}\]]+)"
        ),
        rf"\1\2{MASK}",
    ),
    # Parameters of a sign-in redirect: ?code=...&state=...
    (re.compile(r"([?&](?:code|state|session_state|id_token|provider)=)[^&\s'\"]+"), rf"\1{MASK}"),
)


def mask_secrets(text: str, *, secrets: Iterable[str] = ()) -> str:
    """Mask secrets in a text: those of the environment, the given ones, and texts that look like one.

    >>> mask_secrets("opened postgresql://ann:p%40ss@db/x with Authorization: Bearer abc.def")
    'opened postgresql://ann:***@db/x with Authorization: Bearer ***'
    """
    for secret in sorted({*secrets, *_of_environment()}, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, MASK)
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text


def url_secrets(url: str) -> set[str]:
    """Return the secrets of a URL, which may be malformed: its password and credentials in its query.

    >>> sorted(url_secrets("postgresql://ann:p%40ss@db/x?sslpassword=pem-phrase&sslmode=require"))
    ['p%40ss', 'p@ss', 'pem-phrase']
    """
    rest = url.partition("://")[2]
    # A password that should be quoted and is not may have any of "@?/" in it.
    logins = (rest.partition("@")[0], rest.rpartition("@")[0], rest.partition("?")[0].rpartition("@")[0])
    passwords = {login.partition(":")[2] for login in logins}
    values = {value for name, value in parse_qsl(url.partition("?")[2]) if is_credential(name)}
    return {*passwords, *map(unquote, passwords), *values} - {""}


def is_credential(name: str) -> bool:
    """Return whether a variable or a parameter of a URL holds a credential, by its name."""
    return _NAMED.search(name) is not None


def _of_environment() -> Iterator[str]:
    for name, value in os.environ.items():
        if is_credential(name) and name != _PATHS:
            yield value
        elif name in ("ENTAIL_DATABASE_URL", "ENTAIL_INDEX_URL"):
            yield from url_secrets(value)
