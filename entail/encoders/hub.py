"""Client of the Hugging Face Hub with errors in plain words, free of tokens.

The client reads `HF_TOKEN` or its store for each request. Its exceptions hold the request with its headers,
so they are dropped, also as the context of what is raised instead.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

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

    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, errors.GatedRepoError):
            message = (
                f"{repo} is gated: accept its terms on the Hub and set HF_TOKEN to a token that may read it"
            )
            return HubError(message, reason="gated")
        if isinstance(cause, errors.RevisionNotFoundError):
            return HubError(f"{repo} has no revision {revision!r} on the Hub", reason="no_revision")
        if isinstance(cause, errors.RepositoryNotFoundError | errors.HFValidationError):
            message = (
                f"the Hub has nothing called {repo!r}, or it is private; check its name, or set HF_TOKEN"
            )
            return HubError(message, reason="not_found")
        if isinstance(cause, errors.HfHubHTTPError) and cause.response is not None:
            wait = cause.response.headers.get("Retry-After", "")
            return _refusal(cause.response.status_code, cause.server_message or "", wait, repo)
    if any(isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT) for cause in causes):
        return HubError(f"{repo}: no space left on this machine; make room, then try again", reason="disk")
    text = f"{type(error).__name__}: {_first_line(str(error))}"
    if isinstance(error, ValueError) and _STORAGE.search(str(error)):
        return HubError(f"{repo}: the Hub has no room for it: {text}", reason="quota")
    offline = (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, ConnectionError, TimeoutError)
    if any(isinstance(cause, offline) or _is_transport(cause) for cause in causes):
        return HubError(
            f"{repo}: the Hub cannot be reached; check the network, HF_ENDPOINT and HF_HUB_OFFLINE, then try "
            "again",
            reason="offline",
        )
    return HubError(f"{repo}: the Hub's client failed, {text}", reason="unexpected")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes: the client wraps the server's errors."""
    while error is not None:
        yield error
        error = error.__cause__


def _is_transport(error: BaseException) -> bool:
    return any(kind.__name__ == "TransportError" for kind in type(error).__mro__)


def _refusal(status: int, text: str, wait: str, repo: str) -> HubError:
    line = _first_line(text)
    tail = f" ({line})" if line else ""
    if status in (402, 413, 507) or (status in (400, 403) and _STORAGE.search(line)):
        reason, message = "quota", f"the Hub has no room for it{tail}; free storage there, or push less"
    elif status == 401:
        reason = "bad_token"
        message = f"the Hub refuses the token; make a new one at {OFFICIAL}/settings/tokens and set HF_TOKEN"
    elif status == 403:
        reason = "forbidden"
        message = f"the token may not do this{tail}; it needs write access to this name"
    elif status == 429:
        reason = "rate_limit"
        after = f"in {wait} seconds" if wait.isdigit() else "in some minutes"
        message = f"too many requests to the Hub; try again {after}"
    elif status in (409, 412):
        reason, message = "conflict", f"changed by another user meanwhile{tail}; try again"
    elif status == 404:
        reason, message = "not_found", f"the Hub has no such file or name{tail}"
    elif status >= 500:
        reason, message = "server", f"the Hub is out of order ({status}); try again later"
    else:
        reason, message = "unexpected", f"the Hub refused it, {status}{tail}"
    return HubError(f"{repo}: {message}", reason=reason)


def _first_line(text: str) -> str:
    line = next((line.strip() for line in scrub(text).splitlines() if line.strip()), "")
    return line if len(line) <= 200 else f"{line[:199]}…"
