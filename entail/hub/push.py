"""Push of local models to the Hub, private by default.

An encoder is pushed as its adapter, the merged model, or both; a cross-encoder as its folder.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Protocol

from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.errors import HubError
from entail.hub.cross import find_cross, stage_cross
from entail.hub.repository import Pushed, check_repo, is_of_weights, push_folder
from entail.hub.staging import Form, stage


def push_encoder(
    encoder: str | Path | EncoderEntry,
    repo: str,
    *,
    form: Form | None = None,
    private: bool = True,
    dry_run: bool = False,
) -> Pushed:
    """Push a model with its card in one commit.

    Unexpected files and pickles are refused. Model files of an earlier push that this one lacks are deleted;
    other files of the repository stay.

    Args:
        encoder: Name under `models/`, a folder, or an entry; also a scorer or a judge.
        repo: The Hub id, `name/of-it`.
        form: `adapter`, `merged` or `both`; default: the adapter, for a whole model `merged`.
        private: Whether a new repository is private.
        dry_run: Return the plan without contacting the Hub; needs no token.

    Raises:
        HubError: If there is no token, the Hub refuses or cannot be reached, or the folder contains
            unexpected files.
        EncoderError: If the encoder cannot be loaded or merged.
    """
    check_repo(repo)
    cross = find_cross(encoder)
    if cross is not None and form is not None:
        raise HubError(
            f"{cross.name} has only one form; omit the form",
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
                f"{name}: could not be copied for the push: {error.strerror or error}; free disk space",
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
