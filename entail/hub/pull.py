"""Pull of models from the Hub into `models/`: safetensors only, verified, atomic."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal

from entail.encoders.card import read_card
from entail.encoders.catalogue import EncoderEntry, model_folder, resolve
from entail.encoders.cross.encoder import HEAD
from entail.encoders.hub import ask, hub_api
from entail.encoders.weights import PICKLES, check_safe, read_json
from entail.errors import EncoderError, HubError
from entail.hub.cross import find_cross
from entail.hub.export import files_of
from entail.hub.repository import check_repo, check_revision, is_expected
from entail.hub.staging import ADAPTER
from entail.progress import Meter, ProgressCallback
from entail.settings import load_settings, refuse_in_demo


@dataclass(frozen=True)
class Pulled:
    """Pulled model.

    Attributes:
        entry: Its catalogue entry; None for a cross-encoder.
        name: Its local name.
        revision: Revision of its weights.
        repo: Its Hub id.
        commit: Pulled commit.
        files: Name -> bytes, in order of name.
        left_out: Skipped files of the repository, which are no model files.
    """

    entry: EncoderEntry | None
    name: str
    revision: str | None
    repo: str
    commit: str
    files: dict[str, int]
    left_out: tuple[str, ...]


def pull_encoder(
    repo: str,
    *,
    revision: str | None = None,
    name: str | None = None,
    form: Literal["adapter", "merged"] | None = None,
    progress: ProgressCallback | None = None,
) -> Pulled:
    """Pull a model into `models/NAME`.

    All files are of one commit: weights as safetensors, configuration, vocabulary, card. Sizes, and the
    SHA-256 of the weights, must match the Hub's. An earlier pull of the same repository is replaced
    atomically; anything else is left alone.

    Args:
        repo: The Hub id, `name/of-it`.
        revision: Branch, tag or commit; default: the main branch.
        name: Local name; default: the second half of `repo`.
        form: For a repository with both forms: the adapter (default) or the merged model.
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
    there = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    prefix = _prefix(there, form, repo)
    wanted = [one for one in sorted(there) if one.startswith(prefix) and is_expected(one)]
    if not prefix and HEAD not in there:
        wanted = [one for one in wanted if not one.startswith(f"{ADAPTER}/")]
    if not any(one.endswith(".safetensors") for one in wanted):
        pickles = [one for one in there if PurePosixPath(one).suffix in PICKLES]
        found = f"only {', '.join(pickles[:3])}, which can run code when loaded" if pickles else "none"
        raise HubError(
            f"{repo}: expected weights as .safetensors, found {found}; nothing was taken", reason="unsafe"
        )
    _require_room(target.parent, sum(there[one].size or 0 for one in wanted), repo)
    partial = target.with_name(f".{target.name}.pulling")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        meter = Meter(len(wanted), f"pulling {repo}", unit="files", report=progress)
        for one in wanted:
            ask(
                functools.partial(api.hf_hub_download, repo, one, revision=commit, local_dir=partial),
                repo=repo,
                revision=commit,
            )
            _verify(partial / one, there[one], one, repo)
            meter.add(1)
        shutil.rmtree(partial / ".cache", ignore_errors=True)
        folder = partial / prefix if prefix else partial
        _place(folder, target, repo=repo, commit=commit)
    except OSError as error:
        raise HubError(
            f"{repo}: could not be written to {target.name!r}: {error.strerror or error}; free disk space",
            reason="disk",
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    left_out = tuple(one for one in sorted(there) if one not in wanted and not one.startswith("."))
    cross = find_cross(target)
    entry = None if cross is not None else resolve(target.name)
    revision = cross.revision if cross is not None else entry.revision if entry is not None else None
    return Pulled(entry, target.name, revision, repo, commit, files_of(target), left_out)


def _target(repo: str, name: str | None) -> Path:
    """Return the target folder, which must be new or an earlier pull of the same repository."""
    chosen = name or repo.rpartition("/")[2]
    check_repo(f"x/{chosen}")
    target = load_settings().models_dir / chosen
    if target.exists() or model_folder(chosen) is not None:
        told = read_json(target / "entail.json") if target.is_dir() else None
        origin = told.get("hub") if isinstance(told, dict) else None
        if not isinstance(origin, dict) or origin.get("repo") != repo:
            raise HubError(
                f"models/{chosen} exists and was not pulled from {repo}; choose another name",
                reason="place",
            )
    return target


def _prefix(there: Mapping[str, Any], form: str | None, repo: str) -> str:
    if HEAD in there and form is None:
        return ""  # a cross-encoder: its adapter is one part of it
    if f"{ADAPTER}/adapter_config.json" in there and form != "merged":
        return f"{ADAPTER}/"
    whole = "adapter_config.json" not in there
    if form is not None and whole != (form == "merged"):
        raise HubError(
            f"{repo}: expected {'a whole model' if form == 'merged' else 'an adapter'}, found only "
            f"{'a whole model' if whole else 'an adapter'}",
            reason="not_found",
        )
    return ""


def _require_room(folder: Path, size: int, repo: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if size > free:
        raise HubError(
            f"{repo}: needs {size / 1e6:,.0f} MB, {free / 1e6:,.0f} MB are free; free disk space",
            reason="disk",
        )


def _verify(file: Path, told: Any, name: str, repo: str) -> None:  # noqa: ANN401 - of the client
    digest = told.lfs.sha256 if told.lfs is not None else None
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if (told.size is not None and told.size != file.stat().st_size) or (digest and digest != found):
        raise HubError(
            f"{repo}: {name} differs from the file on the Hub: expected sha256 {digest or 'unknown'} and "
            f"{told.size} bytes, found {found} and {file.stat().st_size}; pull again",
            reason="unsafe",
        )


def _place(folder: Path, target: Path, *, repo: str, commit: str) -> None:
    check_safe(folder, repo)
    card = read_card(folder, repo)
    named = (card.base, card.scorer.get("encoder")) if card else ()
    for base in (str(one) for one in named if one):
        if any(kind(base).is_absolute() for kind in (PurePosixPath, PureWindowsPath)):
            raise EncoderError(f"{repo}: expected a name as base in entail.json, found an absolute path")
    told = {**(read_json(folder / "entail.json") or {}), "hub": {"repo": repo, "commit": commit}}
    text = json.dumps(told, indent=2, ensure_ascii=False) + "\n"
    (folder / "entail.json").write_text(text, encoding="utf-8")
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
