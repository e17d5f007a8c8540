"""What a repository and its revisions may be called."""

from __future__ import annotations

import re

from entail.errors import HubError

_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9][\w./-]{0,199}", re.ASCII)


def check_repo(repo: str) -> None:
    """Check that a text can be a repository's id.

    Raises:
        HubError: If it cannot.
    """
    if not _REPO.fullmatch(repo) or ".." in repo or "--" in repo:
        raise HubError(
            f"expected a name on the Hub such as my-team/my-encoder, found {repo[:100]!r}", reason="place"
        )


def check_revision(revision: str) -> None:
    """Check that a text can be a branch, a tag or a commit.

    Raises:
        HubError: If it cannot.
    """
    if not _REVISION.fullmatch(revision) or ".." in revision:
        raise HubError(
            f"expected a branch, a tag or a commit of the Hub, found {revision[:100]!r}", reason="no_revision"
        )
