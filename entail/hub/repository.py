"""Repositories of the Hub: names, expected files, and one commit of files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from entail.encoders.hub import ask, has_token, hub_api
from entail.encoders.weights import PICKLES
from entail.errors import HubError
from entail.hub.export import files_of
from entail.settings import refuse_in_demo
from entail.training.cards.template import CARD

Kind = Literal["model", "dataset", "space"]

_RECORD = "entail.json"
"""File that a model of entail has, and no other."""


@dataclass(frozen=True)
class PushResult:
    """Push, or its plan, which has neither `url` nor `commit`.

    `files` has the bytes of each file, `people` the authors named in them, `removed` the files of an earlier
    push that are gone.
    """

    repo: str
    kind: Kind
    private: bool
    files: dict[str, int]
    card: str
    people: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    url: str | None = None
    commit: str | None = None

    @property
    def size(self) -> int:
        """Total bytes."""
        return sum(self.files.values())

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, without names of authors."""
        return {name: value for name, value in vars(self).items() if name != "people"} | {"bytes": self.size}


def push_folder(
    folder: Path,
    repo: str,
    *,
    kind: Kind,
    private: bool,
    message: str,
    is_own: Callable[[str], bool],
    dry_run: bool = False,
) -> PushResult:
    """Push a folder's files, including a card, in one commit.

    Files of an earlier push, as `is_own` tells, that this one lacks are deleted; a model without entail's
    record is another's, and is left alone. A `private` push refuses a public repository. A dry run returns
    the plan without contacting the Hub and needs no token.

    Raises:
        HubError: If there is no token, the repository is public and should not be, or the Hub refuses.
    """
    plan = PushResult(
        repo=repo,
        kind=kind,
        private=private,
        files=files_of(folder),
        card=(folder / CARD).read_text(encoding="utf-8"),
    )
    if dry_run:
        return plan
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    refuse_in_demo("nothing can be pushed")
    if not has_token():
        raise HubError(
            f"{repo}: no token for the Hub; set HF_TOKEN to one that may write, or run `hf auth login`",
            reason="no_token",
        )
    api = hub_api()
    sdk = "docker" if kind == "space" else None
    ask(
        lambda: api.create_repo(repo, private=private, repo_type=kind, exist_ok=True, space_sdk=sdk),
        repo=repo,
    )
    info: Any = ask(lambda: api.repo_info(repo, repo_type=kind), repo=repo)
    if private and info.private is False:
        raise HubError(
            f"{repo} is public, so everybody could see the push; push it as public, or choose another name",
            reason="place",
        )
    present = [sibling.rfilename for sibling in info.siblings or ()]
    if any(map(is_own, present)) and _RECORD in plan.files and _RECORD not in present:
        raise HubError(
            f"{repo} holds a model that entail did not push, whose files would be replaced; choose another "
            "name",
            reason="place",
        )
    removed = tuple(sorted(name for name in present if is_own(name) and name not in plan.files))
    operations: list[CommitOperationAdd | CommitOperationDelete] = [
        *(CommitOperationAdd(name, folder / name) for name in plan.files),
        *(CommitOperationDelete(name) for name in removed),
    ]
    commit = ask(
        lambda: api.create_commit(
            repo, operations, commit_message=message, repo_type=kind, parent_commit=info.sha
        ),
        repo=repo,
    )
    return replace(
        plan,
        url=str(commit.commit_url),
        commit=str(commit.oid),
        private=info.private is not False,
        removed=removed,
    )


_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9][\w./-]{0,199}", re.ASCII)


def check_repo(repo: str) -> None:
    """Raise `HubError` if a repository id is invalid."""
    if not _REPO.fullmatch(repo) or ".." in repo or "--" in repo:
        raise HubError(
            f"expected a name on the Hub such as my-team/my-encoder, found {repo[:100]!r}", reason="place"
        )


def check_revision(revision: str) -> None:
    """Raise `HubError` if the name of a branch, a tag or a commit is invalid."""
    if not _REVISION.fullmatch(revision) or ".." in revision:
        raise HubError(
            f"expected a branch, a tag or a commit of the Hub, found {revision[:100]!r}", reason="no_revision"
        )


_DOCUMENTS = frozenset({"README.md", "LICENSE", "LICENSE.txt", "NOTICE"})
_NAMES = _DOCUMENTS | {
    *("entail.json", "seen.json", "adapter_config.json", "config.json", "modules.json", "router_config.json"),
    *("config_sentence_transformers.json", "sentence_bert_config.json", "model.safetensors.index.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.json", "vocab.txt", "merges.txt", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"),
}
_WEIGHTS = re.compile(r"[A-Za-z0-9][\w-]*\.safetensors", re.ASCII)
_FOLDER = re.compile(r"[A-Za-z0-9][\w-]*", re.ASCII)
_DEPTH = 3


def is_expected(name: str) -> bool:
    """Return whether a model may contain a file of this name, relative to its folder.

    >>> is_expected("1_Pooling/config.json"), is_expected("../config.json"), is_expected("pytorch_model.bin")
    (True, False, False)
    """
    *folders, file = PurePosixPath(name).parts or ("",)
    allowed = file in _NAMES or _WEIGHTS.fullmatch(file) is not None
    inside = len(folders) <= _DEPTH and all(_FOLDER.fullmatch(part) for part in folders)
    return allowed and inside and "\\" not in name and not name.startswith("/")


def is_of_weights(name: str) -> bool:
    """Return whether a file affects how a model loads, so that an old one must not stay."""
    return is_expected(name) and PurePosixPath(name).name not in _DOCUMENTS


def files_to_push(folder: Path, name: str) -> list[Path]:
    """Return the files of a model's folder, in order of name.

    Raises:
        HubError: If there is a pickle, a link, or another unexpected file.
    """
    # Links to folders are not followed.
    files = [path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir()]
    for path in files:
        file_name = path.relative_to(folder).as_posix()
        problem = None
        if path.is_symlink():
            problem = f"expected files, found the link {file_name}; replace it by the file, or remove it"
        elif path.suffix in PICKLES:
            problem = f"{file_name} is a pickle, which can run code when loaded; save weights as .safetensors"
        elif not is_expected(file_name):
            problem = (
                f"expected only weights, configuration, vocabulary and card, found {file_name}; remove it"
            )
        if problem:
            raise HubError(f"{name}: {problem}", reason="unsafe")
    return files
