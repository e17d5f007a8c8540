"""Asking the Hugging Face Hub: by its own client, with errors in words, and never a word of the token.

The token is the client's own affair: it reads `HF_TOKEN` or its store for each request. What it raises holds
the request with its headers, so nothing of it is kept, not even as the context of what is raised instead.
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
        # Xet stores files at a place of the official Hub, wherever the rest goes.
        constants.HF_HUB_DISABLE_XET = True
    return HfApi()


def has_token() -> bool:
    """Whether there is a token, in `HF_TOKEN` or where `hf auth login` keeps it."""
    from huggingface_hub import get_token

    return bool(ask(get_token, repo="the token"))


def ask(call: Callable[[], T], *, repo: str, revision: str | None = None) -> T:
    """Return what a call of the Hub's client gives.

    Args:
        call: Asks the Hub; what it shows on the way is not shown.
        repo: What is asked about, for messages.
        revision: Of what revision.

    Raises:
        HubError: Whatever goes wrong, by its own words and without what the client raised.
    """
    from huggingface_hub.utils.tqdm import disable_progress_bars

    try:
        with disable_progress_bars():
            return call()
    except EntailError:
        raise
    except Exception as error:  # a client raises much, and any of it may hold the request
        failure = _in_words(error, repo, revision)
    # Out of the handler, so that the client's error is not its context.
    raise failure


def scrubbed(text: str) -> str:
    """Return a text of the client or of a server without anything that is, or looks like, a token.

    >>> scrubbed("sent authorization: Bearer hf_abcDEF123, refused")
    'sent authorization: *** refused'
    """
    from huggingface_hub import get_token

    try:
        secret = get_token()
    except Exception:  # what cannot be read cannot be told
        secret = None
    return _TOKEN.sub("***", text.replace(secret, "***") if secret else text)


def _in_words(error: BaseException, repo: str, revision: str | None) -> HubError:
    from huggingface_hub import errors

    found = list(_causes(error))
    for one in found:
        if isinstance(one, errors.GatedRepoError):
            return HubError(
                f"{repo} is gated: accept its terms on the Hub and set HF_TOKEN to a token that may read it",
                reason="gated",
            )
        if isinstance(one, errors.RevisionNotFoundError):
            return HubError(f"{repo} has no revision {revision!r} on the Hub", reason="no_revision")
        if isinstance(one, errors.RepositoryNotFoundError | errors.HFValidationError):
            return HubError(
                f"the Hub has nothing called {repo!r}, or it is private; look at its name, or set HF_TOKEN",
                reason="not_found",
            )
        if isinstance(one, errors.HfHubHTTPError) and one.response is not None:
            return _refused(one, repo)
    if any(isinstance(one, OSError) and one.errno in (errno.ENOSPC, errno.EDQUOT) for one in found):
        return HubError(f"{repo}: no space left on this machine; make room, then try again", reason="disk")
    text = f"{type(error).__name__}: {_first_line(str(error))}"
    if isinstance(error, ValueError) and _STORAGE.search(str(error)):
        return HubError(f"{repo}: the Hub has no room for it: {text}", reason="quota")
    offline = (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, ConnectionError, TimeoutError)
    if any(isinstance(one, offline) or _is_transport(one) for one in found):
        return HubError(
            f"{repo}: the Hub cannot be reached; look at the network and at HF_ENDPOINT and HF_HUB_OFFLINE, "
            "then try again",
            reason="offline",
        )
    return HubError(f"{repo}: the Hub's client failed, {text}", reason="unexpected")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what it was raised from: the client wraps what the server said."""
    while error is not None:
        yield error
        error = error.__cause__


def _is_transport(error: BaseException) -> bool:
    return any(kind.__name__ == "TransportError" for kind in type(error).__mro__)


def _refused(error: BaseException, repo: str) -> HubError:
    response = error.response  # type: ignore[attr-defined]  # of HfHubHTTPError, whose type is loaded late
    status, said = response.status_code, _first_line(getattr(error, "server_message", None) or "")
    tail = f" ({said})" if said else ""
    if status in (402, 413, 507) or (status in (400, 403) and _STORAGE.search(said)):
        return HubError(
            f"{repo}: the Hub has no room for it{tail}; free storage there, or push less (the adapter alone)",
            reason="quota",
        )
    if status == 401:
        return HubError(
            f"{repo}: the Hub does not take the token; make a new one at {OFFICIAL}/settings/tokens and set "
            "HF_TOKEN to it",
            reason="bad_token",
        )
    if status == 403:
        return HubError(
            f"{repo}: the token may not do this{tail}; it needs write access to this name", reason="forbidden"
        )
    if status == 429:
        wait = response.headers.get("Retry-After", "")
        after = f"in {wait} seconds" if wait.isdigit() else "in some minutes"
        return HubError(f"{repo}: the Hub was asked too often; try again {after}", reason="rate_limit")
    if status in (409, 412):
        return HubError(f"{repo} was changed by somebody else meanwhile{tail}; try again", reason="conflict")
    if status == 404:
        return HubError(f"{repo}: the Hub has no such file or name{tail}", reason="not_found")
    if status >= 500:
        return HubError(f"{repo}: the Hub is out of order ({status}); try again later", reason="server")
    return HubError(f"{repo}: the Hub refused it, {status}{tail}", reason="unexpected")


def _first_line(text: str) -> str:
    line = next((line.strip() for line in scrubbed(text).splitlines() if line.strip()), "")
    return line if len(line) <= 200 else f"{line[:199]}…"
