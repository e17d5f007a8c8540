"""Encoders to the Hub: the adapter, the whole model, or both, private unless said otherwise."""

from __future__ import annotations

import tempfile
from pathlib import Path

from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.errors import HubError
from entail.hub.expected import is_of_weights
from entail.hub.names import check_repo
from entail.hub.repository import Pushed, push_folder
from entail.hub.staging import Form, stage


def push_encoder(
    encoder: str | Path | EncoderEntry,
    repo: str,
    *,
    form: Form | None = None,
    private: bool = True,
    dry_run: bool = False,
) -> Pushed:
    """Push an encoder with its card, in one commit.

    Only what an encoder is made of is pushed, never a pickle. Files of an earlier push that are no part of
    this one are taken away; what others put into the repository stays.

    Args:
        encoder: A catalogue name under `models/`, a folder, or an entry.
        repo: The Hub id, `name/of-it`.
        form: `adapter`, `merged`, `both`; default: the adapter, for a whole model that.
        private: Whether only its owners see it.
        dry_run: Only say what would be pushed: the Hub is not asked, no token is needed.

    Raises:
        HubError: If there is no token, the Hub refuses or cannot be reached, or something would be pushed
            that should not be.
        EncoderError: If the encoder cannot be loaded or merged.
    """
    check_repo(repo)
    entry = fetch(encoder if isinstance(encoder, EncoderEntry) else resolve(encoder))
    chosen: Form = form or ("adapter" if entry.base is not None else "merged")
    with tempfile.TemporaryDirectory(prefix="entail-push-") as scratch:
        try:
            folder = stage(entry, Path(scratch), repo=repo, form=chosen)
        except OSError as error:
            raise HubError(
                f"{entry.name}: could not be laid out for the Hub: {error.strerror or error}; make room",
                reason="disk",
            ) from error
        return push_folder(
            folder,
            repo,
            kind="model",
            private=private,
            message=f"Push {entry.name}, {entry.revision}",
            ours=is_of_weights,
            dry_run=dry_run,
        )
