"""Encoders from the Hub into `models/`: safetensors only, every byte checked, whole or not at all."""

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
from entail.encoders.catalogue import EncoderEntry, resolve
from entail.encoders.cross import HEAD
from entail.encoders.hub import ask, hub_api
from entail.encoders.weights import PICKLES, check_safe, read_json
from entail.errors import EncoderError, HubError
from entail.hub.cross import find_cross
from entail.hub.expected import is_expected
from entail.hub.export import files_of
from entail.hub.names import check_repo, check_revision
from entail.hub.staging import ADAPTER
from entail.progress import Meter, ProgressCallback
from entail.settings import load_settings, refuse_in_demo


@dataclass(frozen=True)
class Pulled:
    """An encoder that was pulled.

    Attributes:
        entry: As the catalogue has it now; None for a scorer or a judge, which are no encoders.
        name: What it is called here.
        revision: Identity of its weights.
        repo: Where it came from.
        commit: The commit it came from.
        files: Name -> bytes, in order of name.
        left_out: Files of the repository that no encoder is made of, and were not taken.
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
    """Bring an encoder here as `models/NAME`.

    The commit is looked up first, and only files of that very commit are taken: weights as safetensors,
    configuration, vocabulary, card. Their sizes, and the SHA-256 of the weights, must be what the Hub says.
    What was pulled from the same repository before is replaced in one move; nothing else is.

    Args:
        repo: The Hub id, `name/of-it`.
        revision: Branch, tag or commit; default: the main branch.
        name: What to call it; default: the second half of `repo`.
        form: Where the repository holds both: the adapter (default) or the whole model.
        progress: Called as files arrive.

    Raises:
        HubError: If the Hub has no such thing, hides it or cannot be reached, if it holds no weights but
            pickles, or something else is called `name` here.
        EncoderError: If what was pulled cannot be loaded safely.
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
            f"{repo}: could not be written to {target.name!r}: {error.strerror or error}; make room",
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
    """Return where it will be, if nothing but an earlier pull of the same repository is there."""
    chosen = name or repo.rpartition("/")[2]
    check_repo(f"x/{chosen}")
    target = load_settings().models_dir / chosen
    if target.exists():
        told = read_json(target / "entail.json") if target.is_dir() else None
        origin = told.get("hub") if isinstance(told, dict) else None
        if not isinstance(origin, dict) or origin.get("repo") != repo:
            raise HubError(
                f"models/{chosen} is there already and did not come from {repo}; take another name for it",
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
            f"{repo}: needs {size / 1e6:,.0f} MB, {free / 1e6:,.0f} MB are free; make room", reason="disk"
        )


def _verify(file: Path, told: Any, name: str, repo: str) -> None:  # noqa: ANN401 - of the client
    digest = told.lfs.sha256 if told.lfs is not None else None
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if (told.size is not None and told.size != file.stat().st_size) or (digest and digest != found):
        raise HubError(
            f"{repo}: {name} did not arrive as the Hub has it, expected sha256 {digest or 'unknown'} and "
            f"{told.size} bytes, found {found} and {file.stat().st_size}; pull again",
            reason="unsafe",
        )


def _place(folder: Path, target: Path, *, repo: str, commit: str) -> None:
    check_safe(folder, repo)
    card = read_card(folder, repo)
    named = (card.base, card.scorer.get("encoder")) if card else ()
    for base in (str(one) for one in named if one):
        if any(kind(base).is_absolute() for kind in (PurePosixPath, PureWindowsPath)):
            raise EncoderError(
                f"{repo}: expected a name as base in entail.json, found a place on some machine"
            )
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
