"""What was trained here to the Hub, private unless said otherwise.

An encoder goes as its adapter, the whole model, or both; a scorer of facts or a judge as it lies here.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Protocol

from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.errors import HubError
from entail.hub.cross import find_cross, stage_cross
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
        encoder: A catalogue name under `models/`, a folder, or an entry; also a scorer or a judge.
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
    cross = find_cross(encoder)
    if cross is not None and form is not None:
        raise HubError(
            f"{cross.name} goes to the Hub as it lies here, in no other form; leave the form away",
            reason="place",
        )
    if cross is not None:
        return _pushed(cross.name, cross.revision, repo, private, dry_run, partial(stage_cross, cross))
    entry = fetch(encoder if isinstance(encoder, EncoderEntry) else resolve(encoder))
    chosen: Form = form or ("adapter" if entry.base is not None else "merged")
    staged = partial(stage, entry, form=chosen)
    return _pushed(entry.name, entry.revision, repo, private, dry_run, staged)


class _Staged(Protocol):
    def __call__(self, place: Path, *, repo: str) -> Path: ...


def _pushed(
    name: str, revision: str | None, repo: str, private: bool, dry_run: bool, staged: _Staged
) -> Pushed:
    with tempfile.TemporaryDirectory(prefix="entail-push-") as scratch:
        try:
            folder = staged(Path(scratch), repo=repo)
        except OSError as error:
            raise HubError(
                f"{name}: could not be laid out for the Hub: {error.strerror or error}; make room",
                reason="disk",
            ) from error
        return push_folder(
            folder,
            repo,
            kind="model",
            private=private,
            message=f"Push {name}, {revision}",
            ours=is_of_weights,
            dry_run=dry_run,
        )
