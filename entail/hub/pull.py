"""Pull of models from the Hub into `models/`: safetensors only, verified, atomic."""

from __future__ import annotations

import functools
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from entail.encoders.card import read_card
from entail.encoders.catalogue import EncoderEntry, model_folder, resolve
from entail.encoders.hub import ask, hub_api
from entail.encoders.weights import PICKLES, check_safe, file_sha256, read_object, write_json
from entail.errors import EncoderError, HubError
from entail.hub.export import files_of
from entail.hub.push import find_cross
from entail.hub.repository import check_repo, check_revision, is_expected
from entail.index.factory import is_reserved
from entail.progress import Meter, ProgressCallback
from entail.settings import load_settings, refuse_in_demo


@dataclass(frozen=True)
class PullResult:
    """Pulled model under its local name, with the bytes of each file; `entry` is None for a cross-encoder."""

    entry: EncoderEntry | None
    name: str
    revision: str | None
    repo: str
    commit: str
    files: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, without the entry."""
        return {name: value for name, value in vars(self).items() if name != "entry"}


def pull_encoder(
    repo: str,
    *,
    revision: str | None = None,
    name: str | None = None,
    progress: ProgressCallback | None = None,
) -> PullResult:
    """Pull a model into `models/NAME`.

    All files are of one commit: weights as safetensors, configuration, vocabulary, card. The SHA-256 of the
    weights must match the Hub's. An earlier pull of the same repository is replaced atomically; anything else
    is left alone.

    Args:
        repo: The Hub id, `name/of-it`.
        revision: Branch, tag or commit; default: the main branch.
        name: Local name; default: the second half of `repo`.
        progress: Receives the progress.

    Raises:
        HubError: If the repository is missing, hidden or unreachable, has no safetensors, or `name` is taken.
        EncoderError: If the model cannot be loaded safely.
    """
    refuse_in_demo("nothing can be pulled")
    check_repo(repo)
    if revision is not None:
        check_revision(revision)
    target = _target(repo, name)
    api = hub_api()
    info = ask(
        lambda: api.model_info(repo, revision=revision, files_metadata=True), repo=repo, revision=revision
    )
    commit = str(info.sha)
    siblings = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    files = [file for file in sorted(siblings) if is_expected(file)]
    if not any(file.endswith(".safetensors") for file in files):
        pickles = [file for file in siblings if PurePosixPath(file).suffix in PICKLES]
        names = f"only {', '.join(pickles[:3])}, which can run code when loaded" if pickles else "none"
        raise HubError(
            f"{repo}: expected weights as .safetensors, found {names}; nothing was taken", reason="unsafe"
        )
    partial = target.with_name(f".{target.name}.pulling")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        meter = Meter(len(files), f"pulling {repo}", unit="files", report=progress)
        for file in files:
            download = functools.partial(api.hf_hub_download, repo, file, revision=commit, local_dir=partial)
            ask(download, repo=repo, revision=commit)
            _verify(partial / file, siblings[file], repo)
            meter.add(1)
        shutil.rmtree(partial / ".cache", ignore_errors=True)
        _target(repo, name)  # a training may have placed a model of that name meanwhile
        _install(partial, target, repo=repo, commit=commit)
    except OSError as error:
        raise HubError(
            f"{repo}: could not be written to {target.name!r}: {error.strerror or error}; free disk space",
            reason="disk",
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    model = find_cross(target) or resolve(target.name)
    entry = model if isinstance(model, EncoderEntry) else None
    return PullResult(entry, target.name, model.revision, repo, commit, files_of(target))


def _target(repo: str, name: str | None) -> Path:
    """Return the target folder, which must be new or an earlier pull of the same repository."""
    local_name = name or repo.rpartition("/")[2]
    check_repo(f"x/{local_name}")
    target = load_settings().models_dir / local_name
    if target.exists() or is_reserved(local_name) or model_folder(local_name) is not None:
        origin = read_object(target / "entail.json").get("hub") if target.is_dir() else None
        if not isinstance(origin, dict) or origin.get("repo") != repo:
            raise HubError(
                f"expected a free name, found {local_name!r}, which is not that of a model from {repo}; "
                "choose another name",
                reason="place",
            )
    return target


def _verify(file: Path, sibling: Any, repo: str) -> None:
    expected = sibling.lfs.sha256 if sibling.lfs is not None else None
    if expected and expected != (actual := file_sha256(file)):
        raise HubError(
            f"{repo}: {file.name} differs from the file on the Hub: expected sha256 {expected}, found "
            f"{actual}; pull again",
            reason="unsafe",
        )


def _install(folder: Path, target: Path, *, repo: str, commit: str) -> None:
    """Check a downloaded folder and move it to its place under `models/`, atomically."""
    check_safe(folder, repo)
    card = read_card(folder, repo)
    bases = (card.base, card.scorer.get("encoder")) if card else ()
    for base in (str(base) for base in bases if base):
        if any(kind(base).is_absolute() for kind in (PurePosixPath, PureWindowsPath)):
            raise EncoderError(f"{repo}: expected a name as base in entail.json, found an absolute path")
    record = read_object(folder / "entail.json") | {"hub": {"repo": repo, "commit": commit}}
    write_json(folder / "entail.json", record)
    if find_cross(folder) is None:
        resolve(folder)
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    try:
        if target.exists():
            target.replace(old)
        folder.replace(target)
    except OSError:
        if old.exists() and not target.exists():
            old.replace(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
