"""Secrets out of what is shown of logs: those that are known by their value, and what looks like one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from entail.settings import load_settings

MASK = "***"

_SHORTEST = 6
_NAMED = re.compile(r"(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|CREDENTIAL)", re.IGNORECASE)
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # user:password@ of any URL
    (re.compile(r"(?<=://)([^\s:/@]+):([^\s@]+)(?=@)"), rf"\1:{MASK}"),
    (re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]+", re.IGNORECASE), rf"\1 {MASK}"),
    (re.compile(r"\bhf_[A-Za-z0-9]{8,}"), MASK),
    # A JSON Web Token
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]+(\.[\w-]*)?"), MASK),
    (
        re.compile(
            r"(?i)\b([\w-]*(?:token|secret|password|passwd|api[_-]?key|cookie|code_verifier|authorization))"
            r"(['\"]?\s*[=:]\s*['\"]?)(?!\*\*\*)(?!Bearer|Basic)[^\s'\",;&)}\]]+"
        ),
        rf"\1\2{MASK}",
    ),
    # What a provider hands over in the address: ?code=...&state=...
    (re.compile(r"([?&](?:code|state|session_state|id_token|provider)=)[^&\s'\"]+"), rf"\1{MASK}"),
)


def masked(text: str, *, secrets: Iterable[str] = ()) -> str:
    """Return a text without secrets: those of the environment, the given ones, and what looks like one.

    >>> masked("opened postgresql://ann:p%40ss@db/x with Authorization: Bearer abc.def")
    'opened postgresql://ann:***@db/x with Authorization: Bearer ***'

    Args:
        text: Lines of a log.
        secrets: Values that must not be shown.
    """
    for secret in sorted({*secrets, *_of_environment()}, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, MASK)
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text


def _of_environment() -> set[str]:
    settings = load_settings()
    found = {value for name, value in os.environ.items() if _NAMED.search(name)}
    for url in (settings.database_url, settings.queue_url or ""):
        try:
            password = urlsplit(url).password
        except ValueError:
            continue
        if password:
            found |= {password, unquote(password)}
    if settings.serve_token:
        found.add(settings.serve_token)
    return found
