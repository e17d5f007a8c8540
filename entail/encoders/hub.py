"""Client of the Hugging Face Hub with errors in plain words, free of tokens.

The client reads `HF_TOKEN` or its store for each request. Its exceptions hold the request with its headers,
so they are dropped, also as the context of what is raised instead.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from entail.errors import EntailError, HubError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

T = TypeVar("T")

OFFICIAL = "https://huggingface.co"
_TOKEN = re.compile(r"\bhf_\w+|\b(Bearer|Basic)\s+\S+", re.IGNORECASE)
_STORAGE = re.compile(r"storage|quota|limit reached|payment", re.IGNORECASE)


def hub_api() -> HfApi:
    """Return the Hub's client, at `HF_ENDPOINT` if that is set."""
    from huggingface_hub import HfApi, constants

    if constants.ENDPOINT.rstrip("/") != OFFICIAL:
        # Xet stores files on the official Hub, whatever the endpoint.
        constants.HF_HUB_DISABLE_XET = True
    return HfApi()


def has_token() -> bool:
    """Return whether there is a token, in `HF_TOKEN` or in the store of `hf auth login`."""
    from huggingface_hub import get_token

    return bool(ask(get_token, repo="the token"))


def ask(call: Callable[[], T], *, repo: str, revision: str | None = None) -> T:
    """Return the result of a call of the Hub's client, without its progress bars.

    Raises:
        HubError: For any error of the client.
    """
    from huggingface_hub.utils.tqdm import disable_progress_bars

    try:
        with disable_progress_bars():
            return call()
    except EntailError:
        raise
    except Exception as error:  # the client raises many kinds, and any may hold the request
        failure = _describe(error, repo, revision)
    # Outside the handler, so that the client's error is not its context.
    raise failure


def scrub(text: str) -> str:
    """Return a text without anything that is, or looks like, a token.

    >>> scrub("sent authorization: Bearer hf_abcDEF123, refused")
    'sent authorization: *** refused'
    """
    from huggingface_hub import get_token

    try:
        secret = get_token()
    except Exception:  # an unreadable store
        secret = None
    return _TOKEN.sub("***", text.replace(secret, "***") if secret else text)


def _describe(error: BaseException, repo: str, revision: str | None) -> HubError:
    from huggingface_hub import errors

    causes = [error]  # the client wraps the server's errors
    while (cause := causes[-1].__cause__) is not None:
        causes.append(cause)
    text = f"{type(error).__name__}: {_first_line(str(error))}"
    offline = (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, ConnectionError, TimeoutError)
    for cause in causes:
        reason, message = "", ""
        if isinstance(cause, errors.GatedRepoError):
            reason = "gated"
            message = "is gated: accept its terms on the Hub and set HF_TOKEN to a token that may read it"
        elif isinstance(cause, errors.RevisionNotFoundError):
            reason, message = "no_revision", f"has no revision {revision!r} on the Hub"
        elif isinstance(cause, errors.RepositoryNotFoundError | errors.HFValidationError):
            reason = "not_found"
            message = "is not on the Hub, or it is private; check its name, or set HF_TOKEN"
        elif isinstance(cause, errors.HfHubHTTPError) and cause.response is not None:
            reason, message = _refusal(cause.response, _first_line(cause.server_message or ""))
        elif isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
            reason, message = "disk", "no space left on this machine; make room, then try again"
        elif isinstance(cause, offline) or "TransportError" in {
            kind.__name__ for kind in type(cause).__mro__
        }:
            reason = "offline"
            message = (
                "the Hub cannot be reached; check the network, HF_ENDPOINT and HF_HUB_OFFLINE, then try again"
            )
        if reason:
            return HubError(f"{repo}: {message}", reason=reason)
    if isinstance(error, ValueError) and _STORAGE.search(str(error)):
        return HubError(f"{repo}: the Hub has no room for it: {text}", reason="quota")
    return HubError(f"{repo}: the Hub's client failed, {text}", reason="unexpected")


def _refusal(response: Any, line: str) -> tuple[str, str]:
    """Return reason and message of a server's refusal."""
    status, tail = response.status_code, f" ({line})" if line else ""
    if status in (402, 413, 507) or (status in (400, 403) and _STORAGE.search(line)):
        return "quota", f"the Hub has no room for it{tail}; free storage there, or push less"
    if status >= 500:
        return "server", f"the Hub is out of order ({status}); try again later"
    wait = response.headers.get("Retry-After", "")
    after = f"in {wait} seconds" if wait.isdigit() else "in some minutes"
    conflict = ("conflict", f"changed by another user meanwhile{tail}; try again")
    return {
        401: (
            "bad_token",
            f"the Hub refuses the token; make a new one at {OFFICIAL}/settings/tokens and set HF_TOKEN",
        ),
        403: ("forbidden", f"the token may not do this{tail}; it needs write access to this name"),
        404: ("not_found", f"the Hub has no such file or name{tail}"),
        409: conflict,
        412: conflict,
        429: ("rate_limit", f"too many requests to the Hub; try again {after}"),
    }.get(status, ("unexpected", f"the Hub refused it, {status}{tail}"))


def _first_line(text: str) -> str:
    line = next((line.strip() for line in scrub(text).splitlines() if line.strip()), "")
    return line if len(line) <= 200 else f"{line[:199]}…"
