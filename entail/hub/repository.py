"""One commit of files to a repository of the Hub: made if need be, private unless said otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from entail.cards.model_card import CARD
from entail.encoders.hub import ask, has_token, hub_api
from entail.errors import HubError
from entail.hub.export import files_of
from entail.settings import refuse_in_demo

Kind = Literal["model", "dataset", "space"]


@dataclass(frozen=True)
class Pushed:
    """What was pushed, or would be.

    Attributes:
        repo: The Hub id.
        kind: Of repository.
        private: Whether only its owners see it.
        files: Name -> bytes, in order of name.
        card: Its README.md.
        people: Names of people that stand in it.
        removed: Files of an earlier push that are no part of this one, taken away.
        url: Where it can be seen; None for a dry run.
        commit: Its revision; None for a dry run.
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
        """Bytes in all."""
        return sum(self.files.values())


def push_folder(
    folder: Path,
    repo: str,
    *,
    kind: Kind,
    private: bool,
    message: str,
    ours: Callable[[str], bool],
    dry_run: bool = False,
) -> Pushed:
    """Put a folder's files, a card among them, into a repository in one commit.

    Args:
        folder: All files below it are pushed.
        repo: The Hub id, `name/of-it`.
        kind: Of repository.
        private: Whether only its owners see it, where it is new. One that is public already is refused.
        message: Of the commit.
        ours: Whether a file of this name would come from here: those of an earlier push are taken away.
        dry_run: Only say what would be pushed: the Hub is not asked, no token is needed.

    Raises:
        HubError: If there is no token, the repository is public and should not be, or the Hub refuses.
    """
    plan = Pushed(
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
    info = ask(
        lambda: (
            api.model_info(repo)
            if kind == "model"
            else api.dataset_info(repo)
            if kind == "dataset"
            else api.space_info(repo)
        ),
        repo=repo,
    )
    if private and info.private is False:
        raise HubError(
            f"{repo} is public already: what is pushed there everybody sees; say that it may be "
            "public (--public), or take another name",
            reason="place",
        )
    names = {name: folder / name for name in plan.files}
    there = [sibling.rfilename for sibling in info.siblings or ()]
    gone = tuple(sorted(name for name in there if ours(name) and name not in names))
    operations: list[CommitOperationAdd | CommitOperationDelete] = [
        *(CommitOperationAdd(name, path) for name, path in names.items()),
        *(CommitOperationDelete(name) for name in gone),
    ]
    done = ask(
        lambda: api.create_commit(
            repo, operations, commit_message=message, repo_type=kind, parent_commit=info.sha
        ),
        repo=repo,
    )
    return replace(
        plan,
        url=str(done.commit_url),
        commit=str(done.oid),
        private=info.private is not False,
        removed=gone,
    )
