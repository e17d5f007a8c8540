"""Deploy the app of this checkout as a Docker Space of the Hugging Face Hub; see docs/hub.md.

    python scripts/deploy_space.py my-team/trees --bucket my-team/trees-data --dry-run

The token comes from HF_TOKEN or `hf auth login`; a dry run needs none. In the image `entail.hub.space_start`
starts the app.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.encoders.hub import ask, hub_api
from entail.errors import EntailError, HubError
from entail.hub.repository import PushResult, check_repo, files_to_push, push_folder
from entail.hub.space_start import PORT
from entail.settings import refuse_in_demo
from entail.training.cards.template import CARD
from entail.version import __version__

ROOT = Path(__file__).resolve().parents[1]

DATA = "/data"
"""Data folder of a Space, the mount point of its bucket."""

APP = "/srv/entail/app"
"""Folder of the app in the image."""

SHIPPED = (
    ".streamlit/config.toml",
    "LICENSE",
    "entail",
    "models",
    "pages",
    "pyproject.toml",
    "requirements-cpu.txt",
    "streamlit_app.py",
)
"""Files and folders of a checkout in the image; of folders the tracked files."""

MODULES = ("entail/**.py", "pages/**.py")
"""Patterns of modules that are included before they are committed."""

DOCKERFILE = "Dockerfile"

RECIPE = Path(__file__).with_name("space.Dockerfile")


@dataclass(frozen=True, kw_only=True)
class Space:
    """Configuration of a deployment.

    Attributes:
        repo: Hub id, `name/of-it`.
        title: Title of the Space.
        bucket: Storage bucket for the data folder, `name/of-it`; None without one.
        demo: Whether the Space is a demo (`ENTAIL_DEMO`).
        sign_in: Whether authors sign in with Hugging Face.
        org: Organisation whose members may sign in; None for everybody.
        closed: Whether visitors have to sign in to see anything.
        encoders: Names of further models in `models/` to include.
    """

    repo: str
    title: str = "entail"
    bucket: str | None = None
    demo: bool = False
    sign_in: bool = True
    org: str | None = None
    closed: bool = False
    encoders: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise `HubError` if a name is invalid or options contradict each other."""
        for repo in (self.repo, self.bucket, self.org and f"{self.org}/x"):
            if repo is not None:
                check_repo(repo)
        if self.demo and (self.bucket or self.sign_in):
            raise HubError("a demo has no storage and no sign-in; omit both", reason="place")
        if not self.sign_in and (self.org or self.closed):
            raise HubError("--org and --closed need sign-in", reason="place")


def settings_of(space: Space) -> dict[str, str]:
    """Return the environment variables of the image."""
    settings = {
        "ENTAIL_DATA_DIR": DATA,
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        "PYTHONPATH": APP,
        "PYTHONUNBUFFERED": "1",
    }
    # Streamlit's check against forged requests needs a cookie, which browsers drop in the Hub's frame unless
    # it is meant for frames. Without sign-in there is nothing that a forged request could use.
    settings |= (
        {"STREAMLIT_SERVER_XSRF_COOKIE_SAME_SITE": "none"}
        if space.sign_in
        else {"STREAMLIT_SERVER_ENABLE_XSRF_PROTECTION": "false"}
    )
    if space.demo:
        return settings | {"ENTAIL_DEMO": "1"}
    settings |= {"ENTAIL_MODELS_DIR": f"{DATA}/models"}
    return settings | {"ENTAIL_SIGN_IN": "to-read"} if space.closed else settings


def dockerfile(space: Space) -> str:
    """Return the Dockerfile."""
    settings = [f"{name}={value}" for name, value in sorted(settings_of(space).items())]
    return RECIPE.read_text(encoding="utf-8").replace("@SETTINGS@", " \\\n    ".join(settings))


def readme(space: Space) -> str:
    """Return the README, whose header is the Space's configuration."""
    from huggingface_hub import SpaceCardData

    more: dict[str, Any] = {}
    if space.sign_in:
        more = {"hf_oauth": True, "hf_oauth_expiration_minutes": 480, "hf_oauth_scopes": ["email"]}
    if space.org:
        more["hf_oauth_authorized_org"] = space.org
    header = SpaceCardData(
        title=space.title,
        sdk="docker",
        app_port=PORT,
        license="apache-2.0",
        emoji="🌳",
        colorFrom="green",
        colorTo="blue",
        pinned=False,
        short_description="Explanation trees over your own corpus",
        startup_duration_timeout="1h",
        **more,
    )
    if space.demo:
        about = "This is a demo: each visitor's own trees are deleted when they leave."
    elif space.bucket:
        about = f"All data is in the storage bucket `{space.bucket}`, mounted at `{DATA}`."
    else:
        about = (
            "**A restart deletes all data**, unless the secret `ENTAIL_DATABASE_URL` names a PostgreSQL "
            "server, which then keeps trees and corpora."
        )
    sign_in = (
        "Sign in at the Space's direct URL: browsers keep no cookie of it in the frame of the Hub's page."
    )
    parts = (
        f"# {space.title}",
        f"entail {__version__}: explanation trees that a team writes over a corpus of facts.",
        about,
        sign_in if space.sign_in else "",
        "The example trees and facts are of EntailmentBank (Apache-2.0) and WorldTree (CC BY-SA 4.0); see "
        "`entail/data/sample/`.",
    )
    body = "\n\n".join(part for part in parts if part)
    return f"---\n{header.to_yaml(line_break=chr(10)).rstrip()}\n---\n{body}\n"


def stage_space(root: Path, scratch: Path, space: Space) -> None:
    """Copy the files of a Space's repository from a checkout into an empty folder.

    Raises:
        HubError: If `root` is no checkout, a model is missing, or a file cannot be read or written.
    """
    space.check()
    tracked = _tracked(root)
    try:
        for name in tracked:
            _copy(root / name, scratch / name)
        for encoder in space.encoders:
            folder = root / "models" / encoder
            if "/" in encoder or not folder.is_dir():
                raise HubError(
                    f"expected an encoder below models/, found none called {encoder!r}", reason="place"
                )
            for file in files_to_push(folder, encoder):
                _copy(file, scratch / file.relative_to(root))
        (scratch / DOCKERFILE).write_text(dockerfile(space), encoding="utf-8")
        (scratch / CARD).write_text(readme(space), encoding="utf-8")
    except OSError as error:
        raise HubError(f"the files of the Space could not be copied: {error}", reason="disk") from error


def deploy_space(root: Path, space: Space, *, private: bool = True, dry_run: bool = False) -> PushResult:
    """Push a Space from a checkout and mount its bucket; see `push_folder`.

    Raises:
        HubError: If there is no token, or the Hub refuses or cannot be reached.
    """
    if not dry_run:
        refuse_in_demo("nothing can be deployed")
    with tempfile.TemporaryDirectory(prefix="entail-space-") as scratch:
        stage_space(root, Path(scratch), space)
        done = push_folder(
            Path(scratch),
            space.repo,
            kind="space",
            private=private,
            message=f"Deploy entail {__version__}, {_commit(root)}",
            # The push replaces the whole repository: a deleted module must not stay.
            is_own=lambda name: name != ".gitattributes",
            dry_run=dry_run,
        )
    if not dry_run and space.bucket is not None:
        _mount(space.repo, space.bucket)
    return done


def _mount(repo: str, bucket: str) -> None:
    from huggingface_hub import Volume

    api = hub_api()
    ask(lambda: api.create_bucket(bucket, private=True, exist_ok=True), repo=bucket)
    volume = Volume(type="bucket", source=bucket, mount_path=DATA)
    ask(lambda: api.set_space_volumes(repo, volumes=[volume]), repo=repo)


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink():
        raise HubError(f"expected files, found the link {source.name}", reason="unsafe")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _tracked(root: Path) -> list[str]:
    """Return the tracked files of `SHIPPED` and new modules; other untracked files stay out."""
    listing = _git(root, "ls-files", "-z", "--", *SHIPPED) or ""
    # The Space would not start without a new module that another one imports.
    listing += _git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", *MODULES) or ""
    files = sorted({name for name in listing.split("\0") if name and (root / name).exists()})
    missing = [name for name in SHIPPED if not any(f"{file}/".startswith(f"{name}/") for file in files)]
    if missing:
        raise HubError(
            f"expected a git checkout of the project, found none of {', '.join(missing)} tracked in "
            f"{root.name!r}",
            reason="place",
        )
    return files


def _commit(root: Path) -> str:
    commit = (_git(root, "rev-parse", "--short=12", "HEAD") or "").strip() or "of no commit"
    return f"{commit} with changes" if _git(root, "status", "--porcelain", "--", *SHIPPED) else commit


def _git(root: Path, *command: str) -> str | None:
    try:
        result = subprocess.run(["git", *command], cwd=root, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.decode("utf-8", "surrogateescape")


def main(arguments: list[str] | None = None) -> int:
    """Deploy, or show what would be deployed; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repo", help="name of the Space on the Hub, such as my-team/trees")
    storage = parser.add_mutually_exclusive_group(required=True)
    storage.add_argument("--bucket", help="storage bucket for all data, such as my-team/trees-data")
    storage.add_argument("--ephemeral", action="store_true", help="no bucket: a restart deletes all data")
    storage.add_argument(
        "--demo", action="store_true", help="demo: a visitor's trees are deleted when they leave"
    )
    parser.add_argument("--title", default="entail", help="title of the Space (entail)")
    parser.add_argument("--no-sign-in", action="store_true", help="authors enter a name without signing in")
    parser.add_argument("--org", help="organisation whose members alone may sign in")
    parser.add_argument(
        "--closed", action="store_true", help="show nothing to visitors who are not signed in"
    )
    parser.add_argument(
        "--encoder",
        action="append",
        default=[],
        help="further model of models/ to include; may be given again",
    )
    parser.add_argument("--public", action="store_true", help="visible to everyone (default: to its owners)")
    parser.add_argument("--dry-run", action="store_true", help="list files and the Dockerfile, send nothing")
    options = parser.parse_args(arguments)
    space = Space(
        repo=options.repo,
        title=options.title,
        bucket=options.bucket,
        demo=options.demo,
        sign_in=not (options.no_sign_in or options.demo),
        org=options.org,
        closed=options.closed,
        encoders=tuple(options.encoder),
    )
    try:
        done = deploy_space(ROOT, space, private=not options.public, dry_run=options.dry_run)
    except EntailError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    visibility = "private" if done.private else "public"
    size = f"{len(done.files)} files, {done.size / 1e6:.1f} MB"
    if done.url is None:
        width = max(map(len, done.files))
        for name, count in done.files.items():
            print(f"{name:{width}}  {count:>10,}")
        print(f"\n--- {DOCKERFILE}\n{dockerfile(space)}\n--- README.md\n{done.card}")
        mount = f"; the bucket {space.bucket} would be mounted" if space.bucket else ""
        print(f"would push {size}, to {done.repo} ({visibility}){mount}; nothing was sent")
    else:
        removed = f"; removed: {', '.join(done.removed)}" if done.removed else ""
        print(f"pushed {size}, to {done.repo} ({visibility}): {done.url}{removed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
